package lower

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// What is kept of faces that solves went through, rows of which came and went, some next to dependent on others and
// some of them bounds, does not show in a face that is made later: it is bit for bit the one that is made of nothing.
func TestKeptFacesDoNotShow(t *testing.T) {
	implied, made, taken := 0, 0, 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 71))
		n := 2 + rng.IntN(9)
		var b [][]float64
		for range 2 * n {
			row := make([]float64, n)
			for j := range row {
				row[j] = rng.NormFloat64()
			}
			switch last := len(b) - 1; {
			case rng.IntN(4) == 0:
				clear(row)
				row[rng.IntN(n)] = 1
			case rng.IntN(3) == 0 && last >= 0:
				for j, v := range b[last] {
					row[j] = v + 1e-6*row[j]
				}
			}
			b = append(b, row)
		}
		p := &problem.Problem{Dy: n, F: zero{}, Rows: rowsOf(0, n, b, make([]float64, len(b)), nil), X: unbounded(0)}
		var q polyhedron
		q.set(p, nil, nil)
		h := make([]float64, n*n)
		for j := range n {
			h[j*n+j] = 1
		}
		known := newDenseHessian(n, h, 0)
		var f face
		for range 40 {
			rows := rng.Perm(len(b))[:rng.IntN(n+1)]
			slices.Sort(rows)
			f.gather(&q, known, rows, nil)
			var fresh face
			fresh.gather(&q, nil, rows, nil)
			if f.qr.Size() > 0 && !(reflect.DeepEqual(f.members, fresh.members) && reflect.DeepEqual(f.fixer, fresh.fixer) && slices.Equal(f.in, fresh.in)) {
				t.Fatalf("seed %d: rows %v, and %v of nothing", seed, f.members, fresh.members)
			}
			for k := range f.members {
				u, v := make([]float64, n), make([]float64, n)
				e := make([]float64, len(f.members))
				e[k] = 1
				f.qr.AddScaled(u, 1, e)
				fresh.qr.AddScaled(v, 1, e)
				if !slices.Equal(f.qr.Triangle(k), fresh.qr.Triangle(k)) || !slices.Equal(u, v) {
					t.Fatalf("seed %d: column %d of %v is another", seed, k, f.members)
				}
			}
			if f.sine() > 0.1 {
				implied++
			} else {
				made++
			}
			for range rng.IntN(4) {
				if i := rng.IntN(len(b)); f.in[i] {
					f.drop(i)
				} else {
					f.add(i)
				}
			}
			known.keep(&f)
			taken += min(len(known.basis.members), 1)
		}
	}
	if implied < 200 || made < 200 || taken < 1000 {
		t.Errorf("%d faces far from dependent, %d next to it, %d kept: too few", implied, made, taken)
	}
}

// Nor does what is kept of rows show in which of them hold a minimizer, and in its last digits: pivots gives at each of some points, from a random
// guess, what it gives with a Hessian that has been asked for nothing. Every other time a row is twice another one, so that guesses leave the choice.
func TestKeptRowsDoNotShow(t *testing.T) {
	found := 0
	for seed := range members.Seeds(t, 500) {
		rng := rand.New(rand.NewPCG(seed, 72))
		n := 2 + rng.IntN(9)
		var b [][]float64
		sides := normal(rng, 3*n)
		for i, v := range sides {
			b, sides[i] = append(b, normal(rng, n)), -math.Abs(v) // rows of which 0 meets all
		}
		if seed%2 == 0 {
			b[1] = linalg.Plus(b[0], 1, b[0])
		}
		p := &problem.Problem{Dy: n, F: zero{}, Rows: rowsOf(0, n, b, sides, nil), X: unbounded(0)}
		h := make([]float64, n*n)
		for j := range n {
			h[j*n+j] = 1 + rng.Float64()
		}
		known := newDenseHessian(n, slices.Clone(h), 0)
		for range 20 {
			var q polyhedron
			q.set(p, nil, nil)
			grad, base := linalg.Plus(make([]float64, n), 2, normal(rng, n)), make([]float64, n)
			guess := rng.Perm(len(b))[:rng.IntN(3)]
			y, want := make([]float64, n), make([]float64, n)
			rows, ok := known.pivots(&q, y, base, grad, guess)
			fresh, also := newDenseHessian(n, slices.Clone(h), 0).pivots(&q, want, base, grad, guess)
			if ok != also || ok && (!slices.Equal(rows, fresh) || !slices.Equal(y, want)) {
				t.Fatalf("seed %d: rows %v (%v) at %v, and %v (%v) at %v of nothing", seed, rows, ok, y, fresh, also, want)
			}
			if ok {
				found++
			}
		}
	}
	if found < 3*members.Count(500) {
		t.Errorf("%d minimizers found: too few", found)
	}
}
