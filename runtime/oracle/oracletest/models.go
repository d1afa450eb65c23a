package oracletest

import (
	"math"
	"os"
	"path/filepath"

	"bilevelc/internal/must"
	"bilevelc/ir/bind"
	"bilevelc/ir/check"
	"bilevelc/ir/data"
	"bilevelc/ir/datafile"
	"bilevelc/lang/diag"
	"bilevelc/parser"
	"bilevelc/runtime/compile"
	"bilevelc/runtime/problem"
)

// Case is a problem with what is known of it.
type Case struct {
	*problem.Problem
	Optimum float64 // the least known F
	// Starts is how many random starts find the optimum: 1 where every local
	// minimum is global.
	Starts int
	// Tolerance is the accuracy of Optimum, relative to 1 + |Optimum|.
	Tolerance float64
}

// compiled is a model with the numbers of a file, "" for none, as solvers see it: with a g that is quadratic in y, of which
// nothing else is said to be proved.
func compiled(model, numbers string) (_ *problem.Problem, err error) {
	defer must.Catch(&err)
	text := must.Get(os.ReadFile(model))
	set := &data.Set{}
	if numbers != "" {
		with := must.Get(os.ReadFile(numbers))
		var found diag.List
		if set, found = datafile.Read(datafile.JSON, numbers, string(with), ""); found.HasErrors() {
			return nil, found
		}
	}
	file, found := parser.ParseFile(diag.NewSource(model, string(text)))
	if found.HasErrors() {
		return nil, found
	}
	program, found := check.Check(file)
	if found.HasErrors() {
		return nil, found
	}
	bound, found := bind.Bind(program, set, bind.Options{})
	if found.HasErrors() {
		return nil, found
	}
	f := must.Get(compile.Objective(bound, bound.Upper.Objective, nil))
	g := must.Get(compile.Objective(bound, bound.Lower.Objective, nil))
	p := compile.Problem(bound, f, g)
	p.Facts = problem.Facts{QuadraticInY: true, FixedHessian: true, EqualityOnly: !p.HasInequalities()}
	if p.Start == nil {
		p.Start = make([]float64, p.Dx)
	}
	return p, nil
}

// known is a model of testdata with the least known F.
func known(name string, optimum float64, starts int, tolerance float64) Case {
	p, err := compiled(filepath.Join("..", "..", "testdata", "models", name+".blv"), "")
	if err != nil {
		panic(err)
	}
	return Case{p, optimum, starts, tolerance}
}

// Quota has equality rows: F is smooth.
func Quota() Case {
	c := known("quota", 4.416452007145, 1, 1e-9)
	c.Facts.StrongConvexity, c.Facts.Smoothness = 2, 8
	return c
}

// Bard1988 has its optimum on the edge of D.
func Bard1988() Case {
	c := known("bard1988", 17, 4, 1e-12)
	c.Facts.StrongConvexity, c.Facts.Smoothness = 2, 2
	return c
}

// Toll is a revenue, negated.
func Toll() Case { return known("toll", -8.952715040395, 1, 1e-9) }

// Bolib are public test problems.
func Bolib() []Case {
	return []Case{
		known("bolib/Bard1988Ex2", -6600, 20, 1e-6),
		known("bolib/CalamaiVicente1994b", 0.3125, 20, 1e-6),
		known("bolib/DeSilva1978", -1, 20, 1e-6),
		known("bolib/FalkLiu1995", -2.25, 20, 1e-6),
		known("bolib/HatzEtal2013", 0, 20, 1e-6),
		known("bolib/HendersonQuandt1958", -9800.0/3, 20, 1e-9), // with y = 50 - x/4: F = 3/8 x^2 - 70 x, least at x = 280/3
		known("bolib/MuuQuy2003Ex1", -27.0/13, 20, 1e-5),
		known("bolib/Outrata1990Ex1a", -8.9172, 20, 1e-4),
		known("bolib/SinhaMaloDeb2014TP6", -1.20988, 20, 1e-4),
		known("bolib/Yezza1996Ex41", 0.5, 20, 1e-9),
	}
}

// Kink is F(x) = |x - 1| + x^2/10 in one variable, as a bilevel problem:
// y = max(0, x - 1), F = 2 y - (x - 1) + x^2/10.
func Kink() Case {
	p := &problem.Problem{Name: "kink", Dx: 1, Dy: 1, X: Box(1, -10, 10), Start: []float64{math.Pi},
		F:     FromFormula(1, 1, func(x, y []float64) float64 { return 2*y[0] - x[0] + 1 + x[0]*x[0]/10 }),
		G:     FromFormula(1, 1, func(x, y []float64) float64 { return (y[0] - x[0] + 1) * (y[0] - x[0] + 1) / 2 }),
		Rows:  RowsFromFormula(1, 1, []string{"a"}, func(_, y []float64) []float64 { return []float64{-y[0]} }),
		Facts: problem.Facts{QuadraticInY: true, FixedHessian: true, StrongConvexity: 1, Smoothness: 1}}
	return Case{p, 0.1, 1, 1e-12}
}
