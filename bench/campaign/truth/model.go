// Package truth finds out, on its own, what is true of a small bilevel
// program: whether it has a point at all (exact linear programming), y*(x) and
// its multipliers (enumeration of the faces of the lower level), the gradient
// of F on the open pieces around a point, and how far a point is from being
// stationary. It imports nothing of the project but exact linear programs, so that what it says can
// judge the project.
//
// Models are small: every loop over subsets of rows is meant.
package truth

import (
	"math"
	"math/big"

	"bilevelc/internal/each"
	"bilevelc/internal/exact"
)

// Row is A x + C y <= Rhs, or == Rhs. Coefficients are exact.
type Row struct {
	A, C  []*big.Rat // len Dx and Dy
	Rhs   *big.Rat
	Equal bool
}

// Kind of a smooth convex term of one argument.
type Kind uint8

// The kinds, each with its function of the argument u.
const (
	Exp      Kind = iota // exp(u)
	Softplus             // log(1 + exp(u))
	Entropy              // u log u, for u > 0
	Sqrt1                // sqrt(1 + u^2)
)

// Term is Weight * kind(A x + C y + Const).
type Term struct {
	Kind   Kind
	Weight *big.Rat
	A, C   []*big.Rat
	Const  *big.Rat
}

// Function is Const + lx'x + ly'y + x'Xx/2 + x'Xy y + y'Yy/2 + terms. Yy and
// Xx are symmetric.
type Function struct {
	Lx, Ly []*big.Rat
	Xx     [][]*big.Rat // Dx by Dx
	Xy     [][]*big.Rat // Dx by Dy
	Yy     [][]*big.Rat // Dy by Dy
	Terms  []Term
}

// Model is: minimize F over the box and XRows, with y in its box and under
// Rows minimizing G, which is strongly convex in y. A nil bound is none.
type Model struct {
	Dx, Dy   int
	XLo, XHi []*big.Rat
	YLo, YHi []*big.Rat
	XRows    []Row // C is nil
	Rows     []Row
	F, G     Function
}

// Map is the model with other numbers in the place of its own.
func (m *Model) Map(of func(*big.Rat) *big.Rat) *Model {
	list := func(v []*big.Rat) []*big.Rat {
		if v == nil {
			return nil
		}
		out := make([]*big.Rat, len(v))
		for i, r := range v {
			if r != nil {
				out[i] = of(r)
			}
		}
		return out
	}
	table := func(v [][]*big.Rat) (out [][]*big.Rat) {
		for _, row := range v {
			out = append(out, list(row))
		}
		return out
	}
	rows := func(v []Row) (out []Row) {
		for _, r := range v {
			out = append(out, Row{list(r.A), list(r.C), of(r.Rhs), r.Equal})
		}
		return out
	}
	out := *m
	out.XLo, out.XHi, out.YLo, out.YHi = list(m.XLo), list(m.XHi), list(m.YLo), list(m.YHi)
	out.XRows, out.Rows = rows(m.XRows), rows(m.Rows)
	for _, f := range []*Function{&out.F, &out.G} {
		f.Lx, f.Ly, f.Xx, f.Xy, f.Yy = list(f.Lx), list(f.Ly), table(f.Xx), table(f.Xy), table(f.Yy)
		terms := f.Terms
		f.Terms = nil
		for _, t := range terms {
			f.Terms = append(f.Terms, Term{t.Kind, of(t.Weight), list(t.A), list(t.C), of(t.Const)})
		}
	}
	return &out
}

// Rat makes the rational p/q.
func Rat(p, q int64) *big.Rat { return big.NewRat(p, q) }

// Zeros is a vector of n zeros.
func Zeros(n int) []*big.Rat {
	return each.Below(n, func(int) *big.Rat { return new(big.Rat) })
}

// Float rounds to the nearest double.
func Float(v *big.Rat) float64 {
	f, _ := v.Float64()
	return f
}

func floats(v []*big.Rat) []float64 {
	return each.Of(v, Float)
}

func matrix(m [][]*big.Rat) [][]float64 {
	return each.Of(m, floats)
}

// boxRows turns a box into rows on the variables of one level: sign*v_j <= b.
func boxRows(lo, hi []*big.Rat, unit func(j int, sign int64) Row) []Row {
	var rows []Row
	for j := range lo {
		if lo[j] != nil {
			r := unit(j, -1)
			r.Rhs = new(big.Rat).Neg(lo[j])
			rows = append(rows, r)
		}
		if hi[j] != nil {
			r := unit(j, 1)
			r.Rhs = hi[j]
			rows = append(rows, r)
		}
	}
	return rows
}

// upper is X as rows.
func (m *Model) upper() []Row {
	rows := boxRows(m.XLo, m.XHi, func(j int, sign int64) Row {
		r := Row{A: Zeros(m.Dx), C: Zeros(m.Dy)}
		r.A[j] = Rat(sign, 1)
		return r
	})
	for _, r := range m.XRows {
		rows = append(rows, Row{A: r.A, C: Zeros(m.Dy), Rhs: r.Rhs, Equal: r.Equal})
	}
	return rows
}

// Contains reports that x, taken exactly, is in X: the box and XRows.
func (m *Model) Contains(x []float64) bool {
	at := exact.Doubles(x)
	for _, r := range m.upper() {
		if c := exact.Dot(r.A, at).Cmp(r.Rhs); c > 0 || r.Equal && c != 0 {
			return false
		}
	}
	return true
}

// Lower is the lower level's rows: the declared ones, then the box of y.
func (m *Model) Lower() []Row {
	return append(append([]Row(nil), m.Rows...), boxRows(m.YLo, m.YHi, func(j int, sign int64) Row {
		r := Row{A: Zeros(m.Dx), C: Zeros(m.Dy)}
		r.C[j] = Rat(sign, 1)
		return r
	})...)
}

// term values: the function, its first and second derivative at u.
func (k Kind) at(u float64) (v, d, dd float64) {
	switch k {
	case Exp:
		e := math.Exp(u)
		return e, e, e
	case Softplus:
		v = math.Max(u, 0) + math.Log1p(math.Exp(-math.Abs(u)))
		s := 1 / (1 + math.Exp(-u))
		return v, s, s * (1 - s)
	case Entropy:
		if u <= 0 {
			return math.Inf(1), math.NaN(), math.NaN()
		}
		return u * math.Log(u), 1 + math.Log(u), 1 / u
	}
	r := math.Sqrt(1 + u*u)
	return r, u / r, 1 / (r * r * r)
}
