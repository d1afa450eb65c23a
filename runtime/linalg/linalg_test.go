package linalg

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/sparse"
)

// symmetric is a random symmetric matrix as a list of entries, each pair once.
type symmetric struct {
	n        int
	row, col []int32
	val      []float64
}

// quasidefinite is [H B'; B -D] of random size and density, with H and D
// positive definite by dominance and rows in random positions.
func quasidefinite(rng *rand.Rand) (m *symmetric, negative []bool) {
	n := 1 + rng.IntN(60)
	m = &symmetric{n: n}
	negative = make([]bool, n)
	sum := make([]float64, n)
	density := rng.Float64() * rng.Float64()
	hub := -1 // sometimes one node next to all others
	if rng.IntN(3) == 0 {
		hub = rng.IntN(n)
	}
	for i := range negative {
		negative[i] = rng.IntN(4) == 0
	}
	for i := 0; i < n; i++ {
		for j := 0; j < i; j++ {
			if rng.Float64() > density && i != hub && j != hub {
				continue
			}
			v := rng.NormFloat64()
			r, c := i, j
			if rng.IntN(2) == 0 {
				r, c = j, i
			}
			m.row, m.col, m.val = append(m.row, int32(r)), append(m.col, int32(c)), append(m.val, v)
			if negative[i] == negative[j] {
				sum[i] += math.Abs(v)
				sum[j] += math.Abs(v)
			}
		}
	}
	for i := 0; i < n; i++ {
		v := sum[i] + 0.1 + rng.Float64()
		if negative[i] {
			v = -v
		}
		m.row, m.col, m.val = append(m.row, int32(i)), append(m.col, int32(i)), append(m.val, v)
	}
	return m, negative
}

func (m *symmetric) dense() *mat.SymDense {
	a := mat.NewSymDense(m.n, nil)
	for t, v := range m.val {
		a.SetSym(int(m.row[t]), int(m.col[t]), v)
	}
	return a
}

// residual sets r to b - M x.
func (m *symmetric) residual(b []float64) func(r, x []float64) {
	return func(r, x []float64) {
		copy(r, b)
		for t, v := range m.val {
			i, j := m.row[t], m.col[t]
			r[i] -= v * x[j]
			if i != j {
				r[j] -= v * x[i]
			}
		}
	}
}

// TestSolve compares solves with dense ones, and refactors with other values.
func TestSolve(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 400 {
		m, negative := quasidefinite(rng)
		f := NewLDL(analyze(m.n, m.row, m.col), func(i int) bool { return negative[i] })
		for range 2 {
			if !f.Factor(m.val, 0) || f.Raised != 0 {
				t.Fatalf("n %d: %d pivots raised", m.n, f.Raised)
			}
			b := make([]float64, m.n)
			for i := range b {
				b[i] = rng.NormFloat64()
			}
			x := make([]float64, m.n)
			f.Solve(x, b)
			f.Refine(x, m.residual(b), 5, 0)
			var want mat.VecDense
			if err := want.SolveVec(m.dense(), mat.NewVecDense(m.n, b)); err != nil {
				t.Fatal(err)
			}
			for i := range x {
				// Dominance keeps the condition number below 1e4.
				if math.Abs(x[i]-want.AtVec(i)) > 1e-10*(1+math.Abs(want.AtVec(i))) {
					t.Fatalf("n %d: x[%d] = %v, want %v", m.n, i, x[i], want.AtVec(i))
				}
			}
			for k := range m.val {
				if m.row[k] == m.col[k] {
					m.val[k] *= 1 + rng.Float64()
				}
			}
		}
	}
}

// TestRefinement solves with a factorization of a matrix near by.
func TestRefinement(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for range 100 {
		m, negative := quasidefinite(rng)
		near := append([]float64(nil), m.val...)
		for k := range near {
			near[k] *= 1 + 1e-3*rng.Float64()
		}
		f := NewLDL(analyze(m.n, m.row, m.col), func(i int) bool { return negative[i] })
		f.Factor(near, 0)
		b, x := make([]float64, m.n), make([]float64, m.n)
		for i := range b {
			b[i] = rng.NormFloat64()
		}
		if left := f.Refine(x, m.residual(b), 50, 1e-14); left > 1e-11 {
			t.Fatalf("n %d: residual %g", m.n, left)
		}
	}
}

// TestNotFinite: a NaN is reported and leaves the factorization usable.
func TestNotFinite(t *testing.T) {
	m := &symmetric{2, []int32{0, 1, 1}, []int32{0, 0, 1}, []float64{2, 1, 2}}
	f := NewLDL(analyze(2, m.row, m.col), nil)
	if f.Factor([]float64{2, math.NaN(), 2}, 0) {
		t.Fatal("a NaN was factorized")
	}
	x := []float64{3, 3}
	if !f.Factor(m.val, 0) {
		t.Fatal("no factorization after a NaN")
	}
	if f.Solve(x, x); math.Abs(x[0]-1)+math.Abs(x[1]-1) > 1e-15 {
		t.Fatalf("x = %v", x)
	}
}

// TestOrder: the order is a permutation, and fills in about as little as it
// can where the least is known.
func TestOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range 300 {
		m, _ := quasidefinite(rng)
		s := analyze(m.n, m.row, m.col)
		seen := make([]bool, m.n)
		for _, i := range s.order {
			if seen[i] {
				t.Fatalf("%d comes twice", i)
			}
			seen[i] = true
		}
	}
	tree := func(n int, parent func(i int) int) (row, col []int32) {
		name := rng.Perm(n)
		for i := 0; i < n; i++ {
			row, col = append(row, int32(name[i])), append(col, int32(name[i]))
			if i > 0 {
				row, col = append(row, int32(name[i])), append(col, int32(name[parent(i)]))
			}
		}
		return row, col
	}
	for what, parent := range map[string]func(int) int{
		"path": func(i int) int { return i - 1 }, "star": func(int) int { return 0 }, "tree": func(i int) int { return rng.IntN(i) },
	} {
		row, col := tree(2000, parent)
		if s := analyze(2000, row, col); s.Entries() != 1999 {
			t.Errorf("%s: %d entries in L, a tree needs no fill", what, s.Entries())
		}
	}
	// A k x k grid fills O(k^2 log k) by nested dissection; natural order k^3.
	const k = 60
	var row, col []int32
	add := func(a, b int) { row, col = append(row, int32(a)), append(col, int32(b)) }
	for i := 0; i < k; i++ {
		for j := 0; j < k; j++ {
			add(i*k+j, i*k+j)
			if j > 0 {
				add(i*k+j, i*k+j-1)
			}
			if i > 0 {
				add(i*k+j, i*k+j-k)
			}
		}
	}
	if s := analyze(k*k, row, col); s.Entries() > 7*k*k*6 { // 31/4 k^2 log2 k is George's bound
		t.Errorf("grid: %d entries in L", s.Entries())
	}
}

// TestSemidefinite: of rows with known dependencies exactly the surplus is
// found, and it lies in the span of the others.
func TestSemidefinite(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	tried := 0
	for range 200 {
		k, n := 1+rng.IntN(12), 12
		rank := 1 + rng.IntN(k)
		basis := make([]float64, rank*n)
		for i := range basis {
			basis[i] = rng.NormFloat64()
		}
		rows := mat.NewDense(k, n, nil)
		for i := 0; i < k; i++ {
			for r := 0; r < rank; r++ {
				c := rng.NormFloat64()
				if i < rank {
					c = 0
					if i == r {
						c = 1
					}
				}
				for j := 0; j < n; j++ {
					rows.Set(i, j, rows.At(i, j)+c*basis[r*n+j])
				}
			}
		}
		fixed := rng.IntN(n)
		column := func(j int) bool { return rank < n-1 && j == fixed }
		all := make([]int, k)
		dense := mat.NewDense(k, n, nil)
		for i := range all {
			all[i] = i
			for j := 0; j < n; j++ {
				if !column(j) {
					dense.Set(i, j, rows.At(i, j)/mat.Norm(rows.RowView(i), 2))
				}
			}
		}
		var svd mat.SVD
		svd.Factorize(dense, mat.SVDNone)
		values := svd.Values(nil)
		want, smallest := 0, 1.0
		for _, v := range values {
			if v > 1e-9 {
				want++
				smallest = v
			}
		}
		if smallest < 1e-2 {
			continue // the squares of which come near the rounding of the Gram matrix
		}
		tried++
		found, least := Independent(sparse.FromDense(k, n, rows.RawMatrix().Data), all, column)
		if k-len(found) != want {
			t.Fatalf("%d of %d rows of rank %d are dependent: least %g, singular values %v", len(found), k, want, least, values)
		}
		if len(found) == 0 && (least < smallest*(1-1e-12) || least > 1) {
			t.Fatalf("least sine %g, least singular value %g", least, smallest)
		}
	}
	if tried < 100 {
		t.Errorf("only %d trials", tried)
	}
}

// TestColouring recovers random symmetric matrices from their products.
func TestColouring(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	recovered := func(m *sparse.CSR) int {
		c := Colour(m)
		got, at, step := make([]float64, m.NNZ()), make([]float64, m.Rows), make([]float64, m.Rows)
		for j := range step {
			step[j] = math.Ldexp(1, rng.IntN(5)) // divides exactly
		}
		for _, base := range [][]float64{nil, make([]float64, m.Rows)} { // central and one-sided
			clear(got)
			if !c.Differences(got, at, step, base, m.MulVec) {
				t.Fatal("not finite")
			}
			for k, v := range got {
				if v != m.Val[k] { // read alone: no other term was added
					t.Fatalf("entry %d is %v, want %v", k, v, m.Val[k])
				}
			}
		}
		at[0] = math.Inf(1)
		if c.Differences(got, at, step, nil, m.MulVec) {
			t.Fatal("differences at infinity are finite")
		}
		return c.Colours
	}
	build := func(n int, edges func(add func(i, j int))) *sparse.CSR {
		var entries []sparse.Entry
		for i := 0; i < n; i++ {
			entries = append(entries, sparse.Entry{Row: i, Col: i, Val: rng.NormFloat64()})
		}
		seen := map[[2]int]bool{}
		edges(func(i, j int) {
			if i != j && !seen[[2]int{i, j}] {
				v := rng.NormFloat64()
				seen[[2]int{i, j}], seen[[2]int{j, i}] = true, true
				entries = append(entries, sparse.Entry{Row: i, Col: j, Val: v}, sparse.Entry{Row: j, Col: i, Val: v})
			}
		})
		return sparse.FromEntries(n, n, entries)
	}
	for range 200 {
		n := 1 + rng.IntN(40)
		recovered(build(n, func(add func(i, j int)) {
			for range rng.IntN(3*n + 1) {
				add(rng.IntN(n), rng.IntN(n))
			}
		}))
	}
	const n = 500
	for what, c := range map[string]struct {
		edges func(add func(i, j int))
		most  int
	}{
		"diagonal": {func(func(i, j int)) {}, 1},
		"tridiagonal": {func(add func(i, j int)) {
			for i := 1; i < n; i++ {
				add(i-1, i)
			}
		}, 3},
		"arrow": {func(add func(i, j int)) {
			for i := 0; i < n-1; i++ {
				add(i, n-1)
			}
		}, 2},
		"pentadiagonal": {func(add func(i, j int)) {
			for i := 2; i < n; i++ {
				add(i-1, i)
				add(i-2, i)
			}
		}, 5},
		"blocks of 5": {func(add func(i, j int)) {
			for i := range n {
				for j := i / 5 * 5; j < i; j++ {
					add(i, j)
				}
			}
		}, 5},
	} {
		if used := recovered(build(n, c.edges)); used > c.most {
			t.Errorf("%s: %d colours, %d would do", what, used, c.most)
		}
	}
}
