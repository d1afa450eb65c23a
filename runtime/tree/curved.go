package tree

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// curved is a quadratic constraint of the leader in the relaxation's units, c(z) <= 0. Where it is not convex the secants of its directions of concave stand for its concave part over a node's ranges
// of these. Relaxations have tangents of the convex function that this leaves as rows,
//
//	0 >= c(z) >= c(t) + grad c(t)'(z - t),
//
// at points t where they were violated (Kelley 1960), and where an active set with the curvature of the constraints leads from there: at the solution of a node's convex
// program they make its relaxation exact (Duran and Grossmann 1986). A proof needs none of them: the sum of a constraint's multipliers, and the convex program with
// that multiple of it in the objective, bound f at least as well (weak duality).
type curved struct {
	sparse.Quadratic
	convex     *sparse.CSR // the Hessian of the convex part
	first, end int         // its directions of concave
}

// ranges are those of the directions of concave; where lower and upper ends are one number, secants are tangents there, and bound a constraint from above.
type ranges struct{ lo, hi []float64 }

// tangent is that of constraint Of at the point At (len N), in the relaxation's units, with secants over the ranges Lo to Hi of its directions: it holds where ranges are within these.
type tangent struct {
	Of int       `json:"of"`
	At []float64 `json:"at"`
	Lo []float64 `json:"lo,omitempty"`
	Hi []float64 `json:"hi,omitempty"`
}

// newCurved are the constraints of a system.
func newCurved(sys *kkt.System) (all []curved) {
	for k := range sys.Curved {
		var c curved
		c.Const = sys.Curved[k].Const
		c.Hess, c.Lin = sys.ScaledObjective(&sys.Curved[k].Quadratic)
		c.convex = c.Hess
		all = append(all, c)
	}
	return all
}

// bent are the constraints that are not convex.
func (s *search) bent() []int {
	return each.WhereBelow(len(s.curved), func(k int) bool { return !kkt.Semidefinite(s.curved[k].Hess) })
}

// newTangent is the tangent of constraint k at z over ranges.
func (s *search) newTangent(k int, z []float64, in ranges) tangent {
	c := &s.curved[k]
	t := tangent{Of: k, At: slices.Clone(z[:s.sys.N])}
	if c.first < c.end {
		t.Lo, t.Hi = slices.Clone(in.lo[c.first:c.end]), slices.Clone(in.hi[c.first:c.end])
	}
	return t
}

// holds reports whether a tangent holds over ranges.
func (s *search) holds(t *tangent, in ranges) bool {
	first := s.curved[t.Of].first
	for k := range t.Lo {
		if in.lo[first+k] < t.Lo[k] || in.hi[first+k] > t.Hi[k] {
			return false
		}
	}
	return true
}

// row is a tangent: grad'z <= side, divided by a unit such that the largest entry is about 1.
func (s *search) row(t *tangent) (grad []float64, side, by float64) {
	c := &s.curved[t.Of]
	grad = slices.Clone(c.Lin)
	square := 0.0
	for j := range grad {
		g := c.convex.RowDot(j, t.At)
		square += t.At[j] * g
		grad[j] += g
	}
	side = 0.5*square - c.Const
	for k := range t.Lo {
		side -= s.concave.secant(grad, c.first+k, t.Lo[k], t.Hi[k], 1)
	}
	by = unit(linalg.NormInf(grad))
	for j := range grad {
		grad[j] /= by
	}
	return grad, side / by, by
}

// within is the violation, relative to a constraint's terms and the unit of its tangent, that is none: solutions keep tangents, as all rows, to tolerance.Sign, and several that meet at an angle add up.
const within = 4 * tolerance.Sign

// over is by how much constraint k is violated at z with secants over ranges; 0 where it holds.
func (s *search) over(k int, z []float64, in ranges) float64 {
	c := &s.curved[k]
	v := c.Value(z)
	for d := c.first; v > 0 && d < c.end; d++ {
		v -= s.concave.lack(d, in.lo[d], in.hi[d], z)
	}
	if v <= 0 {
		return 0
	}
	t := s.newTangent(k, z, in)
	if _, _, by := s.row(&t); v <= within*(c.Terms(z)+by) {
		return 0
	}
	return v
}

// violated are tangents at z of the constraints that do not hold there, with secants over ranges.
func (s *search) violated(z []float64, in ranges) (cuts []tangent) {
	for k := range s.curved {
		if s.over(k, z, in) > 0 {
			cuts = append(cuts, s.newTangent(k, z, in))
		}
	}
	return cuts
}

// feasible reports whether the constraints hold at z.
func (s *search) feasible(z []float64) bool {
	if s.concave == nil {
		return len(s.violated(z, ranges{})) == 0
	}
	return len(s.violated(z, s.concave.at(z))) == 0
}

// endless are tangents that cut off a ray from z along which constraints do not hold without end.
func (s *search) endless(z, ray []float64, in ranges) (cuts []tangent) {
	size := linalg.NormInf(ray[:s.sys.N])
	for k := range s.curved {
		c, t := &s.curved[k], s.newTangent(k, z, in)
		curvature := each.SumBelow(len(c.Lin), func(j int) float64 { return ray[j] * c.convex.RowDot(j, ray) })
		grad, _, by := s.row(&t)
		slope := each.SumBelow(len(grad), func(j int) float64 { return grad[j] * ray[j] })
		if curvature <= tolerance.Sign*by*size*size && slope <= tolerance.Sign*size {
			continue
		}
		for t := 1 / size; t < 1e12/size; t *= 4 {
			at := slices.Clone(z[:s.sys.N])
			floats.AddScaled(at, t, ray[:len(at)])
			if s.over(k, at, in) > 0 {
				cuts = append(cuts, s.newTangent(k, at, in))
				break
			}
		}
	}
	return cuts
}

// withTangents is a program with tangents behind its rows.
func (s *search) withTangents(of *activeset.Program, cuts []tangent) *activeset.Program {
	if len(cuts) == 0 {
		return of
	}
	p := *of
	p.A = of.A.Clone()
	p.RowLo, p.RowHi = slices.Clone(of.RowLo), slices.Clone(of.RowHi)
	for _, t := range cuts {
		grad, side, _ := s.row(&t)
		for j, v := range grad {
			if v != 0 {
				p.A.Append(j, v)
			}
		}
		p.A.EndRow()
		p.RowLo, p.RowHi = append(p.RowLo, math.Inf(-1)), append(p.RowHi, side)
	}
	return &p
}

// cutting is a solver's program with the tangents known so far, and the solver.
type cutting struct {
	of      *activeset.Program
	program *activeset.Program
	count   int
	solver  activeset.Reoptimizer
}

// ready is the solver with all tangents of p as rows. Each plunge has one of its own: what a solver returns depends on earlier solves by rounding.
func (t *cutting) ready(p *plunger, of *activeset.Program) activeset.Reoptimizer {
	if t.solver == nil || t.of != of || t.count != len(p.cuts) {
		t.of, t.count, t.program = of, len(p.cuts), p.s.withTangents(of, p.cuts)
		t.solver = p.s.solver(t.program)
	}
	return t.solver
}

// solver makes a solver of a program, condensed where it is one of the search itself and that pays: others are solved too seldom.
func (s *search) solver(program *activeset.Program) activeset.Reoptimizer {
	if c := s.condensed[program]; c != nil {
		return c.Solver()
	}
	return newSolver(program)
}

// condense makes the condensations of the programs of nodes and of branches; work is what that takes.
func (s *search) condense() (work int64) {
	s.condensed = map[*activeset.Program]*activeset.Condensation{}
	for _, p := range []*activeset.Program{s.prog, s.relaxation()} {
		if _, known := s.condensed[p]; known {
			continue
		}
		c := activeset.Condense(p)
		if s.condensed[p] = c; c != nil {
			work += c.Made
		}
	}
	return work
}

// bounds are those of p with the rows of tangents behind the others, of which those hold that its ranges allow.
func (t *cutting) bounds(p *plunger) *activeset.Bounds {
	if t.count == 0 {
		return &p.bounds
	}
	out, from := p.bounds, len(t.program.RowHi)-t.count
	out.RowLo = append(slices.Clip(out.RowLo), t.program.RowLo[from:]...)
	out.RowHi = append(slices.Clip(out.RowHi), t.program.RowHi[from:]...)
	for k := range t.count {
		if !p.s.holds(&p.cuts[k], p.in) {
			out.RowHi[len(out.RowHi)-t.count+k] = math.Inf(1)
		}
	}
	return &out
}

// fits is a basis for as many rows: tangents that came later are inactive.
func fits(b *activeset.Basis, rows int) *activeset.Basis {
	if b == nil || len(b.Row) >= rows {
		return b
	}
	return &activeset.Basis{Var: b.Var, Row: append(slices.Clip(b.Row), make([]activeset.State, rows-len(b.Row))...)}
}

// someRounds are those in which tangents are added at a node that is branched on further, whose bound is to be good: at one whose pairs are decided, in as many as it takes, its solution is to hold.
const someRounds = 4

// refining is where steps of Newton's method from a solution of tangents have led to: a solution of the program with the constraints themselves, once solutions of tangents are not lower. What tangents leave of that is a face, whose vertices violate them without end.
type refining struct {
	end      *activeset.Solution // nil: nowhere yet
	tangents []tangent           // those of its program
}

// refine adds the tangents that sol violates, and those at the points that Newton's method leads to from there: solutions of the program whose objective has the constraints' curvature at the last point, by their multipliers there (Nocedal and Wright 2006, section 18.1). cost is the linear
// part of sol's objective, nil to leave them out. It reports whether sol is to be found again; where the end of such steps is a solution it becomes sol.
func (p *plunger) refine(ctx context.Context, t *cutting, sol *activeset.Solution, cost []float64, from *refining) bool {
	s := p.s
	switch sol.Status {
	case activeset.Optimal:
		cuts := s.violated(sol.Z, p.in)
		if len(cuts) == 0 {
			return false
		}
		if end := from.end; end != nil && objective(t.of.Q, cost, end.Z) <= objective(t.of.Q, cost, sol.Z)+tolerance.Sign*s.terms(&candidate{z: end.Z}) {
			rows := len(end.Row) - len(from.tangents)
			sol.Z, sol.Row, sol.Bound = end.Z, slices.Concat(end.Row[:rows], make([]float64, len(p.cuts)), end.Row[rows:]), end.Bound
			p.cuts = append(p.cuts, from.tangents...)
			return false
		}
		weights := s.weightsOf(sol.Row, p.cuts)
		p.cuts = append(p.cuts, cuts...)
		*from = refining{}
		at := sol
		for range 2 * someRounds { // the first few lead to a digit, and each of the others doubles those that there are
			next, tangents := p.newton(ctx, t.of, at.Basis, at.Z, cost, weights)
			if next == nil {
				break
			}
			at, weights = next, s.weightsOf(next.Row, tangents)
			if cuts = s.violated(at.Z, p.in); len(cuts) == 0 {
				*from = refining{at, tangents}
				for _, t := range tangents {
					cuts = append(cuts, s.newTangent(t.Of, at.Z, p.in))
				}
				break
			}
		}
		if at != sol {
			p.cuts = append(p.cuts, cuts...)
		}
		return true
	case activeset.Unbounded:
		cuts := append(s.violated(sol.Z, p.in), s.endless(sol.Z, sol.Ray, p.in)...)
		p.cuts = append(p.cuts, cuts...)
		return len(cuts) > 0
	}
	return false
}

// objective is 1/2 z'Qz + cost'z.
func objective(q *sparse.CSR, cost, z []float64) float64 {
	of := sparse.Quadratic{Hess: q, Lin: cost}
	return of.Value(z)
}

// weightsOf are the multipliers of constraints in the sum of those of their tangents, which are the last of row; nil where all are 0.
func (s *search) weightsOf(row []float64, cuts []tangent) (weights []float64) {
	for k, t := range cuts {
		if m := -row[len(row)-len(cuts)+k]; m > 0 {
			if weights == nil {
				weights = make([]float64, len(s.curved))
			}
			_, _, by := s.row(&t)
			weights[t.Of] += m / by
		}
	}
	for k := 1; k < len(weights); k++ { // of an equation, the two sides of which stand next to each other
		if s.sys.Curved[k].Negated {
			both := min(weights[k-1], weights[k])
			weights[k-1], weights[k] = weights[k-1]-both, weights[k]-both
		}
	}
	return weights
}

// newton is the solution, with the bounds of the last solve, of the program `of` with tangents at `at` alone and the curvature of their constraints, by their multipliers, around it in the objective: beside tangents at other points these would move nothing. nil where it has none.
func (p *plunger) newton(ctx context.Context, of *activeset.Program, basis *activeset.Basis, at, cost, weights []float64) (next *activeset.Solution, cuts []tangent) {
	if weights == nil || cost == nil {
		return nil, nil
	}
	s, moved := p.s, slices.Clone(cost)
	for k, w := range weights {
		if w == 0 {
			continue
		}
		cuts = append(cuts, s.newTangent(k, at, p.in))
		for j := range s.curved[k].Lin { // 1/2 (z - at)'H(z - at)
			moved[j] -= w * s.curved[k].convex.RowDot(j, at)
		}
	}
	if len(cuts) == 0 {
		return nil, nil
	}
	of = s.withTangents(of, cuts)
	of.Q, of.C = s.withCurvature(of.Q, weights, len(cost)), moved
	of.Bounds.Lo, of.Bounds.Hi = p.bounds.Lo, p.bounds.Hi
	copy(of.RowLo, p.bounds.RowLo)
	copy(of.RowHi, p.bounds.RowHi)
	if rows := len(of.RowHi) - len(cuts); basis != nil {
		basis = fits(&activeset.Basis{Var: basis.Var, Row: basis.Row[:rows]}, len(of.RowHi))
	}
	next = newSolver(of).Solve(ctx, nil, basis, activeset.Options{})
	p.Work += next.Work
	p.Tried++
	if next.Status != activeset.Optimal {
		return nil, nil
	}
	return next, cuts
}

// withCurvature is a Hessian over n columns with multiples of the convex parts of constraints.
func (s *search) withCurvature(q *sparse.CSR, weights []float64, n int) *sparse.CSR {
	for k, w := range weights {
		if w == 0 {
			continue
		}
		h := wider(s.curved[k].convex, n)
		if q == nil {
			q = sparse.Add(w, h, 0, h)
		} else {
			q = sparse.Add(1, q, w, h)
		}
	}
	return q
}

// lagrangian is the linear part of an objective with multiples of the constraints, their secants over ranges, and the constant that they add.
func (s *search) lagrangian(cost, weights []float64, in ranges) (_ []float64, konst float64) {
	cost = slices.Clone(cost)
	for k, w := range weights {
		if w == 0 {
			continue
		}
		c := &s.curved[k]
		floats.AddScaled(cost[:len(c.Lin)], w, c.Lin)
		konst += w * c.Const
		for d := c.first; d < c.end; d++ {
			konst += s.concave.secant(cost, d, in.lo[d], in.hi[d], w)
		}
	}
	return cost, konst
}

// thin keeps those of a plunge's own tangents that are active in a node that is to be searched, and moves their rows in the bases behind those of before.
func (p *plunger) thin(before []tangent) (own []tangent) {
	shared, base := p.shared, p.s.rows()
	used := make([]bool, len(p.cuts))
	for _, n := range p.stack {
		if n.basis != nil {
			for k, state := range n.basis.Row[min(base, len(n.basis.Row)):] {
				used[k] = used[k] || state != activeset.Inactive
			}
		}
	}
	place := make([]int, len(p.cuts))
	for k := range p.cuts {
		switch {
		case k < shared:
			place[k] = k
		case used[k]:
			place[k] = len(before) + len(own)
			own = append(own, p.cuts[k])
		}
	}
	moved := map[*activeset.Basis]*activeset.Basis{}
	for _, n := range p.stack {
		b := n.basis
		if b == nil || len(b.Row) <= base+shared {
			continue
		}
		if moved[b] == nil {
			m := &activeset.Basis{Var: b.Var, Row: make([]activeset.State, base+len(before)+len(own))}
			copy(m.Row, b.Row[:base+shared])
			for k, state := range b.Row[base+shared:] {
				if state != activeset.Inactive {
					m.Row[base+place[shared+k]] = state
				}
			}
			moved[b] = m
		}
		n.basis = moved[b]
	}
	return own
}
