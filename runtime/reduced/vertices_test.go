package reduced_test

import (
	"math"
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/reduced"
)

// One row more than y has entries goes through a point at x = 0, where the follower's multipliers are a segment, and each end of it is of another side of x = 0; in every third case one end is a degenerate vertex, with no
// force on two rows, and a minimum need not be strongly stationary. f is linear, and F piecewise linear: it rises on both sides of where a solve ends, or of an end of X, as another solver of the follower says.
func TestVerticesOfMultipliers(t *testing.T) {
	rng := members.Rand(t, 41)
	normal := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		return v
	}
	left, kinks, weak := 0, 0, 0
	for k := range members.Of(200, 2000) {
		degenerate := k%3 == 0
		ny := 2 + rng.IntN(4)
		f := &kkttest.Quadratic{Nx: 1, Ny: ny, M: make([]float64, (1+ny)*(1+ny)), C: normal(1 + ny)}
		g := &kkttest.Quadratic{Nx: 1, Ny: ny, M: make([]float64, (1+ny)*(1+ny)), C: make([]float64, 1+ny)}
		rows := &problem.Rows{A: sparse.Empty(1), B: sparse.Empty(ny)}
		at := normal(ny)
		columns := make([]int, ny)
		for i := range ny {
			columns[i] = i
			g.M[(1+i)*(1+ny)+1+i], g.C[1+i] = 1, -at[i] // the gradient at the point is what the rows make of it below
		}
		for i := range ny + 1 {
			row, force, through := normal(ny), 0.1+rng.Float64(), 0.0
			if degenerate && i < 2 {
				force = 0
			}
			for i, v := range row {
				g.C[1+i] += force * v
				through += v * at[i]
			}
			kkttest.AddRow(rows, problem.AtMost, normal(1), columns, row, -through)
		}
		p := &problem.Problem{Name: "ends", Dx: 1, Dy: ny, F: f, G: g, Rows: rows, X: &problem.Set{Lo: []float64{-1}, Hi: []float64{1}, E: sparse.Empty(1)},
			Facts: problem.Facts{StrongConvexity: 1, JointlyQuadratic: true, DegreeF: 1}}
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		truth := newTruth(t, s)
		if _, _, ok := truth.at([]float64{-0.01}); !ok { // rows may leave no y beside x = 0
			continue
		}
		if _, _, ok := truth.at([]float64{0.01}); !ok {
			continue
		}
		r, err := reduced.Solve(t.Context(), s, []float64{rng.NormFloat64() * math.Pow(10, -float64(3+rng.IntN(8)))}, reduced.Options{NoPath: true, Near: k%4 > 0})
		if degenerate && err == nil && r.Status == reduced.Stalled {
			weak++
			continue
		}
		if err != nil || r.Status != reduced.Stationary {
			t.Errorf("case %d: %v, %v", k, r, err)
			continue
		}
		x := s.X(r.Point.Z)[0]
		if math.Abs(x) > 1e-9 {
			left++
		} else if kinks++; r.Point.Vertices != 2 && !degenerate || !r.Point.AllVertices {
			t.Errorf("case %d: %d vertices, all: %v", k, r.Point.Vertices, r.Point.AllVertices)
		}
		if side, falls := truth.falls(x, r.Point.F, 1); falls {
			t.Errorf("case %d: F falls from %v at %v to the side %v", k, r.Point.F, x, side)
		}
	}
	if left < 20 || kinks < 5 || weak > left/5 {
		t.Errorf("%d solves went on, %d did not, %d ended at no strongly stationary point", left, kinks, weak)
	}
}

// falls reports a side of x, the only entry, within reach of 0, to which F falls from f: at two distances, as other kinks may be near, and answers to points beside are exact to 1e-9 alone.
func (t *truth) falls(x, f, reach float64) (side float64, falls bool) {
	for _, side = range []float64{-1, 1} {
		falls = true
		for _, h := range []float64{1e-7, 1e-6} {
			_, there, ok := t.at([]float64{x + side*h})
			falls = falls && ok && math.Abs(x+side*h) <= reach && there < f-1e-8
		}
		if falls {
			return side, true
		}
	}
	return 0, false
}

// Where other rows make one up, in x too, all vertices of the multipliers are of one piece of F: the solve that ends with one of them has looked at all.
func TestVerticesOfOnePiece(t *testing.T) {
	rng := members.Rand(t, 42)
	const reach = 1e-3
	several := 0
	for k := range members.Of(100, 1000) {
		ny := 2 + rng.IntN(4)
		f := &kkttest.Quadratic{Nx: 1, Ny: ny, M: make([]float64, (1+ny)*(1+ny)), C: make([]float64, 1+ny)}
		g := &kkttest.Quadratic{Nx: 1, Ny: ny, M: make([]float64, (1+ny)*(1+ny)), C: make([]float64, 1+ny)}
		rows := &problem.Rows{A: sparse.Empty(1), B: sparse.Empty(ny)}
		columns, last, ofX := make([]int, ny), make([]float64, ny), 0.0
		for i := range ny {
			columns[i] = i
			g.M[(1+i)*(1+ny)+1+i], f.C[1+i] = 1, rng.NormFloat64()
		}
		add := func(row []float64, a float64) {
			force := 0.1 + rng.Float64()
			for i, v := range row {
				g.C[1+i] += force * v
			}
			kkttest.AddRow(rows, problem.AtMost, []float64{a}, columns, row, 0)
		}
		for range ny {
			row, a, share := make([]float64, ny), rng.NormFloat64(), 0.5+rng.Float64()
			for i := range row {
				row[i] = rng.NormFloat64()
				last[i] += share * row[i]
			}
			ofX += share * a
			add(row, a)
		}
		add(last, ofX)
		p := &problem.Problem{Name: "one", Dx: 1, Dy: ny, F: f, G: g, Rows: rows, X: &problem.Set{Lo: []float64{-reach}, Hi: []float64{reach}, E: sparse.Empty(1)},
			Facts: problem.Facts{StrongConvexity: 1, JointlyQuadratic: true, DegreeF: 1}}
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		r, err := reduced.Solve(t.Context(), s, []float64{0}, reduced.Options{NoPath: true})
		if err != nil || r.Status != reduced.Stationary {
			t.Errorf("case %d: %v, %v", k, r, err)
			continue
		}
		if len(r.Point.Biactive) > 0 {
			several++
		}
		if r.Point.Vertices != 1 || !r.Point.AllVertices {
			t.Errorf("case %d: %d vertices, all: %v", k, r.Point.Vertices, r.Point.AllVertices)
		}
		if still, err := reduced.Solve(t.Context(), s, s.X(r.Point.Z), reduced.Options{Still: true}); err != nil || still.Point.Vertices != 1 || !still.Point.AllVertices {
			t.Errorf("case %d: where it stays: %v, %v", k, still, err)
		}
		if side, falls := newTruth(t, s).falls(s.X(r.Point.Z)[0], r.Point.F, reach); falls {
			t.Errorf("case %d: F falls from %v at %v to the side %v", k, r.Point.F, r.Point.Z[0], side)
		}
	}
	if several < 50 {
		t.Errorf("%d points with several vertices", several)
	}
}
