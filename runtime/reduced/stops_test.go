package reduced

import (
	"math"
	"testing"

	"bilevelc/internal/members"
)

// A step ends at the first of what is in its way, however slowly it comes nearer: lengths to ends, multipliers and walls are those that their rates are made of, and rates below rounding are none.
func TestFirstStop(t *testing.T) {
	rng := members.Rand(t, 51)
	for k := range members.Of(300, 5000) {
		const nw, m = 4, 3
		f := &follower{nw: nw, m: m, lo: make([]float64, nw), hi: make([]float64, nw)}
		for j := range nw {
			f.lo[j], f.hi[j] = math.Inf(-1), math.Inf(1)
		}
		for range m {
			f.rows = append(f.rows, row{lo: math.Inf(-1), hi: math.Inf(1)})
		}
		size := math.Pow(10, 8*rng.Float64()-4)
		q := &rates{move: point{w: make([]float64, nw)}, lambda: make([]float64, m), v: make([]float64, m)}
		q.move.w[0], q.v[0], q.lambda[0] = size, size, size // the largest rates, of what has no end
		slow := math.Pow(10, -2-10*rng.Float64())
		if k%5 == 0 {
			slow = math.Pow(10, -14-2*rng.Float64())
		}
		away := 1 + rng.Float64() // what is left of the way to the end
		want := stop{t: away / (slow * size), i: 1 + rng.IntN(2)}
		i := want.i
		for range 2 { // both walls; one is left behind
			f.walls = append(f.walls, wall{vec: []float64{-1, 1, 0, 0}, rhs: 1, length: math.Sqrt2})
		}
		side := make([]int8, m)
		lambda, v := make([]float64, m), make([]float64, m)
		switch kind := k % 4; kind {
		case 0:
			want.kind, want.high = enters, rng.IntN(2) == 0
			v[i] = 10 * rng.NormFloat64()
			if q.v[i] = slow * size; want.high {
				f.rows[i].hi = v[i] + away
			} else {
				q.v[i], f.rows[i].lo = -slow*size, v[i]-away
			}
		case 1:
			want.kind, want.high = leaves, rng.IntN(2) == 0
			side[i] = sideOf(want.high)
			lambda[i], q.lambda[i] = float64(side[i])*away, -float64(side[i])*slow*size
		case 2:
			want.kind, want.high, want.i = walls, true, len(f.walls)
			turn := math.Pow(10, 4*rng.Float64()-2) // units of the wall
			f.walls = append(f.walls, wall{vec: []float64{turn * slow, 0, 0, turn}, rhs: turn * away, length: turn * math.Hypot(1, slow)})
		case 3:
			want.kind, want.high = bounds, rng.IntN(2) == 0
			if q.move.w[i] = slow * size; want.high {
				f.hi[i] = away
			} else {
				q.move.w[i], f.lo[i] = -slow*size, -away
			}
		}
		p := &piece{solver: &solver{f: f}, side: side, inK: make([]bool, m), fixed: make([]int8, nw), wallOn: make([]bool, len(f.walls)), w: make([]float64, nw), lambda: lambda, v: v}
		got := p.first(q)
		if slow < 1e-13 && want.kind != bounds {
			want = stop{t: math.Inf(1)}
		}
		if got.kind != want.kind || got.i != want.i || got.kind != nothing && got.high != want.high || math.Abs(got.t-want.t) > 1e-12*want.t && !math.IsInf(want.t, 1) || math.IsInf(want.t, 1) != math.IsInf(got.t, 1) {
			t.Errorf("case %d, rates of %g and %g of that: %+v, not %+v", k, size, slow, got, want)
		}
	}
}
