package autodiff

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/ir/data"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
)

// TestSumsOfManyTerms: sums of more terms than Gorgonia is given at once, of scalars that other terms
// share, with signs and terms of data, against their value and gradient in closed form; the nodes of the
// gradient graph are in proportion to the terms.
func TestSumsOfManyTerms(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 14))
	for range 6 {
		b := builder{expr.NewBuilder(), t}
		n := partNodes/2 + rng.IntN(3*partNodes)
		vars, x := make([]*expr.Node, n), randoms(rng, n)
		for k := range vars {
			vars[k] = b.Var("x", false, k, expr.ScalarShape(), diag.Span{})
		}
		want, size, value, magnitude := make([]float64, n), make([]float64, n), 0.0, 0.0
		var root *expr.Node
		add := func(u *expr.Node, v float64, d map[int]float64) {
			op, sign := expr.Add, 1.0
			if root != nil && rng.IntN(3) == 0 {
				op, sign = expr.Sub, -1
			}
			if root == nil {
				root = u
			} else {
				root = b.bin(op, root, u)
			}
			value, magnitude = value+sign*v, magnitude+math.Abs(v)
			for k, e := range d {
				want[k] += sign * e
				size[k] += math.Abs(e)
			}
			if rng.IntN(40) == 0 {
				root = b.un(expr.Neg, root)
				value = -value
				for k := range want {
					want[k] = -want[k]
				}
			}
		}
		shared := b.un(expr.Exp, vars[0])
		for k := range n {
			switch j, c := rng.IntN(n), rng.NormFloat64(); rng.IntN(4) {
			case 0:
				add(vars[k], x[k], map[int]float64{k: 1})
			case 1:
				d := map[int]float64{k: x[j]}
				d[j] += x[k]
				add(b.bin(expr.Mul, vars[k], vars[j]), x[k]*x[j], d)
			case 2:
				d := map[int]float64{k: math.Exp(x[0])}
				d[0] += x[k] * math.Exp(x[0])
				add(b.bin(expr.Mul, vars[k], shared), x[k]*math.Exp(x[0]), d)
			default:
				add(b.bin(expr.Mul, b.Const("", data.Scalar(c), diag.Span{}), vars[k]), c*x[k], map[int]float64{k: c})
				add(b.Const("d", data.Scalar(c), diag.Span{}), c, nil)
			}
		}
		g, err := Differentiate(b.Builder, root, n, 0)
		if err != nil {
			t.Fatal(err)
		}
		got, dx, _ := eval(t, g, x, nil)
		near(t, "value", got, value, 1e-11*magnitude)
		for k := range dx {
			near(t, "gradient", dx[k], want[k], 1e-11*(1+size[k]))
		}
		if len(g.Nodes) > 40*n {
			t.Errorf("%d nodes for %d terms", len(g.Nodes), n)
		}
	}
}

// A term that a sum has many times takes an addition each time, which parts count.
func TestSumOfOneTermManyTimes(t *testing.T) {
	b := builder{expr.NewBuilder(), t}
	x := b.Var("x", false, 0, expr.ScalarShape(), diag.Span{})
	term := b.un(expr.Exp, x)
	root := b.un(expr.Sin, x)
	const times = 16 * partNodes
	for range times {
		root = b.bin(expr.Add, root, term)
	}
	parts, _ := partsOf(root)
	for _, p := range parts {
		if len(p) > 2*partNodes {
			t.Fatalf("%d terms in one part", len(p))
		}
	}
	g, err := Differentiate(b.Builder, root, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	value, dx, _ := eval(t, g, []float64{0.5}, nil)
	near(t, "value", value, math.Sin(0.5)+times*math.Exp(0.5), 1e-9*times)
	near(t, "gradient", dx[0], math.Cos(0.5)+times*math.Exp(0.5), 1e-9*times)
}
