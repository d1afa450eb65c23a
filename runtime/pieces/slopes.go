package pieces

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// Slope is the derivative of f along a direction of x at a point of the system: the least, or greatest, over the branches that meet there.
type Slope struct {
	F      float64   // infinite where to first order f falls, or rises, without end along the answers and multipliers that go with the direction
	Dz     []float64 // len N: how z moves along with it; nil where F is infinite
	Branch []kkt.Fix // that it is taken on (one entry a pair; no pair is Open)
}

// Slope is the one-sided derivative of f at p along dx (len Nx), the least (sense 1) or greatest (-1), as the follower moves along the branches that meet at p with its multipliers or with other vertices of
// them: nil where no branch leads that way, as the follower leaves this answer, or has none. X bounds nothing here.
func (v *Solver) Slope(ctx context.Context, p *kkt.Point, dx []float64, sense float64) (_ *Slope, err error) {
	defer must.Catch(&err)
	others, _ := v.vertices(p.Z)
	var best *Slope
	for _, z := range append([][]float64{p.Z}, others...) {
		at := p
		if &z[0] != &p.Z[0] {
			at = &kkt.Point{Z: z}
			at.Branch, at.Biactive = v.s.BranchAt(z)
		}
		s := must.Get(v.slopeFrom(ctx, at, dx, sense))
		if s != nil && (best == nil || sense*s.F < sense*best.F) {
			best = s
		}
	}
	return best, nil
}

// Smooth reports that the follower's answer is differentiable at p as far as signs tell: no row is biactive, and the follower has no other multipliers, of which other directions of x take others.
func (v *Solver) Smooth(p *kkt.Point) bool {
	if len(p.Biactive) > 0 {
		return false
	}
	others, all := v.vertices(p.Z)
	return len(others) == 0 && all
}

// slopeFrom is Slope with p's own multipliers: the program with complementarity constraints over the directions along which the system holds to first order, by branch and bound over the pairs that the follower's rates along dx leave open.
func (v *Solver) slopeFrom(ctx context.Context, p *kkt.Point, dx []float64, sense float64) (*Slope, error) {
	s := v.s
	grad := v.plainGradient(p.Z)
	if !linalg.Finite(grad) {
		return nil, errors.New("a slope: the gradient of f is not finite there")
	}
	floats.Scale(sense, grad)
	v.linear.SetObjective(nil, grad)
	size := each.LargestBelow(len(dx), func(j int) float64 { return math.Abs(dx[j]) / s.ColScale[j] })
	fix := slices.Clone(p.Branch)
	for _, k := range p.Biactive {
		fix[k] = kkt.Open
	}
	if len(p.Biactive) > 0 {
		dz, status := v.follower.Rates(ctx, dx, v.tangent(p, fix))
		switch status {
		case activeset.Infeasible, activeset.Unbounded:
			return nil, nil
		case activeset.Optimal: // what it decides of a pair all rates share
			rates := s.Scaled(dz)
			for _, k := range p.Biactive {
				if v.rate(s.Pairs[k].Slack, rates) > tolerance.Sign*size {
					fix[k] = kkt.MultZero
				} else if v.rate(s.Pairs[k].Mult, rates) > tolerance.Sign*size {
					fix[k] = kkt.SlackZero
				}
			}
		}
	}
	var best *Slope
	var search func() error
	search = func() error {
		b := v.tangent(p, fix)
		for j, d := range dx {
			b.Lo[j] = d / s.ColScale[j]
			b.Hi[j] = b.Lo[j]
		}
		sol, err := v.solve(ctx, v.linear, b, nil)
		if err != nil {
			return err
		}
		switch {
		case sol.Status == activeset.Infeasible:
			return nil
		case sol.Status == activeset.Unbounded && next(p.Biactive, fix) >= 0: // along a direction that no branch has, perhaps
		case sol.Status == activeset.Unbounded:
			best = &Slope{F: math.Inf(-1), Branch: slices.Clone(fix)}
			return nil
		case sol.Status != activeset.Optimal:
			return fmt.Errorf("a slope: %v", sol.Status)
		case best != nil && sol.Value >= best.F:
			return nil
		}
		positive := func(side kkt.Side) float64 { return v.rate(side, sol.Z) }
		worst, sides := v.worst(p.Biactive, fix, tolerance.Sign*size, positive)
		if sol.Status == activeset.Unbounded {
			worst, sides = next(p.Biactive, fix), [2]kkt.Fix{kkt.MultZero, kkt.SlackZero}
		}
		if worst < 0 {
			best = &Slope{F: sol.Value, Dz: v.s.Unscaled(sol.Z), Branch: v.decided(p.Biactive, fix, positive)}
			return nil
		}
		for _, side := range sides {
			fix[worst] = side
			if err := search(); err != nil {
				return err
			}
		}
		fix[worst] = kkt.Open
		return nil
	}
	err := search()
	if best != nil {
		best.F *= sense
	}
	return best, err
}

// worst is the biactive pair that fix leaves open of which the lesser side is positive by most, and by more than a least, with its sides in the order in which a search takes them: first the one that is nearer to 0; -1 where there is none.
func (v *Solver) worst(biactive []int, fix []kkt.Fix, least float64, positive func(side kkt.Side) float64) (worst int, sides [2]kkt.Fix) {
	worst = -1
	for _, k := range biactive {
		if fix[k] != kkt.Open {
			continue
		}
		slack, mult := positive(v.s.Pairs[k].Slack), positive(v.s.Pairs[k].Mult)
		if both := math.Min(slack, mult); both > least {
			worst, least, sides = k, both, [2]kkt.Fix{kkt.MultZero, kkt.SlackZero}
			if slack <= mult {
				sides = [2]kkt.Fix{kkt.SlackZero, kkt.MultZero}
			}
		}
	}
	return worst, sides
}

// decided is fix with the biactive pairs that it leaves open on the side that is nearer to 0.
func (v *Solver) decided(biactive []int, fix []kkt.Fix, positive func(side kkt.Side) float64) []kkt.Fix {
	out := slices.Clone(fix)
	for _, k := range biactive {
		if out[k] == kkt.Open {
			out[k] = kkt.MultZero
			if positive(v.s.Pairs[k].Mult) > positive(v.s.Pairs[k].Slack) {
				out[k] = kkt.SlackZero
			}
		}
	}
	return out
}

// next is the first of the biactive pairs of which no side is chosen yet, -1 where there is none.
func next(biactive []int, fix []kkt.Fix) int {
	for _, k := range biactive {
		if fix[k] == kkt.Open {
			return k
		}
	}
	return -1
}

// plainGradient is that of f itself at z, in the relaxation's units.
func (v *Solver) plainGradient(z []float64) []float64 {
	g := make([]float64, v.s.N)
	v.s.Gradient(g, z)
	floats.Mul(g, v.s.ColScale)
	return g
}

// rate is how fast a side's quantity rises along a direction in the relaxation's units.
func (v *Solver) rate(side kkt.Side, dz []float64) float64 {
	rate := 0.0
	if side.Row >= 0 {
		rate = v.s.Relaxation.A.RowDot(side.Row, dz)
	} else {
		rate = dz[side.Var]
	}
	if side.Upper {
		return -rate
	}
	return rate
}

// tangent are the bounds of the directions along which the system holds at p to first order, x moving as it likes: of the pairs that fix leaves open, which are biactive, both sides may only rise;
// the leader's rows that read the follower bound them where p keeps these.
func (v *Solver) tangent(p *kkt.Point, fix []kkt.Fix) *activeset.Bounds {
	s := v.s
	inf := math.Inf(1)
	b := &activeset.Bounds{RowLo: make([]float64, len(s.Origin)), RowHi: make([]float64, len(s.Origin)), Lo: make([]float64, s.N), Hi: make([]float64, s.N)}
	open := func(lo, hi []float64) {
		for j := range lo {
			lo[j], hi[j] = -inf, inf
		}
	}
	open(b.RowLo, b.RowHi)
	open(b.Lo[:s.Nx+s.Ny+s.M], b.Hi[:s.Nx+s.Ny+s.M])
	at := v.s.Scaled(p.Z)
	size := v.size(p.Z)
	for r, o := range s.Origin {
		switch o.Kind {
		case kkt.Stationarity:
			b.RowLo[r], b.RowHi[r] = 0, 0
		case kkt.LowerRow:
			if s.Relaxation.RowLo[r] == s.Relaxation.RowHi[r] {
				b.RowLo[r], b.RowHi[r] = 0, 0
			}
		case kkt.CoupledRow:
			activity, near := s.Relaxation.A.RowDot(r, at), tolerance.Sign*size
			if lo := s.Relaxation.RowLo[r]; math.Abs(activity-lo) <= near {
				b.RowLo[r] = 0
			}
			if hi := s.Relaxation.RowHi[r]; math.Abs(activity-hi) <= near {
				b.RowHi[r] = 0
			}
		}
	}
	biactive := map[int]bool{}
	for _, k := range p.Biactive {
		biactive[k] = true
	}
	hold := func(side kkt.Side, equal bool) {
		lo, hi, at := b.RowLo, b.RowHi, side.Row
		if side.Row < 0 {
			lo, hi, at = b.Lo, b.Hi, side.Var
		}
		if equal || !side.Upper {
			lo[at] = 0
		}
		if equal || side.Upper {
			hi[at] = 0
		}
	}
	for k, pair := range s.Pairs {
		switch fix[k] {
		case kkt.SlackZero:
			hold(pair.Slack, true)
			if biactive[k] {
				hold(pair.Mult, false)
			}
		case kkt.MultZero:
			hold(pair.Mult, true)
			if biactive[k] {
				hold(pair.Slack, false)
			}
		case kkt.Open:
			hold(pair.Slack, false)
			hold(pair.Mult, false)
		}
	}
	return b
}

// Product is the gradient in x of c'z (c of len N) along a branch at p, whose signs it passes over (no pair Open): the multipliers with Bound set to it. nil where z's rest is not a
// function of x along the branch as far as c reads it.
func (v *Solver) Product(ctx context.Context, p *kkt.Point, branch []kkt.Fix, c []float64) (*kkt.Multipliers, error) {
	s := v.s
	scaled := slices.Clone(c)
	floats.Mul(scaled, s.ColScale)
	v.linear.SetObjective(nil, scaled)
	b := v.tangent(&kkt.Point{Z: p.Z}, branch) // biactive pairs have no signs
	for j := range s.Nx {
		b.Lo[j], b.Hi[j] = 0, 0
	}
	sol, err := v.solve(ctx, v.linear, b, nil)
	if err != nil || sol.Status == activeset.Unbounded {
		return nil, err
	}
	if sol.Status != activeset.Optimal {
		return nil, fmt.Errorf("a gradient along a branch: %v", sol.Status)
	}
	return s.FromDuals(false, p.Z, sol.Row, sol.Bound), nil
}

// Generic is a direction of x that lies in no subspace that a model is likely to have: entries of one size and no pattern, each in the units of the relaxation.
func (v *Solver) Generic() []float64 {
	d := make([]float64, v.s.Nx)
	for j := range d {
		d[j] = v.s.ColScale[j] * (1 + math.Mod(float64(j+1)*math.Phi, 1))
		if math.Mod(float64(j+1)*math.Sqrt2, 1) < 0.5 {
			d[j] = -d[j]
		}
	}
	return d
}

// Derivative is the gradient of f at p as multipliers (Bound), where p lies inside one branch on which x moves freely; nil where branches meet, or x is tied.
func (v *Solver) Derivative(ctx context.Context, p *kkt.Point) (*kkt.Multipliers, error) {
	if len(p.Biactive) > 0 {
		return nil, nil
	}
	dx := v.Generic()
	ahead, err := v.slopeFrom(ctx, p, dx, 1)
	if err != nil || ahead == nil || ahead.Dz == nil {
		return nil, err
	}
	grad := make([]float64, v.s.N)
	v.s.Gradient(grad, p.Z)
	m, err := v.Product(ctx, p, p.Branch, grad)
	if err != nil || m == nil {
		return nil, err
	}
	if !ahead.Of(m.Bound, dx) {
		return nil, nil
	}
	return m, nil
}

// Of reports that the slope along dx is what a gradient says.
func (s *Slope) Of(gradient, dx []float64) bool {
	along, terms := 0.0, 0.0
	for j, g := range gradient {
		along += g * dx[j]
		terms += math.Abs(g * dx[j])
	}
	return math.Abs(along-s.F) <= math.Sqrt(tolerance.Sign)*math.Max(terms, math.Abs(s.F))
}

// Open is a branch at p that a generic direction of x leads into, ahead or back; nil where none does: what a gradient of a piece at a kink is taken on.
func (v *Solver) Open(ctx context.Context, p *kkt.Point) (_ []kkt.Fix, err error) {
	defer must.Catch(&err)
	dx := v.Generic()
	for range 2 {
		s := must.Get(v.slopeFrom(ctx, p, dx, 1))
		if s != nil {
			return s.Branch, nil
		}
		floats.Scale(-1, dx)
	}
	return nil, nil
}
