package certify

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// Bounds of y from rows of one entry: a value of y_j satisfies all of them exactly if it is
// between them, whatever their signs and units; rows of more entries give none.
func TestBoundsOfY(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 17))
	for trial := range 300 {
		dx, dy, m := 1+rng.IntN(3), 1+rng.IntN(3), rng.IntN(7)
		a, b := make([]float64, m*dx), make([]float64, m*dy)
		rows := &problem.Rows{Kind: make([]problem.Kind, m), Rhs: make([]float64, m)}
		single := make([]bool, m)
		x, y := make([]float64, dx), make([]float64, dy)
		for j := range x {
			x[j] = rng.NormFloat64()
		}
		for i := range m {
			unit := math.Pow(10, float64(rng.IntN(9)-4))
			for j := range dx {
				a[i*dx+j] = unit * rng.NormFloat64()
			}
			rows.Rhs[i] = unit * rng.NormFloat64()
			b[i*dy+rng.IntN(dy)] = unit * rng.NormFloat64()
			single[i] = dy == 1 || rng.IntN(4) > 0
			for j := range dy {
				if !single[i] && b[i*dy+j] == 0 {
					b[i*dy+j] = unit
				}
			}
			if rng.IntN(5) == 0 {
				rows.Kind[i] = problem.Equal
			}
		}
		rows.A, rows.B = sparse.FromDense(m, dx, a), sparse.FromDense(m, dy, b)
		p := &problem.Problem{Dx: dx, Dy: dy, Rows: rows}
		lo, hi := boundsOfY(p, x)
		for range 50 {
			for j := range y {
				y[j] = 3 * rng.NormFloat64()
			}
			for j := range y {
				holds := true
				for i := range m {
					if !single[i] || b[i*dy+j] == 0 {
						continue
					}
					h := -rows.Rhs[i] - b[i*dy+j]*y[j]
					for k := range x {
						h += a[i*dx+k] * x[k]
					}
					holds = holds && h <= 0 && (h == 0 || rows.Kind[i] != problem.Equal)
				}
				if between := lo[j] <= y[j] && y[j] <= hi[j]; between != holds {
					t.Fatalf("trial %d: y_%d = %v, the rows hold is %v, bounds [%v, %v]", trial, j, y[j], holds, lo[j], hi[j])
				}
			}
		}
		// An equation leaves one value.
		for i := range m {
			if j, _ := rows.Bound(i); single[i] && rows.Kind[i] == problem.Equal && lo[j] < hi[j] {
				t.Fatalf("trial %d: an equation leaves [%v, %v]", trial, lo[j], hi[j])
			}
		}
	}
}

// unsolvable is a face whose system cannot be solved.
type unsolvable struct{ componentSystem }

var errUnsolvable = errors.New("no solution")

func (unsolvable) solve(a, b []float64, refined bool) (u, v []float64, err error) {
	return nil, nil, errUnsolvable
}

// Where the system of a face has no solution that is told, with what it was.
func TestSystemsThatFail(t *testing.T) {
	p := kink()
	x, y := []float64{-1, 0}, []float64{0}
	d := newDeriver(p, x, y, []float64{1})
	h, err := d.curvature(x, y, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.system([]int{0}); err != nil {
		t.Fatal(err)
	}
	for key, part := range h.parts {
		h.parts[key] = unsolvable{part}
	}
	if at, err := d.onFace(x, y, []int{0}); !errors.Is(err, errUnsolvable) {
		t.Errorf("%v, %v", at, err)
	}
}
