package kkt_test

import (
	"math"
	"slices"
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
)

// A ball reads as |x - center|^2 - radius^2. Its columns have the box of the ball, and units no longer than the length at which its terms in the column, half its squares
// and its linear term or what is constant of it, are alike; the rest of the relaxation says the same in them.
func TestBallsAreCurved(t *testing.T) {
	rng := members.Rand(t, 3)
	shorter := 0
	for range members.Of(60, 600) {
		p := kkttest.Random(rng, 3, 3, 2, true, false)
		unit := math.Pow(10, float64(rng.IntN(9)-6))
		first := rng.IntN(2)
		ball := problem.Ball{Start: first, End: first + 2, Radius: unit * (0.1 + rng.Float64())}
		center := make([]float64, 3)
		if rng.IntN(3) > 0 {
			for j := ball.Start; j < ball.End; j++ {
				center[j] = unit * rng.NormFloat64()
			}
			ball.Center = center[ball.Start:ball.End]
		}
		plain := *p
		set := *p.X
		set.Lo, set.Hi = slices.Clone(set.Lo), slices.Clone(set.Hi)
		for j := ball.Start; j < ball.End; j++ {
			set.Lo[j], set.Hi[j] = math.Max(set.Lo[j], center[j]-ball.Radius), math.Min(set.Hi[j], center[j]+ball.Radius)
		}
		plain.X = &set
		before, err := kkt.New(&plain)
		if err != nil {
			t.Fatal(err)
		}
		round := *p.X
		round.Balls = []problem.Ball{ball}
		p.X = &round
		s, why, err := kkt.NewCurved(p)
		if err != nil || why != "" || len(s.Curved) != 1 {
			t.Fatal(why, err)
		}
		c := &s.Curved[0]
		z, square, constant := make([]float64, s.N), 0.0, -ball.Radius*ball.Radius
		for j := range z {
			z[j] = unit * rng.NormFloat64()
		}
		for j := ball.Start; j < ball.End; j++ {
			square += (z[j] - center[j]) * (z[j] - center[j])
			constant += center[j] * center[j]
		}
		if got, want := c.Value(z), square-ball.Radius*ball.Radius; math.Abs(got-want) > 1e-12*(square+ball.Radius*ball.Radius) {
			t.Errorf("a ball is %v, not %v", got, want)
		}
		for j := range p.Dx {
			scale, was := s.ColScale[j], before.ColScale[j]
			if lo, hi := s.Relaxation.Lo[j]*scale, s.Relaxation.Hi[j]*scale; math.Abs(lo-set.Lo[j]) > 1e-12*math.Abs(lo) || math.Abs(hi-set.Hi[j]) > 1e-12*math.Abs(hi) {
				t.Errorf("x[%d] is in [%v, %v], not [%v, %v]", j, lo, hi, set.Lo[j], set.Hi[j])
			}
			length := math.Inf(1)
			if j >= ball.Start && j < ball.End {
				length = math.Sqrt(math.Max(math.Abs(constant), 2*center[j]*center[j]) / 2)
			}
			switch {
			case was <= length:
				if scale != was {
					t.Errorf("x[%d]: the unit is %v, not %v", j, scale, was)
				}
			case scale < length || scale > math.Min(was, 2*length):
				t.Errorf("x[%d]: the unit is %v, of %v before, where terms are alike at %v", j, scale, was, length)
			default:
				shorter++
			}
		}
		of := func(s *kkt.System) []float64 {
			u, out := make([]float64, s.N), make([]float64, s.Relaxation.A.Rows)
			for j := range u {
				u[j] = z[j] / s.ColScale[j]
			}
			for r := range out {
				out[r] = s.Relaxation.A.RowDot(r, u)
			}
			return out
		}
		now, then := of(s), of(before)
		for r, v := range then {
			if math.Abs(now[r]-v) > 1e-9*(1+math.Abs(v)) {
				t.Errorf("row %d is %v, not %v", r, now[r], v)
			}
		}
	}
	if shorter == 0 {
		t.Error("no unit was too long")
	}
}

// budget is c'v with a constraint w'v <= most of the leader, v = (x, y).
type budget struct {
	*kkttest.Quadratic
	w    []float64
	most float64
}

func (b *budget) ValueGrad(dx, dy, x, answer []float64) float64 {
	y, weight := answer[:b.Ny], answer[b.Ny]
	value, rest := b.Quadratic.ValueGrad(dx, dy[:b.Ny], x, y), -b.most
	for j, v := range append(slices.Clone(x), y...) {
		rest += b.w[j] * v
		if j < b.Nx {
			dx[j] += weight * b.w[j]
		} else {
			dy[j-b.Nx] += weight * b.w[j]
		}
	}
	dy[b.Ny] = rest
	return value + weight*rest
}
func (b *budget) Value(x, y []float64) float64 {
	return b.ValueGrad(make([]float64, b.Nx), make([]float64, b.Ny+1), x, y)
}
func (b *budget) GradX(dst, x, y []float64) { b.ValueGrad(dst, make([]float64, b.Ny+1), x, y) }
func (b *budget) GradY(dst, x, y []float64) { b.ValueGrad(make([]float64, b.Nx), dst, x, y) }
func (b *budget) ValueGradY(dst, x, y []float64) float64 {
	return b.ValueGrad(make([]float64, b.Nx), dst, x, y)
}
func (b *budget) Clone() problem.Function { return b }

// Of a follower who is content with any y in a box the leader takes the best that his own budget allows: goods in the order of what they give for what they cost, the last one in part.
func TestBestAnswerKeepsTheLeadersRows(t *testing.T) {
	rng := members.Rand(t, 4)
	for range members.Of(60, 600) {
		p := kkttest.Random(rng, 2, 3, 0, false, false)
		g, f := p.G.(*kkttest.Quadratic), p.F.(*kkttest.Quadratic)
		clear(g.M)
		clear(g.C)
		clear(f.M)
		own := &budget{Quadratic: f, w: make([]float64, 5)}
		x, order := []float64{rng.Float64(), rng.Float64()}, []int{2, 3, 4}
		all := 0.0
		for j := range 5 {
			own.w[j] = 0.5 + rng.Float64()
			f.C[j] = 0
			if j >= 2 {
				f.C[j] = -0.5 - rng.Float64()
				all += 4 * own.w[j]
			}
		}
		rest := (0.1 + 0.8*rng.Float64()) * all // for y
		own.most = rest + own.w[0]*x[0] + own.w[1]*x[1]
		p.F = own
		p.Coupled = &problem.Coupled{Kind: []problem.Kind{problem.AtMost}, Name: []string{"budget"}, Weight: []float64{1}}
		p.Facts.AffineCoupled, p.Facts.Convex = true, true
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		follower, err := kkt.NewFollower(s)
		if err != nil {
			t.Fatal(err)
		}
		z, status := follower.Solve(t.Context(), x)
		if status != activeset.Optimal {
			t.Fatal(status)
		}
		best, err := follower.Extreme(t.Context(), z, 1)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(order, func(a, b int) int {
			return int(math.Copysign(1, f.C[a]/own.w[a]-f.C[b]/own.w[b]))
		})
		want := f.K
		for _, j := range order {
			amount := math.Min(4, rest/own.w[j])
			want += f.C[j] * amount
			rest -= amount * own.w[j]
		}
		if got := f.Value(x, s.Y(best)); math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
			t.Errorf("the best within the budget is %v, not %v", got, want)
		}
	}
}
