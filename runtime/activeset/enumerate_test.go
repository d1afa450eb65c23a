package activeset_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/runtime/activeset"
)

// enumerate is the least value over the KKT points of all working sets, each
// with every choice of sides, by elimination with complete pivoting; +Inf
// where no such point is feasible. Where the program is bounded and has a
// vertex it is the optimum.
func enumerate(p *activeset.Program) float64 {
	n, m := p.N, len(p.RowLo)
	best := inf
	state := make([]int, n+m) // 0 inactive, 1 at the lower side, 2 at the upper
	side := func(k, s int) float64 {
		lo, hi := p.Lo, p.Hi
		if k >= n {
			lo, hi, k = p.RowLo, p.RowHi, k-n
		}
		if s == 1 {
			return lo[k]
		}
		return hi[k]
	}
	row := func(k int) []float64 {
		v := make([]float64, n)
		if k < n {
			v[k] = 1
			return v
		}
		cols, vals := p.A.Row(k - n)
		for t, j := range cols {
			v[j] = vals[t]
		}
		return v
	}
	evaluate := func() {
		var active []int
		for k, s := range state {
			if s > 0 {
				if math.IsInf(side(k, s), 0) {
					return
				}
				active = append(active, k)
			}
		}
		if len(active) > n {
			return
		}
		size := n + len(active)
		kkt := make([][]float64, size)
		for i := range kkt {
			kkt[i] = make([]float64, size+1)
		}
		for i := range n {
			kkt[i][size] = -p.C[i]
			if p.Q != nil {
				for j := range n {
					kkt[i][j] = p.Q.At(i, j)
				}
			}
		}
		for t, k := range active {
			for j, v := range row(k) {
				kkt[n+t][j], kkt[j][n+t] = v, v
			}
			kkt[n+t][size] = side(k, state[k])
		}
		x, ok := eliminate(kkt)
		if !ok {
			return
		}
		value := 0.0
		for j := range n {
			value += p.C[j] * x[j]
			if p.Q != nil {
				value += x[j] * p.Q.RowDot(j, x[:n]) / 2
			}
		}
		for k := range n + m {
			v := 0.0
			for j, a := range row(k) {
				v += a * x[j]
			}
			if v < side(k, 1)-1e-9 || v > side(k, 2)+1e-9 {
				return
			}
		}
		best = min(best, value)
	}
	var walk func(k int)
	walk = func(k int) {
		if k == n+m {
			evaluate()
			return
		}
		for s := range 3 {
			state[k] = s
			walk(k + 1)
		}
	}
	walk(0)
	return best
}

// eliminate solves the equations of the augmented matrix; false where it is singular.
func eliminate(a [][]float64) ([]float64, bool) {
	n := len(a)
	column := make([]int, n)
	for j := range column {
		column[j] = j
	}
	for k := range n {
		pi, pj, most := k, k, 1e-9
		for i := k; i < n; i++ {
			for j := k; j < n; j++ {
				if v := math.Abs(a[i][j]); v > most {
					pi, pj, most = i, j, v
				}
			}
		}
		if most == 1e-9 {
			return nil, false
		}
		a[k], a[pi] = a[pi], a[k]
		for _, r := range a {
			r[k], r[pj] = r[pj], r[k]
		}
		column[k], column[pj] = column[pj], column[k]
		for i := k + 1; i < n; i++ {
			f := a[i][k] / a[k][k]
			for j := k; j <= n; j++ {
				a[i][j] -= f * a[k][j]
			}
		}
	}
	x := make([]float64, n)
	for k := n - 1; k >= 0; k-- {
		v := a[k][n]
		for j := k + 1; j < n; j++ {
			v -= a[k][j] * x[column[j]]
		}
		x[column[k]] = v / a[k][k]
	}
	return x, true
}

func TestAgainstAllWorkingSets(t *testing.T) {
	optimal, empty := 0, 0
	for seed := range uint64(300 * *times) {
		r := rand.New(rand.NewPCG(seed, 6))
		k := kinds(r)
		k.n, k.m, k.boxed, k.scaled, k.near = 1+r.IntN(4), r.IntN(4), true, false, 0
		if k.rank > 0 {
			k.rank = 1 + r.IntN(k.n)
		}
		p := random(r, k)
		for range r.IntN(3) {
			spoil(r, &p.Bounds)
		}
		s, err := activeset.New(p)
		if err != nil {
			t.Fatal(err)
		}
		got := s.Solve(context.Background(), nil, nil, activeset.Options{})
		switch want := enumerate(p); {
		case math.IsInf(want, 1):
			empty++
			if got.Status != activeset.Infeasible {
				t.Errorf("seed %d, %+v: %v, and no working set has a feasible point", seed, k, got.Status)
			}
		default:
			optimal++
			if got.Status != activeset.Optimal || math.Abs(got.Value-want) > 1e-8*(1+math.Abs(want)) {
				t.Errorf("seed %d, %+v: %v %.12g, by enumeration %.12g", seed, k, got.Status, got.Value, want)
			}
		}
	}
	if optimal < 100 || empty < 20 {
		t.Errorf("%d optimal, %d empty", optimal, empty)
	}
}
