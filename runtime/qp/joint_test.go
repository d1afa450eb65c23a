package qp

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// budgets is the structure of the support vector experiment, of which D has
// countless facets: t_i (X w)_i >= 1 - c_i with c in a box. It is written in units of
// c, w and of each row.
func budgets(rng *rand.Rand, dx, dy int, xUnit, yUnit float64, rowUnits bool) (*problem.Set, *problem.Rows) {
	a, b := make([]float64, dx*dx), make([]float64, dx*dy)
	rhs := make([]float64, dx)
	units := make([]float64, dx)
	for i := range rhs {
		units[i] = 1
	}
	for i := range rhs {
		for k := range dy {
			b[i*dy+k] = rng.NormFloat64()
		}
		if rowUnits {
			units[i] = math.Pow(10, float64(rng.IntN(17)-8))
		}
		for k := range dy {
			b[i*dy+k] *= units[i] / yUnit
		}
		a[i*dx+i], rhs[i] = -units[i]/xUnit, -units[i]
	}
	set := freeSet(dx)
	for j := range set.Lo {
		set.Lo[j], set.Hi[j] = 1e-4*xUnit, 100*xUnit
	}
	return set, &problem.Rows{Kind: make([]problem.Kind, dx), A: sparse.FromDense(dx, dx, a), B: sparse.FromDense(dx, dy, b),
		Rhs: rhs, Name: make([]string, dx)}
}

// The projection is a point of X and D at which the way back makes an obtuse
// angle with the ways to all other points of the set, whatever the units; with few
// rows by the dense method, with many by the sparse one.
func TestProjectWhereFacetsAreCountless(t *testing.T) {
	for _, size := range [][2]int{{8, 3}, {30, 6}, {120, 8}} {
		dx, dy := size[0], size[1]
		for seed := uint64(0); seed < 4; seed++ {
			rng := rand.New(rand.NewPCG(seed, uint64(dx)))
			set, rows := budgets(rng, dx, dy, 1, 1, false)
			p := NewProjector(set, rows, dx, dy)
			var points [][]float64
			for range 6 {
				x := make([]float64, dx)
				for j := range x {
					x[j] = 1.5 * rng.NormFloat64()
				}
				got := make([]float64, dx)
				if err := p.Project(got, x); err != nil {
					t.Fatal(err)
				}
				points = append(points, x, got)
				if y, _ := p.recourse.Feasible(got); y == nil {
					t.Errorf("%v, seed %d: no y at the projection", size, seed)
				}
				again := make([]float64, dx)
				if err := p.Project(again, got); err != nil || apart(got, again) > 1e-11 {
					t.Errorf("%v, seed %d: a point of the set moves by %g: %v", size, seed, apart(got, again), err)
				}
			}
			for k := 0; k < len(points); k += 2 {
				x, at := points[k], points[k+1]
				for l := 1; l < len(points); l += 2 {
					angle := 0.0
					for j := range x {
						angle += (x[j] - at[j]) * (points[l][j] - at[j])
					}
					if angle > 1e-9*apart(x, at)*math.Max(1, apart(points[l], at)) {
						t.Errorf("%v, seed %d: angle %g", size, seed, angle)
					}
				}
			}
			for _, unit := range [][2]float64{{1e-8, 1}, {1e8, 1}, {1, 1e-8}, {1, 1e8}, {1e-8, 1e8}} {
				rng := rand.New(rand.NewPCG(seed, uint64(dx)))
				set, rows := budgets(rng, dx, dy, unit[0], unit[1], false)
				q := NewProjector(set, rows, dx, dy)
				for k := 0; k < len(points); k += 2 {
					x, got := make([]float64, dx), make([]float64, dx)
					for j, v := range points[k] {
						x[j] = v * unit[0]
					}
					if err := q.Project(got, x); err != nil {
						t.Fatal(err)
					}
					for j := range got {
						got[j] /= unit[0]
					}
					if d := apart(got, points[k+1]); d > 1e-8 {
						t.Errorf("%v, seed %d, units %g: the projection is elsewhere by %g", size, seed, unit, d)
					}
				}
			}
		}
	}
}

// Rows in units of their own change no projection but by rounding.
func TestProjectMindsNoRowUnits(t *testing.T) {
	for seed := uint64(0); seed < 20; seed++ {
		set, rows := budgets(rand.New(rand.NewPCG(seed, 3)), 25, 4, 1, 1, true)
		rng := rand.New(rand.NewPCG(seed, 4))
		p := NewProjector(set, rows, 25, 4)
		same := &problem.Rows{Kind: rows.Kind, A: clone(rows.A), B: clone(rows.B), Rhs: append([]float64(nil), rows.Rhs...), Name: rows.Name}
		for i, r := range same.Rhs {
			for _, m := range []*sparse.CSR{same.A, same.B} {
				for t := m.Ptr[i]; t < m.Ptr[i+1]; t++ {
					m.Val[t] /= -r
				}
			}
			same.Rhs[i] = -1
		}
		q := NewProjector(set, same, 25, 4)
		x, got, want := normals(rng, 25), make([]float64, 25), make([]float64, 25)
		if err := p.Project(got, x); err != nil {
			t.Fatal(err)
		}
		if err := q.Project(want, x); err != nil {
			t.Fatal(err)
		}
		if d := apart(got, want); d > 1e-9 {
			t.Errorf("seed %d: elsewhere by %g", seed, d)
		}
	}
}

// Where no row ties y to x, y is not asked for: the Projector never looks for one.
func TestNothingToProjectWhereRowsDoNotReadX(t *testing.T) {
	rows := rowsOf(2, 3, make([]float64, 8), []float64{1, 1, 1, -1, 0, 0, 0, 1, 0, 1, 0, 0}, []float64{-1, 0, -2, 5}, 0)
	p := NewProjector(freeSet(2), rows, 2, 3)
	x := make([]float64, 2)
	if err := p.Project(x, []float64{3, -4}); err != nil || x[0] != 3 || x[1] != -4 || !p.recourse.Always() {
		t.Errorf("%v: %v", x, err)
	}
}

func clone(m *sparse.CSR) *sparse.CSR {
	c := *m
	c.Val = append([]float64(nil), m.Val...)
	return &c
}

func apart(a, b []float64) float64 {
	d := make([]float64, len(a))
	for j := range d {
		d[j] = a[j] - b[j]
	}
	return linalg.Norm(d)
}
