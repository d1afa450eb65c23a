package pieces

import (
	"context"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/tolerance"
)

// Safe is a point next to another at which the follower has one answer, and the multipliers that f reads one value.
type Safe struct {
	Z        []float64 // len N: x, the follower's only answer to it, its multipliers
	F        float64
	Distance float64 // of x, in the max norm
}

// The distances at which a safe point is looked for, as parts of the size of x: well above what decides signs, and as near as may be.
var safeSteps = []float64{1e-6, 1e-5, 1e-4, 1e-3, 1e-2}

// SafePoint looks for an x near a local solution at which the follower has no choice: strictly inside a branch that meets there, where f is as near to that of
// the solution as the distance makes it. It begins with the branch on which no biactive row is used, and that on which all have slack, and goes on to the neighbours of those without an inside,
// that x cannot enter, or where the follower keeps a choice: first to the one that an empty inside asks for. Each assignment is one linear program; a further one
// is tried only while the work, in multiplications, is less than what all solves before took, or about a second. nil where none was found.
func (v *Solver) SafePoint(ctx context.Context, p *kkt.Point) *Safe {
	first := append([]kkt.Fix(nil), p.Branch...)
	for _, k := range p.Biactive {
		if !v.s.Loose(k) {
			first[k] = kkt.SlackZero // a row that is used nowhere is to be unattractive
		}
	}
	second := append([]kkt.Fix(nil), p.Branch...)
	for _, k := range p.Biactive {
		second[k] = kkt.MultZero // or all stay as they are, and multipliers with them
	}
	queue, seen := [][]kkt.Fix{first, second}, map[string]bool{}
	turned := func(fix []kkt.Fix, k int) {
		next := slices.Clone(fix)
		next[k] = kkt.SlackZero + kkt.MultZero - next[k]
		queue = append(queue, next)
	}
	most := v.work + max(v.work, tolerance.Second)
	for tried := 0; len(queue) > 0 && tried < tolerance.Branches && v.work < most && ctx.Err() == nil; queue = queue[1:] {
		fix := queue[0]
		key := each.Of(p.Biactive, func(k int) byte { return byte(fix[k]) })
		if seen[string(key)] {
			continue
		}
		seen[string(key)] = true
		tried++
		inside, change := v.interior(ctx, p, fix)
		if inside != nil {
			if s := v.towards(ctx, p, inside); s != nil {
				return s
			}
		} else if change >= 0 {
			turned(fix, change)
		}
		for _, k := range p.Biactive { // more than one may have to turn at once, as several hours that are just full
			if !v.s.Loose(k) {
				turned(fix, k)
			}
		}
	}
	return nil
}

// interior is a point of a branch at which every open side is positive: where the least of them, over the sizes of slacks and of multipliers, is as large as it can be,
// near p. Where it is 0 everywhere change is the biactive pair whose other side would give most; -1 for none.
func (v *Solver) interior(ctx context.Context, p *kkt.Point, fix []kkt.Fix) (z []float64, change int) {
	s := v.s
	r := s.Relaxation
	var b activeset.Bounds
	s.Bounds(&b, fix)
	a := r.A.Clone()
	a.Cols = s.N + 1
	program := &activeset.Program{N: s.N + 1, C: make([]float64, s.N+1), Bounds: activeset.Bounds{RowLo: b.RowLo, RowHi: b.RowHi}}
	at, size := v.s.Scaled(p.Z), v.size(p.Z)
	near := v.within(&b, at, size, size)
	for j, whole := range s.P.Integer {
		if whole {
			near.Lo[j] = at[j]
			near.Hi[j] = at[j]
		}
	}
	program.Lo, program.Hi = append(near.Lo, 0), append(near.Hi, 1)
	program.C[s.N] = -1
	owner := map[int]int{}
	margin := func(k int, side kkt.Side) {
		// The side's quantity is at least the last variable.
		from := len(program.RowLo)
		bound := 0.0
		switch {
		case side.Row >= 0:
			bound = r.RowLo[side.Row]
			a.AppendAll(r.A.Row(side.Row))
		case side.Upper:
			a.Append(side.Var, -1)
			bound = -r.Hi[side.Var]
		default:
			a.Append(side.Var, 1)
			bound = r.Lo[side.Var]
		}
		a.Append(s.N, -1)
		a.EndRow()
		program.RowLo, program.RowHi = append(program.RowLo, bound), append(program.RowHi, math.Inf(1))
		owner[from] = k
	}
	for k, f := range fix {
		if s.Loose(k) { // the branch may be on both sides of a kink of f
			continue
		}
		if f == kkt.SlackZero {
			margin(k, s.Pairs[k].Mult)
		} else {
			margin(k, s.Pairs[k].Slack)
		}
	}
	program.A = a
	sol := activeset.Once(ctx, program)
	v.work += sol.Work
	if sol.Status != activeset.Optimal {
		return nil, -1
	}
	if sol.Z[s.N] > tolerance.Sign*size {
		return v.s.Unscaled(sol.Z[:s.N]), -1
	}
	change = -1
	most := tolerance.Sign
	biactive := map[int]bool{}
	for _, k := range p.Biactive {
		biactive[k] = true
	}
	for row, k := range owner {
		if w := sol.Row[row]; biactive[k] && (w > most || w == most && k < change) {
			most, change = w, k
		}
	}
	return nil, change
}

// towards goes from p towards a point strictly inside a branch and takes the first of safeSteps at which the follower's only answer is that of the branch,
// by signs that exceed what decides them by tolerance.Margin: another program of the follower may take another answer where they do not.
func (v *Solver) towards(ctx context.Context, p *kkt.Point, inside []float64) *Safe {
	s := v.s
	size, way := 0.0, 0.0
	for j, t := range s.X(p.Z) {
		size, way = math.Max(size, math.Abs(t)), math.Max(way, math.Abs(inside[j]-t))
	}
	if way == 0 {
		return nil
	}
	size = math.Max(size, way)
	for _, step := range safeSteps {
		t := math.Min(1, step*size/way)
		at := func(t float64) []float64 {
			return each.Below(s.N, func(j int) float64 { return p.Z[j] + t*(inside[j]-p.Z[j]) })
		}
		if near := at(t / tolerance.Margin); !v.follower.Unique(ctx, near) || !v.follower.UniqueMultipliers(ctx, near) {
			continue
		}
		answer, status := v.follower.Solve(ctx, s.X(at(t)))
		if status != activeset.Optimal || !v.follower.Unique(ctx, answer) || !v.follower.UniqueMultipliers(ctx, answer) {
			continue
		}
		return &Safe{Z: answer, F: s.Value(answer), Distance: t * way}
	}
	return nil
}
