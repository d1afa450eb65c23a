package pieces

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/must"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// looked is what the linear program with complementarity constraints at a point has shown.
type looked struct {
	measure float64   // see Step
	next    []kkt.Fix // a branch on which f falls; nil: there is none
	root    *activeset.Solution
}

// look minimizes the linearization of f at p over the system, the biactive pairs complementary, within a trust region, and gives p the multipliers that
// show it to be stationary where nothing lowers it. The first program begins at warm, or from none. Where as many programs as tolerance.Branches have not decided it asks the follower's answers near p for a branch on which f falls (downhill), and
// where a second's work has not, it ends with ErrStalled: m rows have 2^m branches, of which few are answers to any x.
func (v *Solver) look(ctx context.Context, p *kkt.Point, warm *activeset.Basis) (*looked, error) {
	s := v.s
	grad, at := v.scaledGradient(p.Z), v.s.Scaled(p.Z)
	// Multipliers that f does not read may be of any size, and have a trust region of their own.
	radius, far := v.size(p.Z), v.size(p.Z)
	if len(s.P.Duals) == 0 {
		radius = v.sizeRead(p.Z)
	}
	each := v.gradientTerms(p.Z, grad)
	v.linear.SetObjective(nil, grad)
	// Columns that rows and pairs leave apart are programs of their own: how large the terms of one are says nothing of what counts in another, whose units may be others.
	if v.part == nil {
		v.part, _ = s.RowClasses().Number(s.N)
	}
	part := v.part
	terms, fall := make([]float64, len(grad)), make([]float64, len(grad)) // of the part of a column
	for j := range grad {
		terms[part[j]] = math.Max(terms[part[j]], each[j]*radius)
	}
	fix := append([]kkt.Fix(nil), p.Branch...)
	for _, k := range p.Biactive {
		fix[k] = kkt.Open
	}
	out, flat := &looked{}, s.Flat(p.Z)
	var leaves []kkt.Leaf
	programs, began, asked := 0, v.Work(), false
	within := func(fix []kkt.Fix) *activeset.Bounds {
		var b activeset.Bounds
		s.Bounds(&b, fix)
		return v.within(&b, at, radius, far)
	}
	// program minimizes the linearization on the branches of fix; measure is by how much it falls.
	program := func(fix []kkt.Fix, warm *activeset.Basis) (sol *activeset.Solution, measure float64, err error) {
		if sol, err = v.solve(ctx, v.linear, within(fix), warm); err != nil {
			return nil, 0, err
		}
		if sol.Status != activeset.Optimal {
			return nil, 0, fmt.Errorf("the linearization at a point: %v", sol.Status)
		}
		programs++
		clear(fall)
		for j, g := range grad {
			fall[part[j]] += g * (at[j] - sol.Z[j])
		}
		for k, t := range terms {
			if t > 0 {
				measure = math.Max(measure, fall[k]/t)
			}
		}
		return sol, measure, nil
	}
	take := func(branch []kkt.Fix) (bool, error) {
		v.linear.SetObjective(nil, grad)
		_, measure, err := program(branch, nil)
		if err == nil && measure > tolerance.Sign {
			out.next = branch
		}
		return out.next != nil, err
	}
	var search func(warm *activeset.Basis) error
	search = func(warm *activeset.Basis) error {
		sol, measure, err := program(fix, warm)
		if err != nil {
			return err
		}
		if out.root == nil {
			out.root = sol
		}
		if len(leaves) == 0 {
			out.measure = measure
		}
		if measure <= tolerance.Sign {
			m := s.FromDuals(v.dual() != nil, p.Z, sol.Row, sol.Bound)
			s.Settle(m, p.Z)
			if flat {
				m.Clear()
			}
			leaves = append(leaves, kkt.Leaf{Fix: append([]kkt.Fix(nil), fix...), Multipliers: m})
			return nil
		}
		above := func(side kkt.Side) float64 { return side.Above(s.Relaxation, sol.Z) }
		worst, sides := v.worst(p.Biactive, fix, tolerance.Sign*radius, above)
		if worst < 0 {
			out.next = v.decided(p.Biactive, fix, above)
			return nil
		}
		if programs > tolerance.Branches {
			if !asked {
				asked = true
				if err := v.downhill(ctx, p, within(fix), take); err != nil || out.next != nil {
					return err
				}
				v.linear.SetObjective(nil, grad)
			}
			if v.Work()-began > tolerance.Second {
				return ErrStalled
			}
		}
		for _, side := range sides {
			fix[worst] = side
			if err := search(sol.Basis); err != nil || out.next != nil {
				return err
			}
		}
		fix[worst] = kkt.Open
		return nil
	}
	if err := search(warm); err != nil {
		return nil, err
	}
	if out.next == nil {
		p.Leaves = leaves
		if len(leaves) == 1 {
			p.Multipliers = leaves[0].Multipliers
			p.Leaves = nil
		}
	}
	return out, nil
}

// downhill offers branches that the follower's answers take from p on to take, until it takes one, or a way comes again, or there are as many ways as tolerance.Draws: each next way leads to the x within bounds, whose objective is left to it,
// that the shortest mean of the gradients of F so far lowers most (an aggregate of subgradients, Kiwiel 1985).
func (v *Solver) downhill(ctx context.Context, p *kkt.Point, within *activeset.Bounds, take func(branch []kkt.Fix) (bool, error)) error {
	s, branch := v.s, p.Branch
	f, mean, way := make([]float64, s.N), []float64(nil), []float64(nil)
	s.Gradient(f, p.Z)
	for range tolerance.Draws {
		m, err := v.Product(ctx, p, branch, f)
		if m == nil || err != nil {
			return err
		}
		g := slices.Clone(m.Bound) // in the relaxation's units
		floats.Mul(g, s.ColScale[:s.Nx])
		if mean == nil {
			mean = g
		}
		if d := linalg.Minus(g, mean); linalg.Norm(d) > 0 {
			linalg.Axpy(mean, math.Max(0, math.Min(1, -linalg.Dot(mean, d)/linalg.Dot(d, d))), d)
		}
		v.linear.SetObjective(nil, append(slices.Clone(mean), make([]float64, s.N-s.Nx)...))
		sol, err := v.solve(ctx, v.linear, within, nil)
		if err != nil || sol.Status != activeset.Optimal {
			return err
		}
		dx := linalg.Minus(s.X(s.Unscaled(sol.Z)), s.X(p.Z))
		if slices.Equal(dx, way) {
			return nil
		}
		way = dx
		slope, err := v.slopeFrom(ctx, p, dx, 1)
		if err != nil || slope == nil {
			return err
		}
		branch = slope.Branch
		if taken, err := take(branch); taken || err != nil {
			return err
		}
	}
	return nil
}

// secondOrder says what f's curvature is on the branch of a stationary point, and, where it is negative along a direction that keeps all that holds there,
// gives a lower point of the branch.
func (v *Solver) secondOrder(ctx context.Context, p *kkt.Point, seen *looked) (away []float64) {
	if v.s.Objective.Convex && v.s.Objective.Known {
		p.SecondOrder = kkt.Holds
		return nil
	}
	var direction []float64
	if p.SecondOrder, direction = v.curvature(ctx, p, seen.root); direction != nil {
		return v.along(p, direction)
	}
	return nil
}

// Examined is what Examine has found.
type Examined struct {
	Point   *kkt.Point // without multipliers where it is not stationary
	Measure float64    // that of Step
	Away    []float64  // a lower point along a direction of negative curvature, of f as the system has it; nil where there is none
}

// Examine looks at the point z of the system (len N, in the model's units) for what shows that it is stationary; it moves multipliers alone, to a vertex where they are not unique. A point is not where on a branch
// that meets there, or with another vertex of the follower's multipliers, f falls to first order.
func (v *Solver) Examine(ctx context.Context, z []float64) (_ *Examined, err error) {
	defer must.Catch(&err)
	p := &kkt.Point{Z: z, F: v.s.Value(z), SecondOrder: kkt.NotChecked}
	p.Branch, p.Biactive = v.s.BranchAt(z)
	seen := must.Get(v.lookAtVertex(ctx, p))
	out := &Examined{Point: p, Measure: seen.measure}
	if seen.next != nil {
		return out, nil
	}
	out.Away = v.secondOrder(ctx, p, seen)
	other, _, err := v.elsewhere(ctx, p)
	if err == nil && other != nil {
		p.Multipliers, p.Leaves = nil, nil
	}
	return out, err
}
