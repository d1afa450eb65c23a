package curvature

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"testing"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/ir"
)

// TestIndependence: random sparse rows of small integers, chains among them,
// with bounds on some columns. The rank and every combination that is named
// are held against exact elimination.
func TestIndependence(t *testing.T) {
	r := rand.New(rand.NewPCG(51, *seed))
	dependent, peeled := 0, 0
	for range 3000 {
		m, n := 1+r.IntN(9), 1+r.IntN(9)
		var entries []sparse.Entry
		for i := range m {
			if r.IntN(3) == 0 && i+1 < n { // a step of a chain
				entries = append(entries, sparse.Entry{Row: i, Col: i, Val: -1}, sparse.Entry{Row: i, Col: i + 1, Val: 2})
				continue
			}
			for j := range n {
				if r.IntN(3) == 0 {
					entries = append(entries, sparse.Entry{Row: i, Col: j, Val: float64(r.IntN(5) - 2)})
				}
			}
		}
		bounds := 0
		standing, list := make([]int, n), each.Number(m)
		for j := range standing {
			if standing[j] = -1; r.IntN(4) == 0 {
				standing[j] = m + bounds
				entries = append(entries, sparse.Entry{Row: m + bounds, Col: j, Val: float64(1 + r.IntN(3))})
				bounds++
			}
		}
		b := sparse.FromEntries(m+bounds, n, entries)
		rs := newRows(b, standing, &budget{left: 1e9})
		seen := 0
		if !rs.examine(list, func(i int, coefs func() map[int]float64) bool {
			seen++
			left := make([]float64, n)
			b.AddRow(left, i, 1)
			for row, c := range coefs() {
				if row == i {
					t.Fatal("a row is said to be made of itself")
				}
				b.AddRow(left, row, -c)
			}
			for _, v := range left {
				if math.Abs(v) > 1e-8 {
					t.Fatalf("row %d less its combination is %v\n%v", i, left, b.Dense())
				}
			}
			return true
		}) {
			t.Fatal("out of work")
		}
		if want := exactRank(b.Dense(), m+bounds, n); rs.rank+bounds != want || seen != m-rs.rank {
			t.Fatalf("rank %d, want %d; %d dependent rows of %d\n%v", rs.rank+bounds, want, seen, m, b.Dense())
		}
		dependent += seen
		peeled += m - len(newRows(b, standing, nil).peel(list))
	}
	if dependent < 500 || peeled < 500 {
		t.Errorf("%d dependent rows, %d taken out: this test sees nothing", dependent, peeled)
	}
}

// Rows that depend on those before them take no memory each: a maximum of 65,536 terms took 4 GB.
func TestDependentRowsTakeNoMemory(t *testing.T) {
	const m, n = 1000, 2000
	var entries []sparse.Entry
	for i := range m {
		for j := range n {
			entries = append(entries, sparse.Entry{Row: i, Col: j, Val: float64((i%2 + 1) * (1 + j%7))})
		}
	}
	b := sparse.FromEntries(m, n, entries)
	list := each.Number(m)
	rs := newRows(b, nil, &budget{left: 1e9})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	dependent := 0
	rs.examine(list, func(int, func() map[int]float64) bool { dependent++; return true })
	runtime.ReadMemStats(&after)
	if rs.rank != 1 || dependent != m-1 {
		t.Fatalf("rank %d, and %d rows depend on others", rs.rank, dependent)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 50*8*n {
		t.Errorf("%d bytes", got)
	}
}

// exactRank eliminates in rational arithmetic.
func exactRank(a []float64, rows, cols int) int {
	m := make([][]*big.Rat, rows)
	for i := range m {
		for j := range cols {
			m[i] = append(m[i], new(big.Rat).SetFloat64(a[i*cols+j]))
		}
	}
	rank := 0
	for c := 0; c < cols && rank < rows; c++ {
		for i := rank; i < rows; i++ {
			if m[i][c].Sign() != 0 {
				m[rank], m[i] = m[i], m[rank]
				for k := rank + 1; k < rows; k++ {
					f := new(big.Rat).Quo(m[k][c], m[rank][c])
					for j := c; j < cols; j++ {
						m[k][j].Sub(m[k][j], new(big.Rat).Mul(f, m[rank][j]))
					}
				}
				rank++
				break
			}
		}
	}
	return rank
}

// TestManyParallelRows: thousands of rows of one direction, with and without
// opposite ones, and long chains are examined in linear time: the work that is
// allowed is what a few hundred rows would take pair by pair.
func TestManyParallelRows(t *testing.T) {
	const m = 20000
	problem := func(rows []ir.Row, b []sparse.Entry, cols int) *prover {
		p := &ir.Problem{Rows: rows, B: sparse.FromEntries(len(rows), cols, b), A: sparse.FromEntries(len(rows), 1, nil)}
		p.Rhs = each.Below(len(rows), func(i int) float64 { return float64(i + 1) })
		p.Lower.Dim, p.Upper.Dim = cols, 1
		return &prover{Problem: p, opts: Options{MaxWork: 1e7}}
	}
	var rows []ir.Row
	var b []sparse.Entry
	for i := range m {
		rows = append(rows, ir.Row{Name: fmt.Sprint("r", i)})
		sign := float64(1 + i%3)
		if i%2 == 1 {
			sign = -sign
		}
		b = append(b, sparse.Entry{Row: i, Col: 0, Val: sign}, sparse.Entry{Row: i, Col: 1, Val: 2 * sign})
	}
	if q := problem(rows, b, 3).qualify(); q.Rank != 1 || q.Standing != activeOnly {
		t.Errorf("parallel rows: %+v", q)
	}
	rows, b = nil, nil
	for i := range m {
		rows = append(rows, ir.Row{Name: fmt.Sprint("step", i), Equal: true})
		b = append(b, sparse.Entry{Row: i, Col: i, Val: -0.9}, sparse.Entry{Row: i, Col: i + 1, Val: 1})
	}
	if q := problem(rows, b, m+1).qualify(); q.Rank != m || q.Standing != allRows {
		t.Errorf("a chain: %+v", q)
	}
	// Opposite rows with a gap are never active together.
	rows, b = nil, nil
	for i := range m {
		rows = append(rows, ir.Row{Name: fmt.Sprint("b", i)})
		b = append(b, sparse.Entry{Row: i, Col: i / 2, Val: float64(1 - 2*(i%2))}, sparse.Entry{Row: i, Col: i/2 + 1, Val: float64(1-2*(i%2)) / 2})
	}
	if q := problem(rows, b, m/2+1).qualify(); q.Rank != m/2 || q.Standing != everyActive {
		t.Errorf("opposite rows: rank %d, %s", q.Rank, q.Standing)
	}
}
