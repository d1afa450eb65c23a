package activeset_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
)

var inf = math.Inf(1)

// kind says what random programs are like.
type kind struct {
	n, m      int
	rank      int  // of Q; -1: positive definite on half of the variables only, diagonal
	integers  bool // small integers with ties everywhere
	dependent bool // rows are repeated, or sums of others
	free      bool // many free variables and equations
	boxed     bool // no unbounded variables
	tight     bool // a vertex where most sides meet
	near      int  // rows that others span but for 10^-near; 0 for none
	scaled    bool // rows and variables in units that differ by up to 1e6
	density   float64
}

// random is a program of the kind. Its bounds admit the point that is returned,
// unless they are spoiled.
func random(r *rand.Rand, k kind) *activeset.Program {
	num := func() float64 {
		if k.integers {
			return float64(r.IntN(7) - 3)
		}
		return r.NormFloat64()
	}
	p := &activeset.Program{N: k.n, C: make([]float64, k.n)}
	a := make([]float64, k.m*k.n)
	for i := range a {
		if r.Float64() < k.density {
			a[i] = num()
		}
	}
	if k.dependent && k.m > 2 {
		for range 1 + k.m/4 {
			i, j, l := r.IntN(k.m), r.IntN(k.m), r.IntN(k.m)
			f, g := float64(r.IntN(3)-1), float64(r.IntN(3)-1)
			for c := 0; c < k.n; c++ {
				a[i*k.n+c] = f*a[j*k.n+c] + g*a[l*k.n+c]
			}
		}
	}
	if k.near > 0 && k.m > 2 {
		for range 1 + k.m/6 {
			i, j, l := r.IntN(k.m), r.IntN(k.m), r.IntN(k.m)
			by := math.Pow(10, -float64(k.near))
			for c := 0; c < k.n; c++ {
				a[i*k.n+c] = a[j*k.n+c] - a[l*k.n+c] + by*r.NormFloat64()
			}
		}
	}
	column := make([]float64, k.n)
	for j := range column {
		if column[j] = 1; k.scaled {
			column[j] = math.Pow(10, float64(r.IntN(7)-3))
		}
	}
	for i := range k.m {
		by := 1.0
		if k.scaled {
			by = math.Pow(10, float64(r.IntN(7)-3))
		}
		for j := range k.n {
			a[i*k.n+j] *= by / column[j]
		}
	}
	p.A = sparse.FromDense(k.m, k.n, a)
	z := make([]float64, k.n)
	for j := range z {
		p.C[j] = num()
		z[j] = math.Round(3 * num())
		if !k.integers {
			z[j] = 3 * num()
		}
		z[j] *= column[j]
		p.C[j] /= column[j]
		lo, hi := -inf, inf
		switch c := r.IntN(6); {
		case k.free && r.IntN(2) == 0 && !k.boxed:
		case k.tight && r.IntN(4) > 0:
			lo, hi = z[j], z[j]+float64(r.IntN(3))
		case c == 0:
			lo, hi = z[j], z[j]
		case c == 1 && !k.boxed:
			lo = z[j] - math.Abs(num())
		case c == 2 && !k.boxed:
			hi = z[j]
		default:
			lo, hi = z[j]-math.Abs(math.Round(3*num())), z[j]+math.Abs(num())
		}
		p.Lo, p.Hi = append(p.Lo, lo), append(p.Hi, hi)
	}
	v := make([]float64, k.m)
	p.A.MulVec(v, z)
	for i := range v {
		lo, hi := -inf, inf
		switch c := r.IntN(8); {
		case k.tight && c < 3:
			lo = v[i]
		case k.tight && c < 6:
			hi = v[i]
		case c == 0, k.free && c < 4:
			lo, hi = v[i], v[i]
		case c < 5:
			lo = v[i] - math.Abs(num())*float64(r.IntN(2))
		case c < 7:
			hi = v[i] + math.Abs(num())*float64(r.IntN(2))
		default:
			lo, hi = v[i]-math.Abs(num()), v[i]+math.Abs(num())
		}
		p.RowLo, p.RowHi = append(p.RowLo, lo), append(p.RowHi, hi)
	}
	switch {
	case k.rank < 0:
		d := make([]float64, k.n)
		for j := 0; j < k.n; j += 2 {
			d[j] = (1 + math.Abs(num())) / column[j] / column[j]
		}
		p.Q = sparse.Diagonal(d)
	case k.rank > 0:
		f := make([]float64, k.rank*k.n)
		for i := range f {
			f[i] = num() / column[i%k.n]
		}
		q := make([]float64, k.n*k.n)
		for i := 0; i < k.n; i++ {
			for j := 0; j < k.n; j++ {
				for l := 0; l < k.rank; l++ {
					q[i*k.n+j] += f[l*k.n+i] * f[l*k.n+j]
				}
			}
		}
		p.Q = sparse.FromDense(k.n, k.n, q)
	}
	return p
}

// spoil changes a side of a row or variable by a random amount, which often
// makes the program infeasible, sometimes by a little, sometimes since the two sides cross.
func spoil(r *rand.Rand, b *activeset.Bounds) {
	lo, hi := b.Lo, b.Hi
	if len(b.RowLo) > 0 && r.IntN(2) == 0 {
		lo, hi = b.RowLo, b.RowHi
	}
	k := r.IntN(len(lo))
	by := math.Pow(10, float64(1-r.IntN(6)))
	switch {
	case !math.IsInf(lo[k], 0):
		lo[k] += by
		if r.IntN(3) > 0 {
			hi[k] = max(hi[k], lo[k])
		}
	case !math.IsInf(hi[k], 0):
		hi[k] -= by
	}
}

func cloneBounds(b *activeset.Bounds) *activeset.Bounds {
	c := func(v []float64) []float64 { return append([]float64(nil), v...) }
	return &activeset.Bounds{RowLo: c(b.RowLo), RowHi: c(b.RowHi), Lo: c(b.Lo), Hi: c(b.Hi)}
}

// verify checks what a solution claims, on the program's data alone.
func verify(p *activeset.Program, b *activeset.Bounds, s *activeset.Solution) error {
	const tol = 1e-9
	const equations = 1e-12 // of the terms; the solver promises 1e-13
	m := len(b.RowLo)
	term := func(a *sparse.CSR, i int, z []float64) (sum, terms float64) {
		cols, vals := a.Row(i)
		for k, j := range cols {
			sum += vals[k] * z[j]
			terms += math.Abs(vals[k] * z[j])
		}
		return sum, terms
	}
	switch s.Status {
	case activeset.Optimal:
		value, vt := 0.0, 1.0
		g, gt := make([]float64, p.N), make([]float64, p.N)
		for j := range g {
			value += p.C[j] * s.Z[j]
			vt += math.Abs(p.C[j] * s.Z[j])
			g[j], gt[j] = p.C[j]-s.Bound[j], math.Abs(p.C[j])+math.Abs(s.Bound[j])
			if p.Q != nil {
				sum, terms := term(p.Q, j, s.Z)
				value += sum * s.Z[j] / 2
				vt += terms * math.Abs(s.Z[j]) / 2
				g[j] += sum
				gt[j] += terms
			}
		}
		for i := 0; i < m; i++ {
			cols, vals := p.A.Row(i)
			for k, j := range cols {
				g[j] -= vals[k] * s.Row[i]
				gt[j] += math.Abs(vals[k] * s.Row[i])
			}
		}
		for j := range g {
			if math.Abs(g[j]) > equations*max(gt[j], 1) {
				return fmt.Errorf("stationarity of %d: %g of %g", j, g[j], gt[j])
			}
			if err := sided(b.Lo[j], b.Hi[j], s.Z[j], math.Abs(s.Z[j]), s.Bound[j], gt[j], tol); err != nil {
				return fmt.Errorf("variable %d: %w", j, err)
			}
		}
		for i := 0; i < m; i++ {
			v, terms := term(p.A, i, s.Z)
			if err := sided(b.RowLo[i], b.RowHi[i], v, terms, s.Row[i], math.Abs(s.Row[i]), tol); err != nil {
				return fmt.Errorf("row %d: %w", i, err)
			}
		}
		if math.Abs(value-s.Value) > 1e-13*vt {
			return fmt.Errorf("value %g is given as %g", value, s.Value)
		}
	case activeset.Infeasible:
		if s.FarkasBound == nil {
			for k := range b.Lo {
				if b.Lo[k] > b.Hi[k] {
					return nil
				}
			}
			for k := range b.RowLo {
				if b.RowLo[k] > b.RowHi[k] {
					return nil
				}
			}
			return fmt.Errorf("infeasible without weights")
		}
		g, gt := append([]float64(nil), s.FarkasBound...), make([]float64, p.N)
		sum := 0.0
		side := func(w, lo, hi float64) {
			if w > 0 {
				sum += w * lo
			} else if w < 0 {
				sum += w * hi
			}
		}
		for j := range g {
			gt[j] = math.Abs(g[j])
			side(g[j], b.Lo[j], b.Hi[j])
		}
		for i := 0; i < m; i++ {
			side(s.FarkasRow[i], b.RowLo[i], b.RowHi[i])
			cols, vals := p.A.Row(i)
			for k, j := range cols {
				g[j] += vals[k] * s.FarkasRow[i]
				gt[j] += math.Abs(vals[k] * s.FarkasRow[i])
			}
		}
		for j := range g {
			if math.Abs(g[j]) > 1e-9*gt[j] {
				return fmt.Errorf("weights on %d: %g of %g", j, g[j], gt[j])
			}
		}
		if !(sum > 0) {
			return fmt.Errorf("the sum of the weights is %g", sum)
		}
	case activeset.Unbounded:
		slope := 0.0
		for j, d := range s.Ray {
			slope += p.C[j] * d
			if d > 0 && b.Hi[j] < inf || d < 0 && b.Lo[j] > -inf {
				return fmt.Errorf("ray against a side of variable %d", j)
			}
			if err := sided(b.Lo[j], b.Hi[j], s.Z[j], math.Abs(s.Z[j]), 0, 0, tol); err != nil {
				return fmt.Errorf("variable %d: %w", j, err)
			}
			if p.Q != nil {
				if sum, terms := term(p.Q, j, s.Ray); math.Abs(sum) > 1e-8*max(terms, 1) {
					return fmt.Errorf("curvature along the ray: %g", sum)
				}
			}
		}
		if !(slope < 0) {
			return fmt.Errorf("the slope of the ray is %g", slope)
		}
		for i := 0; i < m; i++ {
			d, terms := term(p.A, i, s.Ray)
			if d > tol*terms && b.RowHi[i] < inf || d < -tol*terms && b.RowLo[i] > -inf {
				return fmt.Errorf("ray against a side of row %d", i)
			}
			v, terms := term(p.A, i, s.Z)
			if err := sided(b.RowLo[i], b.RowHi[i], v, terms, 0, 0, tol); err != nil {
				return fmt.Errorf("row %d: %w", i, err)
			}
		}
	default:
		return fmt.Errorf("it is %v after %d", s.Status, s.Iterations)
	}
	return nil
}

// sided checks a value against its sides and the sign of its multiplier.
func sided(lo, hi, v, terms, m, mterms, tol float64) error {
	t := tol * max(1, terms)
	switch {
	case v < lo-t || v > hi+t:
		return fmt.Errorf("%.17g is outside of [%.17g, %.17g]", v, lo, hi)
	case m > tol*max(1, mterms) && v > lo+t || m < -tol*max(1, mterms) && v < hi-t:
		return fmt.Errorf("multiplier %g at %g in [%g, %g]", m, v, lo, hi)
	}
	return nil
}

func kinds(r *rand.Rand) kind {
	k := kind{n: 1 + r.IntN(14), m: r.IntN(12), integers: r.IntN(3) > 0, dependent: r.IntN(2) == 0,
		free: r.IntN(3) == 0, boxed: r.IntN(3) == 0, density: 0.3 + 0.7*r.Float64(),
		tight: r.IntN(3) == 0, near: max(0, r.IntN(18)-12), scaled: r.IntN(6) == 0}
	switch r.IntN(4) {
	case 0:
		k.rank = -1
	case 1:
		k.rank = 1 + r.IntN(k.n)
	}
	if r.IntN(20) == 0 {
		k.n, k.m = 30+r.IntN(40), 10+r.IntN(40)
	}
	return k
}

func TestRandomPrograms(t *testing.T) {
	seen, near, failed, most := map[activeset.Status]int{}, 0, 0, 0.0
	for seed := range uint64(4000 * *times) {
		r := rand.New(rand.NewPCG(seed, 1))
		k := kinds(r)
		p := random(r, k)
		for range r.IntN(3) {
			spoil(r, &p.Bounds)
		}
		s, err := activeset.New(p)
		if err != nil {
			t.Fatal(err)
		}
		got := s.Solve(context.Background(), nil, nil, activeset.Options{})
		seen[got.Status]++
		if k.near > 0 {
			near++
		}
		most = max(most, float64(got.Iterations)/float64(k.n+k.m))
		if k.near > 2 && got.Status == activeset.Failed {
			failed++
			continue
		}
		if err := verify(p, &p.Bounds, got); err != nil {
			t.Errorf("seed %d, %+v: %v", seed, k, err)
		}
	}
	t.Logf("%v, %.1f (N+M) pivots at most", seen, most)
	// Where rows are that near, what is left of their differences may be
	// rounding: no answer then, but rarely, and never a wrong one.
	if failed*200 > near {
		t.Errorf("%d of %d programs with nearly dependent rows have no answer", failed, near)
	}
	for _, status := range []activeset.Status{activeset.Optimal, activeset.Infeasible, activeset.Unbounded} {
		if seen[status] < 100 {
			t.Errorf("only %d programs are %v", seen[status], status)
		}
	}
}
