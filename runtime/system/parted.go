package system

import (
	"context"
	"errors"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/tolerance"
)

// parted is the active-set method on each of the parts of a system (kkt.Parts): f is the sum of what it is on them, so that local solutions of the parts are one of the whole, with
// their multipliers, and what a factor takes is that of the largest part.
type parted struct {
	s       *kkt.System
	parts   []kkt.Part
	solvers []*pieces.Solver
	observe func(pieces.Step)
}

func newParted(s *kkt.System, parts []kkt.Part, observe func(pieces.Step)) (_ *parted, err error) {
	defer must.Catch(&err)
	l := &parted{s: s, parts: parts, observe: observe}
	for _, p := range parts {
		solver := must.Get(pieces.New(p.System, pieces.Options{}))
		l.solvers = append(l.solvers, solver)
	}
	return l, nil
}

// Work implements localSolver.
func (l *parted) Work() (sum int64) {
	for _, s := range l.solvers {
		sum += s.Work()
	}
	return sum
}

// From implements localSolver.
func (l *parted) From(ctx context.Context, x []float64) (*kkt.Point, error) {
	z := make([]float64, l.s.N)
	copy(z, x)
	return l.each(func(k int, at []float64) (*kkt.Point, error) {
		p := l.parts[k]
		return l.solvers[k].From(ctx, p.X(at))
	}, z)
}

// improve is the local solution that a point of a branch leads to.
func (l *parted) improve(ctx context.Context, z []float64, branch []kkt.Fix) (*kkt.Point, error) {
	return l.each(func(k int, at []float64) (*kkt.Point, error) {
		fix := linalg.Gather(branch, l.parts[k].PairAt)
		return l.solvers[k].Improve(ctx, at, fix)
	}, z)
}

// each solves the parts from what they have of z, and joins what they come to. Where one has no certificate the error of the first such comes with the point, and none where one has no point.
func (l *parted) each(solve func(k int, at []float64) (*kkt.Point, error), z []float64) (*kkt.Point, error) {
	points := make([]*kkt.Point, len(l.parts))
	rays := make([][]float64, len(l.parts))
	var first, falls error
	missing := false
	for k, p := range l.parts {
		at := linalg.Gather(z, p.Cols)
		point, err := solve(k, at)
		if unbounded, ok := errors.AsType[*pieces.Unbounded](err); ok {
			point, rays[k], falls = &kkt.Point{Z: unbounded.Z}, unbounded.Ray, err
		} else if err != nil && first == nil {
			first = err
		}
		points[k], missing = point, missing || point == nil
	}
	switch {
	case missing:
		return nil, first
	case falls != nil:
		ray := &pieces.Unbounded{Z: make([]float64, l.s.N), Ray: make([]float64, l.s.N)}
		for k, p := range l.parts {
			for n, j := range p.Cols {
				ray.Z[j] = points[k].Z[n]
				if rays[k] != nil {
					ray.Ray[j] = rays[k][n]
				}
			}
		}
		return nil, ray
	}
	point := l.join(points)
	if point.Multipliers == nil && point.Leaves == nil && first == nil {
		first = pieces.ErrStalled
	}
	l.observe(pieces.Step{Round: 1, F: point.F, Biactive: len(point.Biactive)})
	return point, first
}

// join is the point of the whole.
func (l *parted) join(points []*kkt.Point) *kkt.Point {
	s := l.s
	out := &kkt.Point{Z: make([]float64, s.N), Branch: make([]kkt.Fix, len(s.Pairs)), AllVertices: true, Vertices: 1, SecondOrder: kkt.Holds}
	leaves, strong := []kkt.Leaf{{Fix: make([]kkt.Fix, len(s.Pairs)), Multipliers: l.s.NoMultipliers()}}, true
	for k, p := range l.parts {
		of := points[k]
		linalg.Scatter(out.Z, p.Cols, of.Z)
		linalg.Scatter(out.Branch, p.PairAt, of.Branch)
		out.Biactive = append(out.Biactive, each.Of(of.Biactive, func(n int) int { return p.PairAt[n] })...)
		out.Vertices, out.AllVertices = max(out.Vertices, of.Vertices), out.AllVertices && of.AllVertices
		if of.SecondOrder == kkt.Fails || out.SecondOrder == kkt.Holds {
			out.SecondOrder = of.SecondOrder
		}
		own := of.Leaves
		if of.Multipliers != nil {
			own = []kkt.Leaf{{Fix: make([]kkt.Fix, len(p.PairAt)), Multipliers: of.Multipliers}}
		} else {
			strong = false
		}
		var next []kkt.Leaf
		if len(leaves)*len(own) <= tolerance.Branches { // those of the whole are all combinations, of which each has multipliers in its certificate
			for _, before := range leaves {
				next = append(next, each.Of(own, func(leaf kkt.Leaf) kkt.Leaf { return l.with(before, &p, leaf) })...)
			}
		}
		leaves = next
	}
	out.F = s.Value(out.Z)
	switch {
	case len(leaves) == 0:
	case strong:
		out.Multipliers = leaves[0].Multipliers
	default:
		out.Leaves = leaves
	}
	return out
}

// with is a leaf of the parts before, and one of p.
func (l *parted) with(before kkt.Leaf, p *kkt.Part, leaf kkt.Leaf) kkt.Leaf {
	s, m, from := l.s, l.s.NoMultipliers(), before.Multipliers
	fix := append([]kkt.Fix(nil), before.Fix...)
	linalg.Scatter(fix, p.PairAt, leaf.Fix)
	for _, of := range [][2][]float64{{m.Adjoint, from.Adjoint}, {m.Slack, from.Slack}, {m.Lambda, from.Lambda}, {m.Bound, from.Bound}, {m.UpperRows, from.UpperRows}, {m.Coupled, from.Coupled}} {
		copy(of[0], of[1])
	}
	own := leaf.Multipliers
	for n, j := range p.Cols {
		switch {
		case j < s.Nx:
			m.Bound[j] = own.Bound[n]
		case j < s.Nx+s.Ny:
			m.Adjoint[j-s.Nx] = own.Adjoint[n-p.Nx]
		default:
			i, at := j-s.Nx-s.Ny, n-p.Nx-p.Ny
			m.Slack[i], m.Lambda[i] = own.Slack[at], own.Lambda[at]
		}
	}
	for i, t := range own.UpperRows { // rows keep their numbers, and have multipliers in one part alone
		m.UpperRows[i] += t
	}
	for i, t := range own.Coupled {
		m.Coupled[i] += t
	}
	return kkt.Leaf{Fix: fix, Multipliers: m}
}
