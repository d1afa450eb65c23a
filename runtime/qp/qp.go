// Package qp is the small dense optimization that the runtime rests on and
// that costs no oracle calls: strictly convex quadratic programs, nearest
// points, hulls of gradients, and feasibility of linear systems.
//
// Input are explicit matrices and vectors; output are solutions with their
// multipliers, or a Farkas vector where a system has no solution. Everything
// is deterministic, nothing is random, and nothing is kept between calls but
// what a Workspace or a Projector says it keeps.
//
// The quadratic program is
//
//	minimize 1/2 z'Hz + c'z  subject to  a_i'z <= b_i or a_i'z = b_i,  lo <= z <= hi
//
// with H positive definite, n variables and m rows. Multipliers follow the
// Lagrangian 1/2 z'Hz + c'z + lambda'(Az - b) + bound'z, so lambda >= 0 on
// inequality rows, bound_j > 0 at an upper and < 0 at a lower bound.
package qp

import (
	"context"
	"math"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// Status is how a solve ended.
type Status uint8

// The statuses.
const (
	Solved     Status = iota
	Infeasible        // no z satisfies rows and bounds: Solution.Farkas proves it, and the proof has been checked
	Failed            // a NaN in the input, no progress within the iteration limit, or rows that rounding does not decide
	Stopped           // the context ended
)

func (s Status) String() string {
	return [...]string{"solved", "infeasible", "numerical failure", "stopped"}[s]
}

// Problem is one quadratic program. Constraints are numbered: row i is i,
// the lower bound of z_j is m + j, its upper bound m + n + j.
type Problem struct {
	H      *Hessian
	C      []float64   // len n
	A      *sparse.CSR // m x n; nil for no rows
	Equal  []bool      // len m; true where the row is an equality; nil for none
	B      []float64   // len m
	Lo, Hi []float64   // len n, or nil; -Inf and +Inf where free
	// Terms, of len m, and BoundTerms, of len n, are the sizes of the terms that
	// the entries of B, and of Lo and Hi, are sums of, where these exceed their
	// absolute values: a side of 1e-16 may be what rounding has left of 0.8 - 0.8.
	// They say which violations the data decide. Either may be nil.
	Terms, BoundTerms []float64
	// Warm is a guess of the active constraints, by number; a good one saves
	// iterations, a wrong one only costs some.
	Warm []int
	// Context ends a solve with the status Stopped; nil for none.
	Context context.Context
}

// Solution of a Problem. Its slices are its own.
type Solution struct {
	Status Status
	Z      []float64 // len n
	Lambda []float64 // len m
	Bound  []float64 // len n
	Active []int     // numbers of the constraints in the final working set, whose normals are independent
	// Farkas, of len m, and FarkasBound, of len n, prove infeasibility:
	// A'Farkas + FarkasBound = 0, Farkas >= 0 on inequality rows, and
	// b'Farkas + sum_j (FarkasBound_j hi_j if > 0, else FarkasBound_j lo_j) < 0.
	// Both are 0 where the bounds of one variable contradict each other by themselves.
	Farkas, FarkasBound []float64
	Iterations          int // changes of the working set
}

// active is a member of the working set.
type active struct {
	number int
	equal  bool
	sign   float64 // the oriented constraint is sign * a'z <= sign * b
	norm   float64 // |U^-T a|, the normal's length in the metric of H
	rhs    float64 // sign * b / norm
	terms  float64 // the size of the terms of b, over norm
}

// Workspace holds the arrays of a solver between calls. The zero value is
// ready; it is not safe for concurrent use.
type Workspace struct {
	p       *Problem
	n, m    int
	factor  linalg.QR
	set     []active
	member  []bool // of the working set, by constraint number
	ignored []bool // satisfied to rounding although dependent

	w0, w, z   []float64 // len n: U z0, U z, z; z0 unconstrained minimizer
	termSizes  []float64 // len n: the size of the terms that z_j is a sum of
	normal     []float64 // len n
	rest       []float64 // len n: the normal's part orthogonal to the working set
	coef, r, u []float64 // len n: coefficients, their solve, multipliers
	rowNorm    []float64 // len m: Euclidean
	slackTol   float64
	size       float64 // of the terms that w is a sum of, in the norm
}

// Solve minimizes p by the dual active-set method of Goldfarb and Idnani
// (Mathematical Programming 27, 1983). The working set's normals are kept as a
// thin orthogonal factorization in the metric of H by Gram-Schmidt with
// reorthogonalization (Daniel, Gragg, Kaufman, Stewart 1976), and the iterate
// is recomputed from it at every full step, so that errors do not add up over
// the iterations. ws may be nil.
func Solve(p *Problem, ws *Workspace) *Solution {
	if ws == nil {
		ws = &Workspace{}
	}
	ws.reset(p)
	for _, v := range ws.w0 {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return ws.result(Failed, 0)
		}
	}
	if ws.crossed() {
		s := ws.result(Infeasible, 0)
		s.Farkas, s.FarkasBound = make([]float64, ws.m), make([]float64, ws.n)
		return s
	}
	iterations := ws.warmStart()
	// Each full step raises the dual objective strictly, so no working set
	// repeats; in practice their number is a small multiple of m + n.
	limit := 100 + 40*(ws.m+ws.n)
	best := ws.dualObjective()
	stalls := 0
	for {
		if p.Context != nil && p.Context.Err() != nil {
			return ws.result(Stopped, iterations)
		}
		k, violation, sign := ws.mostViolated()
		if k < 0 {
			return ws.result(Solved, iterations)
		}
		if iterations++; iterations > limit || math.IsNaN(violation) {
			return ws.result(Failed, iterations)
		}
		status := ws.enter(k, sign, violation, &iterations)
		if status != Solved {
			return ws.infeasible(k, sign, status, iterations)
		}
		// A step that does not raise the dual objective is a violation at
		// the level of rounding: widen that level, at most to the point
		// where constraints are anyhow undecided.
		if now := ws.dualObjective(); now > best {
			best, stalls = now, 0
		} else if stalls++; stalls > 3 && ws.slackTol < tolerance.Contradiction {
			ws.slackTol *= 10
			stalls = 0
		}
	}
}

// reset sizes the workspace for p and starts from the unconstrained minimizer.
func (ws *Workspace) reset(p *Problem) {
	n, m := p.H.Dim(), len(p.B)
	ws.p, ws.n, ws.m, ws.slackTol = p, n, m, tolerance.Feasibility
	for _, v := range []*[]float64{&ws.w0, &ws.w, &ws.z, &ws.termSizes, &ws.normal, &ws.rest, &ws.coef, &ws.r, &ws.u} {
		*v = linalg.Cleared(*v, n)
	}
	ws.rowNorm = linalg.Cleared(ws.rowNorm, m)
	for i := range ws.rowNorm {
		_, vals := p.A.Row(i)
		ws.rowNorm[i] = linalg.Norm(vals)
	}
	ws.member = linalg.Cleared(ws.member, m+2*n)
	ws.ignored = linalg.Cleared(ws.ignored, m+2*n)
	ws.set = ws.set[:0]
	ws.factor.Reset(n)
	for j, v := range p.C {
		ws.w0[j] = -v
	}
	p.H.solveT(ws.w0)
	ws.refresh()
}

// warmStart enters the guessed constraints that are independent, and leaves
// out those whose multiplier is negative: what remains is the solution of a
// subproblem, from which the dual method may start.
func (ws *Workspace) warmStart() (changes int) {
	for _, k := range ws.p.Warm {
		if k < 0 || k >= len(ws.member) || ws.member[k] || !ws.exists(k) {
			continue
		}
		a := ws.orient(k, 1)
		if a.norm == 0 {
			continue
		}
		rest := ws.factor.Split(ws.normal, ws.coef, ws.rest)
		if rest <= math.Sqrt(tolerance.Dependence) { // a guess need not be taken near dependence
			continue
		}
		ws.push(a, rest)
		changes++
	}
	for len(ws.set) > 0 {
		ws.refresh()
		worst := -1
		for i, a := range ws.set {
			if !a.equal && ws.u[i] < 0 && (worst < 0 || ws.u[i] < ws.u[worst]) {
				worst = i
			}
		}
		if worst < 0 {
			break
		}
		ws.drop(worst)
		changes++
	}
	ws.refresh()
	return changes
}

// enter takes steps in the dual space until constraint k holds and is in the
// working set. Solved means done; Infeasible that the working set and k
// contradict each other: ws.r then combines the working set's normals to k's.
func (ws *Workspace) enter(k int, sign, violation float64, iterations *int) Status {
	a := ws.orient(k, sign)
	if a.norm == 0 {
		// An empty row: 0 <= b with b < 0.
		return Infeasible
	}
	violation /= a.norm
	if ws.p.H.dense != nil && violation <= tolerance.Feasibility*ws.size {
		// Within what rounding of w makes of z, which spread does not tell where
		// H couples variables.
		ws.ignored[k] = true
		return Solved
	}
	uk := 0.0
	for {
		rest := ws.factor.Split(ws.normal, ws.coef, ws.rest)
		q := len(ws.set)
		copy(ws.r[:q], ws.coef[:q])
		ws.factor.Solve(ws.r[:q])
		// t1: the largest step that keeps the multipliers nonnegative.
		t1, leaving := math.Inf(1), -1
		for i, member := range ws.set {
			if !member.equal && ws.r[i] > 0 {
				if t := ws.u[i] / ws.r[i]; t < t1 {
					t1, leaving = t, i
				}
			}
		}
		t2 := math.Inf(1)
		if rest > tolerance.Dependence {
			t2 = violation / (rest * rest)
		}
		if math.IsInf(t1, 1) && math.IsInf(t2, 1) {
			if violation*a.norm <= tolerance.Contradiction*ws.termSize(k) {
				ws.ignored[k] = true
				ws.refresh()
				return Solved
			}
			return Infeasible
		}
		t := math.Min(t1, t2)
		for i := range ws.set {
			ws.u[i] -= t * ws.r[i]
		}
		uk += t
		if t2 <= t1 {
			ws.push(a, rest)
			ws.refresh()
			return Solved
		}
		if !math.IsInf(t2, 1) {
			violation -= t * rest * rest
		}
		ws.u[leaving] = 0
		copy(ws.u[leaving:q-1], ws.u[leaving+1:q])
		ws.drop(leaving)
		*iterations++
	}
}

// push adds the constraint whose normal has just been split to the working set.
func (ws *Workspace) push(a active, rest float64) {
	ws.factor.Push(ws.coef, ws.rest, rest)
	ws.set = append(ws.set, a)
	ws.member[a.number] = true
}

// drop takes member i out of the working set. A constraint ignored as
// dependent on it counts again.
func (ws *Workspace) drop(i int) {
	ws.factor.Drop(i)
	ws.member[ws.set[i].number] = false
	ws.set = append(ws.set[:i], ws.set[i+1:]...)
	for k := range ws.ignored {
		ws.ignored[k] = false
	}
}

// refresh recomputes w, z and u as the solution with the working set's
// constraints as equalities: with G = QR their normals and h their sides,
// w = w0 + Q (R^-T h - Q'w0) and u = R^-1 (Q'w0 - R^-T h).
func (ws *Workspace) refresh() {
	q := len(ws.set)
	for i, a := range ws.set {
		ws.r[i] = a.rhs
	}
	ws.factor.SolveT(ws.r[:q])
	copy(ws.w, ws.w0)
	for j, v := range ws.w0 {
		ws.termSizes[j] = math.Abs(v)
	}
	sides := 0.0 // the largest of the terms of the sides so far
	for i := 0; i < q; i++ {
		sides = math.Max(sides, ws.set[i].terms)
		col := ws.factor.Column(i)
		ws.u[i] = linalg.Dot(col, ws.w0) - ws.r[i]
		linalg.Axpy(ws.w, -ws.u[i], col)
		size := math.Max(math.Abs(ws.r[i]), sides)
		for j, v := range ws.w0 {
			size += math.Abs(col[j] * v)
		}
		for j, v := range col {
			if v != 0 {
				// 1/64 is the error of the entries of the orthonormal basis, in units of tolerance.Feasibility: about ten roundings. Where
				// it is 0 nothing was added up.
				ws.termSizes[j] += size * (math.Abs(v) + 1.0/64)
			}
		}
	}
	ws.factor.Solve(ws.u[:q])
	copy(ws.z, ws.w)
	ws.p.H.solve(ws.z)
	ws.size = linalg.Norm(ws.termSizes)
	ws.p.H.sizesOfSolution(ws.termSizes, ws.z)
}

// crossed reports a variable whose bounds contradict each other beyond doubt.
// Bounds that cross by less are taken for one point, by isEqual and exists.
func (ws *Workspace) crossed() bool {
	p := ws.p
	if p.Lo == nil || p.Hi == nil {
		return false
	}
	for j, lo := range p.Lo {
		if hi := p.Hi[j]; lo > hi && !(lo-hi <= tolerance.Contradiction*(math.Max(math.Abs(lo), p.boundTerms(j))+math.Max(math.Abs(hi), p.boundTerms(j)))) {
			return true
		}
	}
	return false
}

// dualObjective is |w - w0|^2 / 2, which full steps raise.
func (ws *Workspace) dualObjective() float64 {
	s := 0.0
	for j, v := range ws.w {
		d := v - ws.w0[j]
		s += d * d
	}
	return s / 2
}

// assign adds value times the (unoriented) multiplier of member a.
func (ws *Workspace) assign(a active, value float64, row, bound []float64) {
	value *= a.sign / a.norm
	switch {
	case a.number < ws.m:
		row[a.number] += value
	case a.number < ws.m+ws.n:
		bound[a.number-ws.m] -= value
	default:
		bound[a.number-ws.m-ws.n] += value
	}
}

// result copies the solution out. Multipliers that rounding made negative
// are set to zero.
func (ws *Workspace) result(status Status, iterations int) *Solution {
	s := &Solution{Status: status, Z: append([]float64(nil), ws.z...), Lambda: make([]float64, ws.m),
		Bound: make([]float64, ws.n), Iterations: iterations}
	for i, a := range ws.set {
		u := ws.u[i]
		if !a.equal {
			u = math.Max(u, 0)
		}
		ws.assign(a, u, s.Lambda, s.Bound)
		s.Active = append(s.Active, a.number)
	}
	return s
}

// infeasible builds the Farkas vector from the combination in ws.r: the normal
// of k equals the sum of r_i times those of the working set, with r_i <= 0 on
// inequalities, while its side is below the same sum of sides.
func (ws *Workspace) infeasible(k int, sign float64, status Status, iterations int) *Solution {
	if status != Infeasible {
		return ws.result(status, iterations)
	}
	s := ws.result(Infeasible, iterations)
	s.Farkas, s.FarkasBound = make([]float64, ws.m), make([]float64, ws.n)
	a := ws.orient(k, sign)
	if a.norm == 0 {
		s.Farkas[k] = sign
	} else {
		ws.assign(a, 1, s.Farkas, s.FarkasBound)
		for i, member := range ws.set {
			v := -ws.r[i]
			if !member.equal {
				v = math.Max(v, 0)
			}
			ws.assign(member, v, s.Farkas, s.FarkasBound)
		}
	}
	if !ws.p.refuted(s.Farkas) {
		s.Status = Failed
	}
	return s
}
