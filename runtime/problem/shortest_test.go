package problem

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/sparse"
)

// Multipliers of rows that do not depend on each other are told by their forces; of others what makes no force is left out, however long it is, and the forces stay.
func TestShortestMultipliers(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 7))
		n := 2 + rng.IntN(6)
		rows := 1 + rng.IntN(n)
		b := make([]float64, (rows+1)*n)
		for k := range rows * n {
			b[k] = rng.NormFloat64()
		}
		combination, lambda := make([]float64, rows), make([]float64, rows+1) // the last row is one of the others
		for i := range rows {
			combination[i], lambda[i] = rng.NormFloat64(), rng.NormFloat64()
			for j := range n {
				b[rows*n+j] += combination[i] * b[i*n+j]
			}
		}
		r := &Rows{B: sparse.FromDense(rows+1, n, b)}
		for i, got := range r.Shortest(lambda) {
			if math.Abs(got-lambda[i]) > 1e-6 {
				t.Errorf("seed %d: multiplier %d is %g, and not %g", seed, i, got, lambda[i])
			}
		}
		long := math.Pow(10, 6*rng.Float64())
		open := append([]float64{}, lambda...)
		for i, c := range combination {
			open[i] += long * c
		}
		open[rows] = -long
		short, before, after, size := r.Shortest(open), make([]float64, n), make([]float64, n), 0.0
		r.B.AddMulVecT(before, 1, lambda)
		r.B.AddMulVecT(after, 1, short)
		most := 0.0
		for i, v := range short {
			_, vals := r.B.Row(i)
			length := 0.0
			for _, u := range vals {
				length = math.Hypot(length, u)
			}
			size, most = math.Hypot(size, v*length), math.Hypot(most, lambda[i]*length)
		}
		for j := range before { // to a part in 1e13 of what cancels in them
			if math.Abs(before[j]-after[j]) > 1e-6*math.Max(1, most) {
				t.Errorf("seed %d: force %d is %g, and not %g", seed, j, after[j], before[j])
			}
		}
		if size > most*(1+1e-6) {
			t.Errorf("seed %d: a length of %g, where %g does", seed, size, most)
		}
	}
}

// A step to rows that depend on each other leaves what they are off together, those that can hold to rounding, and is the shortest.
func TestMeet(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 8))
		n := 3 + rng.IntN(6)
		rows := 1 + rng.IntN(n-1)
		b, rhs := make([]float64, (rows+2)*n), make([]float64, rows+2)
		for k := range rows * n {
			b[k] = rng.NormFloat64()
		}
		for i := range rows {
			rhs[i] = rng.NormFloat64()
			c := rng.NormFloat64()
			for j := range n { // the last but one is a sum of the others
				b[rows*n+j] += c * b[i*n+j]
			}
			rhs[rows] += c * rhs[i]
		}
		for j := range n { // the last is left out
			b[(rows+1)*n+j] = rng.NormFloat64()
		}
		all := make([]int, rows+1)
		for i := range all {
			all[i] = i
		}
		r := &Rows{Kind: make([]Kind, rows+2), A: sparse.Empty(0), B: sparse.FromDense(rows+2, n, b), Rhs: rhs}
		for range rows + 2 {
			r.A.EndRow()
		}
		y, h := make([]float64, n), make([]float64, rows+2)
		for j := range y {
			y[j] = rng.NormFloat64()
		}
		met := r.Meet(nil, y, all)
		r.Residual(h, nil, met)
		for _, i := range all {
			if math.Abs(h[i]) > 1e-12 {
				t.Errorf("seed %d: row %d is off by %g", seed, i, h[i])
			}
		}
		// The shortest step is a sum of the rows: what is orthogonal to them is 0 in it.
		for range 5 {
			way := make([]float64, n)
			for j := range way {
				way[j] = rng.NormFloat64()
			}
			along := (&Rows{Kind: r.Kind, A: r.A, B: r.B, Rhs: make([]float64, rows+2)}).Meet(nil, way, all) // its part in the null space
			off, size := 0.0, 0.0
			for j := range y {
				off += along[j] * (met[j] - y[j])
				size += math.Abs(along[j] * (met[j] - y[j]))
			}
			if math.Abs(off) > 1e-8*math.Max(1e-3, size) {
				t.Errorf("seed %d: the step has %g of %g along the rows", seed, off, size)
			}
		}
	}
}

// Entries that rounding leaves beyond bounds come to these, whatever units the bounds are in; what is within stays, as it does beside rows that read x or several entries.
func TestWithinBounds(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 9))
		n := 2 + rng.IntN(5)
		r := &Rows{A: sparse.Empty(1), B: sparse.Empty(n)}
		add := func(ofX float64, cols []int, coefs []float64, rhs float64) {
			if ofX != 0 {
				r.A.Append(0, ofX)
			}
			r.A.EndRow()
			r.B.AppendAll(cols, coefs)
			r.B.EndRow()
			r.Kind, r.Rhs = append(r.Kind, AtMost), append(r.Rhs, rhs)
		}
		y, want := make([]float64, n), make([]float64, n)
		for j := range n {
			unit, lo := 0.1+rng.Float64(), rng.NormFloat64()
			hi := lo + rng.Float64()
			y[j] = lo - 0.5 + 2*rng.Float64()
			if want[j] = y[j]; rng.IntN(4) == 0 {
				add(1, []int{j}, []float64{unit}, -lo*unit) // an end that moves with x
				continue
			}
			add(0, []int{j}, []float64{unit}, -lo*unit)
			add(0, []int{j}, []float64{-unit}, hi*unit)
			want[j] = math.Min(math.Max(y[j], lo), hi)
		}
		add(0, []int{0, 1}, []float64{1, 1}, -100)
		r.A.Rows, r.B.Rows = len(r.Kind), len(r.Kind)
		r.Within(y)
		for j, v := range want {
			if math.Abs(y[j]-v) > 1e-14*(1+math.Abs(v)) {
				t.Errorf("seed %d: entry %d comes to %g, not %g", seed, j, y[j], v)
			}
		}
	}
}
