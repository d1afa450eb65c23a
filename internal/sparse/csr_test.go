package sparse

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
)

// random is an m x n matrix of about a third nonzeros.
func random(rng *rand.Rand, m, n int) (*CSR, []float64) {
	d := make([]float64, m*n)
	for k := range d {
		if rng.IntN(3) == 0 {
			d[k] = rng.NormFloat64()
		}
	}
	return FromDense(m, n, d), d
}

// valid checks the invariants of CSR.
func valid(t *testing.T, m *CSR) {
	t.Helper()
	if len(m.Ptr) != m.Rows+1 || m.Ptr[0] != 0 || m.Ptr[m.Rows] != len(m.Col) || len(m.Col) != len(m.Val) {
		t.Fatalf("%d x %d: pointers %v for %d entries", m.Rows, m.Cols, m.Ptr, len(m.Col))
	}
	for i := range m.Rows {
		cols, _ := m.Row(i)
		for k, j := range cols {
			if j < 0 || j >= m.Cols || k > 0 && cols[k-1] >= j {
				t.Fatalf("row %d has columns %v", i, cols)
			}
		}
	}
}

// equal compares with a dense matrix up to the rounding of a few additions.
func equal(t *testing.T, what string, m *CSR, want []float64) {
	t.Helper()
	valid(t, m)
	for k, v := range m.Dense() {
		if math.Abs(v-want[k]) > 1e-14 {
			t.Fatalf("%s: entry (%d, %d) is %v, want %v", what, k/m.Cols, k%m.Cols, v, want[k])
		}
	}
}

// TestAlgebra compares every operation with its definition on dense arrays.
func TestAlgebra(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		m, k, n := 1+rng.IntN(6), 1+rng.IntN(6), 1+rng.IntN(6)
		a, da := random(rng, m, k)
		b, db := random(rng, k, n)
		c, dc := random(rng, m, k)
		equal(t, "FromDense", a, da)

		product, sum, turned := make([]float64, m*n), make([]float64, m*k), make([]float64, m*k)
		for i := range m {
			for l := range k {
				sum[i*k+l] = 2*da[i*k+l] - 0.5*dc[i*k+l]
				turned[l*m+i] = da[i*k+l]
				for j := range n {
					product[i*n+j] += da[i*k+l] * db[l*n+j]
				}
			}
		}
		equal(t, "Mul", Mul(a, b), product)
		equal(t, "Add", Add(2, a, -0.5, c), sum)
		equal(t, "T", a.T(), turned)

		var entries []Entry
		twice := make([]float64, m*k)
		for i := range m {
			for l := range k {
				if a.At(i, l) != da[i*k+l] {
					t.Fatalf("At(%d, %d) = %v", i, l, a.At(i, l))
				}
				for range 2 {
					entries = append(entries, Entry{i, l, da[i*k+l]})
				}
				twice[i*k+l] = 2 * da[i*k+l]
			}
		}
		rng.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
		equal(t, "FromEntries", FromEntries(m, k, entries), twice)

		x, z := make([]float64, k), make([]float64, m)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		a.MulVec(z, x)
		back := make([]float64, k)
		a.AddMulVecT(back, 3, z)
		for i := range m {
			want := 0.0
			for l := range k {
				want += da[i*k+l] * x[l]
			}
			if math.Abs(z[i]-want) > 1e-14 || a.RowDot(i, x) != z[i] {
				t.Fatalf("MulVec: %v, want %v", z[i], want)
			}
		}
		for l := range k {
			want := 0.0
			for i := range m {
				want += 3 * da[i*k+l] * z[i]
			}
			if math.Abs(back[l]-want) > 1e-13 {
				t.Fatalf("AddMulVecT: %v, want %v", back[l], want)
			}
		}
	}
}

func TestEntryOutsidePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	FromEntries(2, 2, []Entry{{2, 0, 1}})
}

// TestContiguousRows: rows whose entries stand side by side take a way of their own.
func TestContiguousRows(t *testing.T) {
	const n = 40
	x := make([]float64, n)
	for j := range x {
		x[j] = math.Sin(float64(j + 1))
	}
	for length := range n - 2 {
		for _, gap := range []bool{false, true} {
			m, want := &CSR{Rows: 1, Cols: n, Ptr: []int{0, length}}, 0.0
			added := append([]float64(nil), x...)
			for k := range length {
				j := k + 1
				if gap && k == length-1 {
					j++
				}
				v := math.Cos(float64(k))
				m.Col, m.Val = append(m.Col, j), append(m.Val, v)
				want += v * x[j]
				added[j] -= 2 * v
			}
			if got := m.RowDot(0, x); math.Abs(got-want) > 1e-14 {
				t.Errorf("%d entries, gap %v: %v, want %v", length, gap, got, want)
			}
			got := append([]float64(nil), x...)
			m.AddRow(got, 0, -2)
			for j := range got {
				if got[j] != added[j] {
					t.Errorf("%d entries, gap %v: entry %d of the sum is %v, want %v", length, gap, j, got[j], added[j])
				}
			}
		}
	}
}

// TestRowTerms: of rows with entries side by side and apart.
func TestRowTerms(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		n := 1 + rng.IntN(40)
		m := Empty(n)
		x, want := make([]float64, n), 0.0
		gaps := rng.IntN(2) == 0
		for j := range n {
			x[j] = rng.NormFloat64()
			if !gaps || rng.IntN(2) == 0 {
				v := rng.NormFloat64()
				m.Append(j, v)
				want += math.Abs(v * x[j])
			}
		}
		m.EndRow()
		if got := m.RowTerms(0, x); math.Abs(got-want) > 1e-14*want {
			t.Fatalf("%v, not %v", got, want)
		}
	}
}

// Entries that are in order, as loops give them, are not copied to be arranged.
func TestEntriesInOrder(t *testing.T) {
	const rows, cols = 300, 400
	var entries []Entry
	for i := range rows {
		for j := range cols {
			entries = append(entries, Entry{i, j, 1})
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m := FromEntries(rows, cols, entries)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; m.NNZ() != len(entries) || got > uint64(20*len(entries)) {
		t.Errorf("%d bytes for %d entries of 16", got, m.NNZ())
	}
}
