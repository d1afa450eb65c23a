package reduced_test

import (
	"context"
	"math"
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/reduced"
)

// A search over the kinks of many followers apart, one after the other, tells of its work at each, and a run that is stopped there ends with what it has: y_i is x - 0.6 i within 0 and 1, and f = -sum y falls up to the end of X.
func TestStoppedBetweenKinks(t *testing.T) {
	const ny = 40
	g, f := &smooth{nx: 1, n: 1 + ny, m: make([]float64, (1+ny)*(1+ny)), c: make([]float64, 1+ny)}, &smooth{nx: 1, n: 1 + ny, m: make([]float64, (1+ny)*(1+ny)), c: make([]float64, 1+ny)}
	p := &problem.Problem{Dx: 1, Dy: ny, F: f, G: g, Rows: &problem.Rows{A: sparse.Empty(1), B: sparse.Empty(ny)}, X: &problem.Set{Lo: []float64{0}, Hi: []float64{1 + 0.6*ny}},
		Facts: problem.Facts{StrongConvexity: 1, Convex: true, QuadraticInY: true, FixedHessian: true, JointlyQuadratic: true, DegreeF: 2, AffineCoupled: true}}
	for i := range ny {
		k := 1 + i
		g.m[k*(1+ny)+k], g.m[k*(1+ny)], g.m[k] = 1, -1, -1
		g.c[k], f.c[k] = 0.6*float64(i), -1
		kkttest.AddRow(p.Rows, problem.AtMost, nil, []int{i}, []float64{1}, 0)
		kkttest.AddRow(p.Rows, problem.AtMost, nil, []int{i}, []float64{-1}, 1)
		p.Blocks = append(p.Blocks, []int{i})
	}
	p.Rows.Name = make([]string, p.Rows.Len())
	p.Rows.A.Rows, p.Rows.B.Rows = p.Rows.Len(), p.Rows.Len()
	s, err := kkt.New(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, kinks := range []int{3, 20, 4 * ny} {
		ctx, cancel := context.WithCancel(t.Context())
		told, last := 0, int64(0)
		r, err := reduced.Solve(ctx, s, []float64{0.5}, reduced.Options{NoPath: true, Working: func(work int64) {
			if work > last {
				told++
			}
			if last = work; told == kinks {
				cancel()
			}
		}})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		want, status := 0.0, reduced.Interrupted
		for i := range ny {
			want -= math.Max(0, math.Min(1, r.Point.Z[0]-0.6*float64(i)))
		}
		if kinks > 2*ny {
			status = reduced.Stationary
		}
		if crossed := int(r.Work.Crossings); r.Status != status || crossed > kinks || crossed < min(kinks, 2*ny)-3 || math.Abs(r.Point.F-want) > 1e-12*ny {
			t.Errorf("stopped after %d: %v after %d crossings, F %v, not %v", kinks, r.Status, crossed, r.Point.F, want)
		}
	}
}
