package certify

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// withConstraint is the kink's F with s (y - limit) beside it, s being the weight
// with which the constraint enters.
type withConstraint struct {
	quadratic
	limit float64
}

func (f withConstraint) ValueGrad(dx, dz, x, z []float64) float64 {
	v := f.quadratic.ValueGrad(dx, dz[:1], x, z[:1])
	dz[0] += z[1]
	dz[1] = z[0] - f.limit
	return v + z[1]*dz[1]
}

// A constraint of the upper level that reads y holds where a document says that it is
// solved: an equation on both sides, an inequality on its own.
func TestUpperConstraintIsMissed(t *testing.T) {
	for _, kind := range []problem.Kind{problem.Equal, problem.AtMost} {
		for _, off := range []float64{-0.3, -0.02, 0, 0.02, 0.3} {
			p := kink()
			p.F = formula(withConstraint{p.F.(quadratic), 0.5 - off}.ValueGrad)
			p.Coupled = &problem.Coupled{Kind: []problem.Kind{kind}, Name: []string{"budget"}, Weight: []float64{4}}
			doc := solvedKink()
			at(doc, 0.5, 0.5, 0, &Lower{Active: []int{}, Bound: rounded(1)})
			doc.Coupled = &Coupled{Values: []float64{off}, Penalty: []float64{4}, Multipliers: []float64{0}}
			missed := slices.ContainsFunc(Verify(doc, p).Failures(), func(c Check) bool { return c.Claim == "solved: budget holds" })
			if want := off > 0 || off < 0 && kind == problem.Equal; missed != want {
				t.Errorf("kind %v, off by %v: missed is %v", kind, off, missed)
			}
		}
	}
}

// A gap that rounding makes of forces may be claimed as 0, in any units; one that is
// more may not.
func TestGapsOfRounding(t *testing.T) {
	for _, unit := range []float64{1e-6, 1e-3, 1, 1e3, 1e6} {
		for _, off := range []float64{0, 0x1p-52, 0x1p-50, 1e-9} {
			p := kink()
			p.G, p.Facts.StrongConvexity = inUnits{p.G, 1, 1, unit}, unit
			p.Rows = &problem.Rows{A: sparse.FromEntries(0, 2, nil), B: sparse.FromEntries(0, 1, nil)}
			doc := solvedKink()
			at(doc, 0.5, 0.5+off, 0, &Lower{Active: []int{}, Bound: rounded(unit)})
			doc.Lambda, doc.Certificate.Goldstein = []float64{}, nil
			refused := slices.ContainsFunc(Verify(doc, p).Failures(), func(c Check) bool { return c.Claim == "gap of the lower level" })
			if want := off == 1e-9; refused != want {
				t.Errorf("g in units of %g, y off by %g: refused is %v", unit, off, refused)
			}
		}
	}
}

// The size of an entry of x over X is half its interval or, where that is not bounded,
// the largest number known of it; of what nothing is known, the others' largest. In
// other units it is the same size.
func TestWidths(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 21))
	inf := math.Inf(1)
	for range 300 {
		n := 1 + rng.IntN(4)
		p := &problem.Problem{Dx: n, X: &problem.Set{}}
		x := make([]float64, n)
		if rng.IntN(2) == 0 {
			p.Start = make([]float64, n)
		}
		known := make([]float64, n)
		for j := range n {
			lo, hi := -inf, inf
			if rng.IntN(2) == 0 {
				lo = rng.NormFloat64()
			}
			if rng.IntN(2) == 0 {
				hi = math.Max(lo, -10) + rng.ExpFloat64()
			}
			if rng.IntN(3) > 0 {
				x[j] = math.Max(lo, math.Min(hi, 3*rng.NormFloat64()))
			} else {
				x[j] = math.Max(lo, math.Min(hi, 0))
			}
			known[j] = math.Abs(x[j])
			for _, b := range []float64{lo, hi} {
				if !math.IsInf(b, 0) {
					known[j] = math.Max(known[j], math.Abs(b))
				}
			}
			if p.Start != nil {
				p.Start[j] = float64(rng.IntN(3)) * rng.NormFloat64()
				known[j] = math.Max(known[j], math.Abs(p.Start[j]))
			}
			if hi-lo < inf {
				known[j] = (hi - lo) / 2
			}
			p.X.Lo, p.X.Hi = append(p.X.Lo, lo), append(p.X.Hi, hi)
		}
		largest := maxAbs(known)
		for j := range known {
			if known[j] == 0 {
				known[j] = largest
			}
		}
		if largest == 0 {
			continue // nothing says in which units x is
		}
		for _, unit := range []float64{1, 0x1p-30, 0x1p30} {
			q := *p
			q.X = &problem.Set{Lo: scaled(p.X.Lo, unit), Hi: scaled(p.X.Hi, unit)}
			q.Start = nil
			if p.Start != nil {
				q.Start = scaled(p.Start, unit)
			}
			if got := widths(&q, scaled(x, unit)); !slices.Equal(got, scaled(known, unit)) {
				t.Fatalf("x %v in [%v, %v], start %v, units of %v: sizes %v, want %v", x, p.X.Lo, p.X.Hi, p.Start, unit, got, known)
			}
		}
	}
}

// tie is y_1 = x_1 and y_1 = x_2, so that x_1 = x_2, with y_2 = max(0, x_1).
func tie() *problem.Problem {
	inf := math.Inf(1)
	return &problem.Problem{Name: "tie", Dx: 2, Dy: 2, F: quadratic{d: []float64{0, 1}},
		G: formula(cones{[][]float64{{0, 0}, {1, 0}}}.ValueGrad),
		Rows: &problem.Rows{Kind: []problem.Kind{problem.Equal, problem.Equal, problem.AtMost}, Rhs: make([]float64, 3),
			A: sparse.FromDense(3, 2, []float64{1, 0, 0, 1, 0, 0}), B: sparse.FromDense(3, 2, []float64{1, 0, 1, 0, 0, 1})},
		X:     &problem.Set{Lo: []float64{-inf, -inf}, Hi: []float64{inf, inf}, E: sparse.FromEntries(0, 2, nil)},
		Facts: problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true}}
}

// Rows that add up to another one tie nothing, however far what they make of x cancels.
func TestRowsThatAddUpTieNothing(t *testing.T) {
	for _, a := range []float64{1.0 / 3, 1e8 / 3, 1e-8 / 3} {
		for off, want := range map[float64]int{0: 0, 1e-3: 1} {
			p := tie()
			p.Dx = 1
			p.Rows = &problem.Rows{Kind: []problem.Kind{problem.Equal, problem.Equal, problem.Equal}, Rhs: make([]float64, 3),
				A: sparse.FromDense(3, 1, []float64{a, -a, off * a}), B: sparse.FromDense(3, 2, []float64{3, 4, 1, 7, 4, 11})}
			if got := tiedNormals(p); len(got) != want {
				t.Errorf("%g and %g: %v are tied, %d should be", a, off*a, got, want)
			}
		}
	}
}

// Where equality rows of the lower level tie x, no x off the tie has an answer, on
// either side; and the pieces of F at a kink are looked at along the tie.
func TestTiedRows(t *testing.T) {
	p := tie()
	d := newDeriver(p, []float64{1, 1}, []float64{1, 1}, make([]float64, 3))
	for _, off := range []float64{-0.1, 0, 0.1} {
		there, err := d.onFace([]float64{1, 1 + off}, []float64{1, 1}, []int{0, 1})
		if err != nil {
			t.Fatal(err)
		}
		if got := !d.strictly(there, nil); got != (off != 0) {
			t.Errorf("x_1 - x_2 = %v: a row that is missed is %v", off, got)
		}
	}
	d = newDeriver(p, []float64{0, 0}, []float64{0, 0}, make([]float64, 3))
	for _, c := range []struct {
		face     []int
		gradient []float64
		real     bool
	}{{[]int{0, 1}, []float64{1, 0}, true}, {[]int{0, 1, 2}, []float64{0, 0}, true}, {[]int{0, 1, 2}, []float64{-1, 0}, false}} {
		_, found, err := d.gradientNear([]float64{0, 0}, []float64{0, 0}, [][]int{c.face}, c.gradient, 1e-6, 1e-3)
		if real := err == nil && d.apart(found, c.gradient) < 1e-6; real != c.real {
			t.Errorf("face %v, gradient %v: %v is found, %v", c.face, c.gradient, found, err)
		}
	}
}

// hollow is F whose gradient is nowhere a number.
type hollow struct{ quadratic }

func (f hollow) ValueGrad(dx, dy, x, y []float64) float64 {
	v := f.quadratic.ValueGrad(dx, dy, x, y)
	dy[0] = math.NaN()
	return v
}
func (f hollow) Clone() problem.Function { return f }

// Where no gradient can be derived the reason is told.
func TestReasonsOfFailure(t *testing.T) {
	p := kink()
	p.F = hollow{p.F.(quadratic)}
	d := newDeriver(p, []float64{0.5, 0}, []float64{0.5}, []float64{0})
	_, _, err := d.gradientNear([]float64{0.5, 0}, []float64{0.5}, nil, []float64{1, 1}, 1e-6, 1e-3)
	if err == nil || !strings.Contains(err.Error(), "not finite") {
		t.Errorf("a gradient that is no number: %v", err)
	}
	// More rows than entries, of a block that is too large for factors.
	n := tolerance.DenseOrder + 1
	var entries []sparse.Entry
	for i := range n + 1 {
		entries = append(entries, sparse.Entry{Row: i, Col: i % n, Val: 1}, sparse.Entry{Row: i, Col: (i + 1 + i/n) % n, Val: 2})
	}
	face := make([]int, n+1)
	for i := range face {
		face[i] = i
	}
	large := &problem.Problem{Name: "large", Dx: 1, Dy: n, F: quadratic{d: ones(n)}, G: quadratic{a: ones(n)},
		Rows:  &problem.Rows{Kind: make([]problem.Kind, n+1), Rhs: make([]float64, n+1), A: sparse.FromEntries(n+1, 1, nil), B: sparse.FromEntries(n+1, n, entries)},
		X:     &problem.Set{Lo: []float64{-1}, Hi: []float64{1}, E: sparse.FromEntries(0, 1, nil)},
		Facts: problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true}}
	d = newDeriver(large, []float64{0}, make([]float64, n), make([]float64, n+1))
	if _, err := d.onFace([]float64{0}, make([]float64, n), face); fmt.Sprint(err) != errFace.Error() {
		t.Errorf("%d rows on %d entries: %v", n+1, n, err)
	}
}
