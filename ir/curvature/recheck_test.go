package curvature

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/ir/expr"
)

// spectral is a random symmetric matrix with the given eigenvalues.
func spectral(r *rand.Rand, values []float64) []float64 {
	n := len(values)
	draw := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			draw.Set(i, j, r.NormFloat64())
		}
	}
	var qr mat.QR
	qr.Factorize(draw)
	var q, scaled, a mat.Dense
	qr.QTo(&q)
	scaled.Mul(&q, mat.NewDiagDense(n, values))
	a.Mul(&scaled, q.T())
	out := make([]float64, n*n)
	for i := range n {
		for j := range n {
			out[i*n+j] = (a.At(i, j) + a.At(j, i)) / 2
		}
	}
	return out
}

// TestRecheck: bounds that are found the cheap way are below the eigenvalue, whatever
// is said of an earlier matrix, and lose half of it at most; where a matrix has changed
// little, or its numbers are others of the same kind, they are found, by one
// factorization where the spectrum's end is not dense.
func TestRecheck(t *testing.T) {
	r := rand.New(rand.NewPCG(91, *seed))
	spectra := map[string]func(k, n int) float64{
		"even":    func(k, n int) float64 { return 1 + float64(k)/float64(n) },
		"wide":    func(k, n int) float64 { return math.Pow(10, 6*float64(k)/float64(n)-3) },
		"one low": func(k, n int) float64 { return map[bool]float64{true: 0.01, false: 1 + float64(k)}[k == 0] },
		"dense":   func(k, n int) float64 { return 1 + 4*float64(k*k)/float64(n) },
		"minus":   func(k, n int) float64 { return float64(k) - 2.5 },
		"below 0": func(k, n int) float64 { return -1 - float64(k)*float64(k) },
	}
	for name, spectrum := range spectra {
		found, once := 0, 0
		const rounds = 24
		for round := range rounds {
			n := smallOrder + 1 + r.IntN(60)
			values := each.Below(n, func(k int) float64 { return spectrum(k, n) * (1 + 0.1*r.Float64()) })
			a := spectral(r, values)
			cols := expr.Sequence(0, n)
			before := leastEigenvalue(a, n, &budget{left: 1e12}, 0)
			before.cols = cols
			switch round % 4 {
			case 0: // a little of everything
				for i := range n {
					for j := range i + 1 {
						d := 1e-3 * r.NormFloat64() * before.estimate / math.Sqrt(float64(n))
						a[i*n+j] += d
						if i != j {
							a[j*n+i] += d
						}
					}
				}
			case 1: // others of the same kind
				a = spectral(r, values)
			case 2: // what was known is of no use
				a = spectral(r, values)
				for i := range a {
					a[i] *= 1e3
				}
			case 3:
				before = extreme{}
			}
			var eig mat.EigenSym
			if !eig.Factorize(mat.NewSymDense(n, a), false) {
				t.Fatal("no eigenvalues")
			}
			truth := eig.Values(nil)
			rounding := 1e-12 * math.Max(math.Abs(truth[0]), math.Abs(truth[n-1]))
			work := &budget{left: 1e12}
			e, ok := recheck(append([]float64(nil), a...), n, effort{again: true, before: before}, cols, work)
			if !ok {
				continue
			}
			found++
			if e.bound > truth[0]+rounding || e.bound < truth[0]-math.Abs(truth[0])/2-rounding {
				t.Fatalf("%s, round %d, order %d: %v, and it is %v", name, round, n, e.bound, truth[0])
			}
			cube := float64(n) * float64(n) * float64(n)
			if 1e12-work.left <= cube/3+2*recheckSteps*float64(n)*float64(n+2*recheckSteps)+1 {
				once++
			}
		}
		t.Logf("%s: %d of %d found, %d by one factorization", name, found, rounds, once)
		if name != "wide" && name != "dense" && (found < rounds*3/4 || once < rounds/2) || found < rounds/4 {
			t.Errorf("%s: %d of %d found, %d by one factorization", name, found, rounds, once)
		}
	}
}

// TestIndependentRows: rows are said to be independent by a factorization only where
// they are, with room: each as far from the others as the least singular value of the
// rows scaled to length 1.
func TestIndependentRows(t *testing.T) {
	r := rand.New(rand.NewPCG(92, *seed))
	yes, no := 0, 0
	for range 40 {
		m, n := smallOrder+1+r.IntN(30), smallOrder+31+r.IntN(40)
		b := mat.NewDense(m, n, nil)
		for i := range m {
			size := math.Pow(10, float64(r.IntN(9)-4)) // units
			for j := range n {
				b.Set(i, j, size*r.NormFloat64())
			}
		}
		// One row is a combination of others and a rest of any size.
		rest := math.Pow(10, -14*r.Float64())
		for j := range n {
			b.Set(m-1, j, b.At(0, j)/b.At(0, 0)+b.At(1, j)/b.At(1, 0)+rest*r.NormFloat64())
		}
		var entries []sparse.Entry
		for i := range m {
			for j := range n {
				entries = append(entries, sparse.Entry{Row: i, Col: j, Val: b.At(i, j)})
			}
			row := b.RawRowView(i)
			size := math.Sqrt(floats.Dot(row, row))
			for j := range row {
				row[j] /= size
			}
		}
		var svd mat.SVD
		if !svd.Factorize(b, mat.SVDNone) {
			t.Fatal("no singular values")
		}
		least := svd.Values(nil)[m-1]
		rows := newRows(sparse.FromEntries(m, n, entries), nil, &budget{left: 1e12})
		if rows.independent(expr.Sequence(0, m)) {
			if yes++; least < pivotTolerance {
				t.Errorf("least singular value %v, and the rows are said to be independent", least)
			}
		} else if no++; least > 4*pivotTolerance {
			t.Errorf("least singular value %v, and it is not seen", least)
		}
	}
	if yes < 5 || no < 5 {
		t.Errorf("%d independent, %d not: this test sees nothing", yes, no)
	}
}
