package certify

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// randomFaces is a block with a random Hessian, whose curvatures differ by some digits, and more rows than it has
// entries, some of them multiples of others or sums of them.
func randomFaces(rng *rand.Rand, n, m int, digits float64) (*problem.Problem, *block) {
	rows := make([][]float64, m)
	var entries []sparse.Entry
	for i := range rows {
		rows[i] = make([]float64, n)
		switch {
		case i > 2 && rng.IntN(4) == 0:
			for range 1 + rng.IntN(2) {
				other, by := rows[rng.IntN(i)], rng.NormFloat64()
				for j, v := range other {
					rows[i][j] += by * v
				}
			}
		default:
			for j := range n {
				if rng.IntN(2) == 0 {
					rows[i][j] = rng.NormFloat64()
				}
			}
		}
		for j, v := range rows[i] {
			if v != 0 {
				entries = append(entries, sparse.Entry{Row: i, Col: j, Val: v})
			}
		}
	}
	p := &problem.Problem{Dx: 1, Dy: n, Rows: &problem.Rows{Kind: make([]problem.Kind, m), Rhs: make([]float64, m),
		A: sparse.FromEntries(m, 1, nil), B: sparse.FromEntries(m, n, entries)}}
	b := &block{p: p, entries: each.Number(n), place: each.Number(n), lifts: map[int]lift{}}
	r := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			r.Set(i, j, rng.NormFloat64())
		}
		r.Set(i, i, r.At(i, i)+3)
	}
	for j := range n { // columns are steep or flat
		by := math.Pow(10, -digits/2*float64(j)/float64(n))
		for i := range n {
			r.Set(j, i, by*r.At(j, i))
		}
	}
	b.h = mat.NewSymDense(n, nil)
	b.h.SymOuterK(1, r)
	if !b.factor.Factorize(b.h) {
		panic("not positive definite")
	}
	return p, b
}

// someRows draws rows, ascending.
func someRows(rng *rand.Rand, m int) []int {
	var rows []int
	for i := range m {
		if rng.IntN(3) == 0 {
			rows = append(rows, i)
		}
	}
	return rows
}

// What was looked at for other faces changes nothing: the independent rows of a face are those that a block without
// memory finds, as many as the rank.
func TestIndependentRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 10))
	dependent := 0
	for trial := range 100 {
		n, m := 2+rng.IntN(6), 4+rng.IntN(12)
		_, b := randomFaces(rng, n, m, 0)
		for range 20 {
			rows := someRows(rng, m)
			got := b.independent(rows)
			fresh := &block{p: b.p, entries: b.entries, place: b.place}
			if want := fresh.independent(rows); !slices.Equal(got, want) {
				t.Errorf("trial %d: of the rows %v %v are independent, %v without memory", trial, rows, got, want)
			}
			rank := 0
			if len(rows) > 0 {
				a := mat.NewDense(len(rows), n, nil)
				for k, i := range rows {
					a.SetRow(k, b.row(i))
				}
				var svd mat.SVD
				svd.Factorize(a, mat.SVDNone)
				for _, s := range svd.Values(nil) {
					if s > 1e-9 {
						rank++
					}
				}
			}
			if len(got) != rank {
				t.Errorf("trial %d: of the rows %v %v are independent, their rank is %d", trial, rows, got, rank)
			}
			if len(got) < len(rows) {
				dependent++
			}
		}
	}
	if dependent < 300 {
		t.Errorf("only %d faces had dependent rows", dependent)
	}
	// A row that is next to another is told from it by what is more than rounding.
	for off, want := range map[float64]int{1e-8: 2, 1e-9: 2, 1e-11: 1, 1e-13: 1} {
		p := &problem.Problem{Rows: &problem.Rows{B: sparse.FromDense(2, 2, []float64{3, 4, 3 + 4*off, 4 - 3*off})}}
		b := &block{p: p, entries: []int{0, 1}, place: []int{0, 1}}
		if got := b.independent([]int{0, 1}); len(got) != want {
			t.Errorf("rows at an angle of %g: %v are independent", off, got)
		}
	}
}

// Adjoints of rows inside and outside of a face, refined or not, against the whole KKT matrix solved as one.
func TestAdjointsOfFaces(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 10))
	asked, equations := [2]int{}, 0
	for trial := range 60 {
		n, m := 3+rng.IntN(6), 4+rng.IntN(8)
		digits := []float64{0, 10}[trial%2]
		p, b := randomFaces(rng, n, m, digits)
		plain := b.h
		if trial%3 == 2 { // some rows are equations, which the block's Hessian has as rho E'E
			for i := range m {
				if rng.IntN(3) == 0 {
					p.Rows.Kind[i], b.equal = problem.Equal, append(b.equal, i)
				}
			}
			b.rho, b.h = 2, mat.NewSymDense(n, nil)
			b.h.CopySym(plain)
			for _, i := range b.equal {
				b.h.SymRankOne(b.h, b.rho, mat.NewVecDense(n, b.row(i)))
			}
			if !b.factor.Factorize(b.h) {
				t.Fatal("not positive definite")
			}
		}
		h := &hessian{p: p, blocks: []*block{b}}
		h.divide([][]int{b.entries})
		for range 8 {
			// All faces hold the equations.
			s, err := h.system(slices.Compact(slices.Sorted(slices.Values(append(someRows(rng, m), b.equal...)))))
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(b.equal, func(i int) bool { return !slices.Contains(s.index, i) }) {
				continue // an equation that follows from other rows
			}
			k := len(s.index)
			kkt := mat.NewDense(n+k, n+k, nil)
			for i := range n {
				for j := range n {
					kkt.Set(i, j, plain.At(i, j))
				}
			}
			for r, i := range s.index {
				for j, v := range b.row(i) {
					kkt.Set(n+r, j, v)
					kkt.Set(j, n+r, v)
				}
			}
			for i := range m {
				if cols, _ := p.Rows.B.Row(i); len(cols) == 0 {
					continue
				}
				at, inside := slices.BinarySearch(s.index, i)
				side := mat.NewVecDense(n+k, nil)
				if inside {
					side.SetVec(n+at, -s.give(at))
				} else {
					for j, v := range b.row(i) {
						side.SetVec(j, v)
					}
				}
				var z mat.VecDense
				if err := z.SolveVec(kkt, side); err != nil {
					continue // next to singular
				}
				want := z.RawVector().Data
				refined := rng.IntN(2) == 0
				part, a, err := s.adjoint(i, at, inside, refined)
				if err != nil || part != 0 || refined && !a.refined {
					t.Fatalf("trial %d: row %d of part %d, refined %v of %v: %v", trial, i, part, a.refined, refined, err)
				}
				if off := math.Hypot(distance(a.u, want[:n]), distance(a.v, want[n:])); digits == 0 && off > 1e-7*(1+norm(want)) {
					t.Errorf("trial %d: the adjoint of row %d, inside %v, is off by %.2g of %.2g", trial, i, inside, off, norm(want))
				}
				// Those that count as refined solve the system to ten digits, whatever its condition.
				var left mat.VecDense
				left.MulVec(kkt, mat.NewVecDense(n+k, slices.Concat(a.u, a.v)))
				left.SubVec(&left, side)
				size := mat.Norm(b.h, math.Inf(1))*norm(a.u) + norm(a.v) + mat.Norm(side, 2)
				if off := mat.Norm(&left, 2); a.refined && off > 1e-10*size {
					t.Errorf("trial %d: the adjoint of row %d, inside %v, leaves %.2g of %.2g", trial, i, inside, off, size)
				}
				if asked[map[bool]int{true: 1}[inside]]++; inside && slices.Contains(b.equal, i) {
					equations++
				}
			}
		}
	}
	if asked[0] < 500 || asked[1] < 300 || equations < 50 {
		t.Errorf("only %v adjoints outside and inside were asked for, %d of equations", asked, equations)
	}
}
