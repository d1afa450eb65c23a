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
//	minimize  max_i piece_i(z) + c'z + 1/2 z'Hz
//	subject to  a_i'z <= b_i or a_i'z = b_i,  lo <= z <= hi
//
// with H positive definite, n variables, m rows and any number of affine pieces,
// whose maximum, where there are some, makes it a model of gradients at several points.
// Multipliers follow the Lagrangian weights'pieces(z) + c'z + 1/2 z'Hz +
// lambda'(Az - b) + bound'z, so weights >= 0 and their sum is 1, lambda >= 0 on
// inequality rows, bound_j > 0 at an upper and < 0 at a lower bound.
package qp

import (
	"context"
	"math"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// Affine is the function offset + gradient'z.
type Affine struct {
	Offset   float64
	Gradient []float64 // len n, or less: further entries are 0
}

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
// the lower bound of z_j is m + j, its upper bound m + n + j, piece i is m + 2n + i.
type Problem struct {
	H      *Hessian
	Pieces []Affine
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
	Status  Status
	Z       []float64 // len n
	Lambda  []float64 // len m
	Bound   []float64 // len n
	Weights []float64 // one for each piece; nil for none
	Active  []int     // numbers of the constraints in the final working set, whose normals are independent
	// Farkas, of len m, and FarkasBound, of len n, prove infeasibility:
	// A'Farkas + FarkasBound = 0, Farkas >= 0 on inequality rows, and
	// b'Farkas + sum_j (FarkasBound_j hi_j if > 0, else FarkasBound_j lo_j) < 0.
	// Both are 0 where the bounds of one variable contradict each other by themselves.
	Farkas, FarkasBound []float64
	Iterations          int // changes of the working set
}

// active is a member of the working set: a piece of the common value, an active row, or an active bound that is not a fixed entry. Its column is U^-T of
// its gradient on the free entries, and lift for a piece, over norm. The lift makes the columns of pieces independent where their differences are, and
// changes nothing, as the weights add up to 1.
type active struct {
	number int
	equal  bool
	norm   float64 // of the column
	side   float64 // the constraint's value at z = at, for a piece less origin, over norm
	terms  float64 // the size of its terms, over norm
	one    float64 // 1/norm for a piece, 0 for others
	u      float64 // the multiplier
	move   float64 // of u, in a step of enter
}

// state is what a solve may begin from.
type state struct {
	fixed []int8 // -1 at lo, 1 at hi, 0 free; entries that H factorizes together are free
	set   []active
}

// copyTo overwrites dst, whose arrays it uses.
func (s state) copyTo(dst *state) {
	dst.fixed, dst.set = append(dst.fixed[:0], s.fixed...), append(dst.set[:0], s.set...)
}

// Workspace holds the state and the arrays of a solver between calls. The zero value is
// ready; it is not safe for concurrent use.
type Workspace struct {
	p    *Problem
	n, m int

	state

	// What follows from it.
	free      []int
	metric    metric
	factor    linalg.QR // of the members' columns, len(free)+1 each
	lift      float64   // the last entry of a piece's column
	origin    float64   // the value of a piece of the working set at z = at, from which the sides of pieces are taken
	at        []float64 // len n: fixed entries at their bounds, 0 elsewhere
	rhs       []float64 // len(free)+1: U^-T (c + H at) on the free entries, and 0
	w         []float64 // len(free)+1: U z on the free entries, and -lift
	z         []float64 // len n
	level     float64   // the common value of the pieces in the working set, 0 without
	termSizes []float64 // len n: the size of the terms that z_j is a sum of; |z_j| where H couples it
	size      float64   // of the terms that w is a sum of, in the norm
	force     []float64 // len n: the gradient of the Lagrangian without bounds at fixed entries
	sizes     []float64 // len n: the sizes of its terms
	change    []float64 // len n: of force, in a step of enter

	z0       []float64 // len n: the minimizer without constraints and pieces of entries that may be fixed
	slackTol float64   // violation, relative to the size of terms, that counts as none
	member   []bool    // of the working set, by constraint number
	ignored  []bool    // satisfied to rounding although dependent
	length   []float64 // Euclidean, of the gradients by constraint number
	changes  int       // of the state
	broken   []breach
	kept     state

	farkas, farkasBound []float64 // as in Solution

	column, coef, rest, step []float64 // len n+1
	normal, bend             []float64 // len n
	cost, move               []float64 // by member
}

// Solve minimizes p by the dual active-set method of Goldfarb and Idnani
// (Mathematical Programming 27, 1983), for max functions that of Kiwiel (1989), so
// that the pieces' common value needs no variable and no curvature of its own. The
// working set's normals are kept as a thin orthogonal factorization in the metric of
// H, and the iterate is recomputed from it at every full step, so that errors do not
// add up over the iterations. Entries at a bound, other than those that H factorizes
// together, are eliminated before anything is factorized, rows that are not active
// take no part. With f free entries, a members of the working set and the rank r of
// H, a change of the working set costs O(f (a + r) + a^2), one of the free entries
// O(f (a + r)^2), and a look at what is violated the entries of the constraints.
//
// Changes come in blocks while these raise the dual objective, one by one after that
// (see ascend), which ends for every program. ws may be nil.
func Solve(p *Problem, ws *Workspace) *Solution {
	if ws == nil {
		ws = &Workspace{}
	}
	if !ws.reset(p) {
		return ws.result(Failed)
	}
	if ws.crossed() {
		ws.farkas, ws.farkasBound = make([]float64, ws.m), make([]float64, ws.n)
		return ws.result(Infeasible)
	}
	return ws.result(ws.minimize())
}

// reset sizes the workspace for p and starts from its guess; it reports false where numbers are none.
func (ws *Workspace) reset(p *Problem) bool {
	n, m := p.H.Dim(), len(p.B)
	all := m + 2*n + len(p.Pieces)
	ws.p, ws.n, ws.m, ws.slackTol, ws.changes, ws.level = p, n, m, tolerance.Feasibility, 0, 0
	ws.farkas, ws.farkasBound = nil, nil
	for _, v := range []*[]float64{&ws.at, &ws.z, &ws.termSizes, &ws.force, &ws.sizes, &ws.change, &ws.z0, &ws.normal, &ws.bend} {
		*v = linalg.Cleared(*v, n)
	}
	for _, v := range []*[]float64{&ws.column, &ws.coef, &ws.rest, &ws.step} {
		*v = linalg.Cleared(*v, n+1)
	}
	ws.fixed, ws.set, ws.free = linalg.Cleared(ws.fixed, n), ws.set[:0], ws.free[:0]
	ws.member, ws.ignored = linalg.Cleared(ws.member, all), linalg.Cleared(ws.ignored, all)
	ws.length = linalg.Cleared(ws.length, all)
	for k := range ws.length {
		ws.length[k] = 1
		switch {
		case k < m:
			ws.length[k] = linalg.RowNorm(p.A, k)
			if math.IsNaN(p.B[k]) || math.IsNaN(ws.length[k]) {
				return false
			}
		case k >= m+2*n:
			a := &p.Pieces[k-m-2*n]
			ws.length[k] = linalg.Norm(a.Gradient)
			if math.IsNaN(a.Offset) || math.IsNaN(ws.length[k]) {
				return false
			}
		}
	}
	ws.admit()
	return ws.unconstrained()
}

// unconstrained makes z0.
func (ws *Workspace) unconstrained() bool {
	some, dense := false, ws.p.H.dense()
	for j := range ws.n {
		ws.free = append(ws.free, j)
		if v := ws.p.C[j]; j >= dense && v != 0 {
			ws.z0[j], some = -v, true
		}
	}
	if some {
		if !ws.metric.restrict(ws.p.H, ws.free) {
			return false
		}
		ws.metric.solveT(ws.z0)
		ws.metric.solve(ws.z0)
	}
	return true
}

// admit begins with the equalities, the guess, and one piece at least.
func (ws *Workspace) admit() {
	p := ws.p
	pieces := 0
	enter := func(k int) {
		if ws.member[k] {
			return
		}
		ws.member[k] = true
		ws.set = append(ws.set, active{number: k})
		if ws.isPiece(k) {
			pieces++
		}
	}
	for k := range ws.m + ws.n {
		if ws.isEqual(k) {
			enter(k)
		}
	}
	for _, k := range p.Warm {
		if k >= 0 && k < len(ws.member) && ws.exists(k) {
			enter(k)
		}
	}
	if len(p.Pieces) > 0 && pieces == 0 {
		// The largest one at z = 0; of equals the first.
		first := 0
		for i := range p.Pieces {
			if p.Pieces[i].Offset > p.Pieces[first].Offset {
				first = i
			}
		}
		enter(ws.m + 2*ws.n + first)
	}
}

// crossed reports a variable whose bounds contradict each other beyond doubt.
// Bounds that cross by less are taken for one point, by isEqual and exists.
func (ws *Workspace) crossed() bool {
	p := ws.p
	if p.Lo == nil || p.Hi == nil {
		return false
	}
	for j, lo := range p.Lo {
		if hi := p.Hi[j]; lo > hi && !(lo-hi <= tolerance.Sign*(math.Max(math.Abs(lo), p.boundTerms(j))+math.Max(math.Abs(hi), p.boundTerms(j)))) {
			return true
		}
	}
	return false
}

// result copies the solution out. Active bounds hold exactly, and multipliers that rounding made negative
// are set to zero.
func (ws *Workspace) result(status Status) *Solution {
	n, m := ws.n, ws.m
	s := &Solution{Status: status, Z: append([]float64(nil), ws.z...), Lambda: make([]float64, m), Bound: make([]float64, n), Iterations: ws.changes,
		Farkas: ws.farkas, FarkasBound: ws.farkasBound}
	if k := len(ws.p.Pieces); k > 0 {
		s.Weights = make([]float64, k)
	}
	for j, f := range ws.fixed {
		if f == 0 {
			continue
		}
		k := ws.boundOf(j)
		if s.Bound[j] = -ws.force[j]; !ws.isEqual(k) && s.Bound[j]*float64(f) < 0 {
			s.Bound[j] = 0
		}
		s.Active = append(s.Active, k)
	}
	sum := 0.0
	for i := range ws.set {
		a := &ws.set[i]
		u := a.u
		if !a.equal {
			u = math.Max(u, 0)
		}
		s.Active = append(s.Active, a.number)
		switch k := a.number; {
		case k < m:
			s.Lambda[k] = u
		case k < m+2*n:
			j, sign := ws.entry(k)
			s.Bound[j] += sign * u
			s.Z[j] = ws.bound(k)
		default:
			s.Weights[k-m-2*n] = u
			sum += u
		}
	}
	for i := range s.Weights {
		s.Weights[i] /= sum
	}
	if s.Weights != nil && !(sum > 0) && status == Solved {
		s.Status = Failed // rounding is all that is left of the pieces
	}
	return s
}
