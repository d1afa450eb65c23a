package activeset

import (
	"context"
	"math"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// Solver solves one program with other bounds or another objective, and keeps
// the tableau between solves. It is not safe for concurrent use. What it
// returns depends on earlier solves by rounding, and by the choice between
// solutions that are equally good: after Forget on its arguments only.
type Solver struct {
	program Program
	scale   scaling
	q, a    *sparse.CSR // scaled
	c       []float64
	tab     *tableau
	st      *state
	built   bool // tab holds a working set of the present q and a
	broken  bool // a number of the scaled program, or of the objective, is not finite
	lost    bool // a side of the present bounds is not finite in its units

	near       float64          // the tolerance of signs and sides, next to their terms
	cutoff     float64          // scaled
	working    func(work int64) // Options.Working
	limit      int
	iterations int
	checked    int // pivots of tab at the last comparison with the data
	idle       int // pivots without progress
	perturbed  bool
	leastIndex bool // pivots by least index, which ends
	seed       uint64
	released   int // the last constraint that a primal phase released
	list       []candidate
	flips      []int

	farkasRow, farkasBound, ray []float64
	bound                       float64
}

// New prepares a program, which must not change afterwards. An error means
// that its shapes do not fit.
func New(p *Program) (*Solver, error) {
	s := new(Solver)
	return s, s.Load(p)
}

// Once solves a program from nothing, without a cutoff: Failed where its shapes do not fit.
func Once(ctx context.Context, p *Program) *Solution {
	solver, err := New(p)
	if err != nil {
		return &Solution{Status: Failed}
	}
	return solver.Solve(ctx, nil, nil, Options{})
}

// Load makes s, a new one or one with another program, the solver that New makes of p, in the storage that it has. What it has returned stays as it is.
func (s *Solver) Load(p *Program) error {
	if err := p.check(); err != nil {
		return err
	}
	if s.tab == nil {
		s.tab, s.st = new(tableau), new(state)
	}
	*s = Solver{tab: s.tab, st: s.st}
	s.prepare(p)
	s.fresh()
	return nil
}

// prepare scales a program whose shapes fit.
func (s *Solver) prepare(p *Program) {
	s.program, s.scale = *p, equilibrate(p.N, p.Q, p.A)
	s.a = s.scale.rows(p.A)
	s.q, s.c = s.scale.objective(p.Q, p.C)
	s.broken = !s.whole()
}

// fresh makes tableau and state those of the program before its first solve.
func (s *Solver) fresh() {
	n := s.program.N + s.program.rows()
	s.tab.reset(n, s.program.N)
	s.st.reset(n, s.program.N)
}

// Forget drops the tableau: the next solve builds it from the data.
func (s *Solver) Forget() { s.built = false }

// SetObjective replaces the objective by 1/2 z'qz + c'z, q nil for a linear
// one. The next solve may start from a basis of the old objective. A wrong
// shape panics: it is a bug of the caller.
func (s *Solver) SetObjective(q *sparse.CSR, c []float64) {
	if err := checkObjective(s.program.N, q, c); err != nil {
		panic(err)
	}
	was, same := s.q, q == s.program.Q
	s.program.Q, s.program.C = q, c
	s.q, s.c = s.scale.objective(q, c)
	s.broken = !s.whole()
	s.built = s.built && (was == nil && s.q == nil || same && q != nil)
}

// whole reports that all numbers of the scaled program are finite: sizes that
// are too far apart for the exponents of doubles are not.
func (s *Solver) whole() bool {
	return linalg.Finite(s.c) && (s.q == nil || linalg.Finite(s.q.Val)) && (s.a == nil || linalg.Finite(s.a.Val))
}

// install scales the bounds and the units of tolerances. It returns the
// constraint whose sides contradict each other, -1 where none do. The solver is
// lost where a side that is finite is not so in its units.
func (s *Solver) install(b *Bounds) int {
	st, n := s.st, s.program.N
	s.lost = false
	scaled := func(side, by float64) float64 {
		v := side * by
		s.lost = s.lost || math.IsInf(v, 0) && !math.IsInf(side, 0)
		return v
	}
	for j := 0; j < n; j++ {
		d := s.scale.d[j]
		st.lo[j], st.hi[j] = scaled(b.Lo[j], 1/d), scaled(b.Hi[j], 1/d)
		st.unit[j], st.unitM[j] = min(1, 1/d), min(1, s.scale.sigma*d)
	}
	for i := range b.RowLo {
		r := s.scale.r[i]
		st.lo[n+i], st.hi[n+i] = scaled(b.RowLo[i], r), scaled(b.RowHi[i], r)
		st.unit[n+i], st.unitM[n+i] = min(1, r), min(1, s.scale.sigma/r)
	}
	for k := range st.lo {
		lo, hi := st.lo[k], st.hi[k]
		if lo > hi && lo-hi <= tolerance.Sign*max(st.unit[k], math.Abs(lo), math.Abs(hi)) {
			st.hi[k] = lo
		} else if lo > hi || math.IsInf(lo, 1) || math.IsInf(hi, -1) {
			return k
		}
	}
	return -1
}

// start puts the tableau at the working set of warm, or at one of its own.
func (s *Solver) start(warm *Basis) {
	t, st, n := s.tab, s.st, s.program.N
	want := make([]bool, t.n)
	if warm != nil && len(warm.Var) == n && len(warm.Row) == t.n-n {
		copy(st.side, warm.Var)
		copy(st.side[n:], warm.Row)
		for k, side := range st.side {
			want[k] = side != Inactive
			if side == AtLower && math.IsInf(st.lo[k], -1) || side == AtUpper && math.IsInf(st.hi[k], 1) ||
				side == Held && (k >= n || s.nearest(k) != Held) || side < Inactive || side > Held {
				st.side[k] = s.nearest(k)
				want[k] = k < n || st.side[k] != Held
			}
		}
	} else {
		for k := range st.side {
			// Free variables are to be inactive, equations active; the other
			// variables start at their better side, as the costs have it.
			st.side[k] = s.nearest(k)
			if k >= n {
				want[k] = st.fixed(k)
				continue
			}
			want[k] = st.side[k] != Held
			if s.c[k] > 0 && !math.IsInf(st.lo[k], -1) {
				st.side[k] = AtLower
			} else if s.c[k] < 0 && !math.IsInf(st.hi[k], 1) {
				st.side[k] = AtUpper
			}
		}
	}
	clear(st.v)
	clear(st.m)
	clear(st.shift)
	st.shifted = false
	if !s.built || t.worn() { // refinement finds worn ones before
		t.build(s.q, s.a)
		s.built = true
		t.moveTo(want)
		t.pivots = 0
	} else {
		t.moveTo(want)
	}
	s.checked = t.pivots
	s.place(want)
}

// tick counts an iteration against the limits.
func (s *Solver) tick(ctx context.Context) outcome {
	if s.working != nil {
		s.working(s.tab.work)
	}
	if ctx.Err() != nil {
		return halted
	}
	if s.iterations > s.limit {
		return spent
	}
	return done
}

// Solve solves the program with the bounds b (nil: its own), from the working
// set warm (nil, or of another shape: from none).
func (s *Solver) Solve(ctx context.Context, b *Bounds, warm *Basis, opts Options) *Solution {
	if b == nil {
		b = &s.program.Bounds
	}
	if b.check(s.program.N, s.program.rows()) != nil {
		return &Solution{Status: Failed}
	}
	t, st := s.tab, s.st
	s.iterations, s.seed, t.work = 0, 1, 0
	s.farkasRow, s.farkasBound, s.ray = nil, nil, nil
	s.cutoff, s.near, s.working = math.Inf(1), tolerance.Sign, opts.Working
	if opts.Cutoff != nil {
		s.cutoff = *opts.Cutoff * s.scale.sigma
	}
	if opts.Sharp {
		s.near = tolerance.FewRoundings
	}
	if s.limit = opts.MaxIter; s.limit <= 0 {
		s.limit = 1000 + 50*t.n // simplex methods take 2 to 3 (N+M) (Dantzig), twenty times as many where it is degenerate
	}
	crossed := s.install(b)
	if s.broken || s.lost {
		return &Solution{Status: Failed, Basis: warm}
	}
	if crossed >= 0 {
		return &Solution{Status: Infeasible, Basis: warm}
	}
	s.start(warm)
	t.work += vectors * int64(t.n)
	// The phases alternate: twice is the rule, once more where an objective with shifts had another solution. From half of the rounds on pivots are by least index, and unperturbed.
	for round := range 2 * tolerance.Exchanges {
		if s.tick(ctx) == halted {
			return s.solution(Stopped)
		}
		s.leastIndex = round >= tolerance.Exchanges
		if s.perturbed {
			s.install(b)
			s.perturbed = false
		}
		good := s.refresh()
		if round%3 == 2 && t.pivots > 0 {
			s.rebuild()
			good = s.refresh()
		}
		feasible, signed := s.judge()
		if feasible && signed {
			if good {
				return s.solution(Optimal)
			}
			continue
		}
		var o outcome
		if feasible {
			o = s.primal(ctx)
		} else {
			if !signed {
				s.otherSides()
			}
			s.shiftExcess(func(int) float64 { return 0 })
			if o = s.dual(ctx); o == done {
				s.unshift()
			}
		}
		switch o {
		case noPoint:
			return s.solution(Infeasible)
		case noEnd:
			if s.settle(b) {
				return s.solution(Unbounded)
			}
		case beyond:
			return s.solution(CutOff)
		case halted:
			return s.solution(Stopped)
		case spent:
			return s.solution(Failed)
		case unreliable:
			for k := range st.m {
				if !t.active[k] {
					st.shiftTo(k, 0)
				}
			}
			s.rebuild()
			s.checked = 0
			if s.st.shifted {
				s.refresh()
				s.unshift()
			}
		}
	}
	return s.solution(Failed)
}

// settle recomputes the point from which a ray begins, where the constraint
// that is being released stays where it is, and reports whether it is feasible.
func (s *Solver) settle(b *Bounds) bool {
	st, q := s.st, s.released
	s.install(b)
	side := st.side[q]
	st.side[q], st.lo[q] = AtLower, st.v[q]
	good := s.refresh()
	feasible, _ := s.judge()
	st.side[q] = side
	s.perturbed = true // the side of q is to be put back
	return good && feasible
}

// judge reports whether all values are within their sides, and whether all
// multipliers have the right sign.
func (s *Solver) judge() (feasible, signed bool) {
	st := s.st
	feasible, signed = true, true
	for k := range st.v {
		if s.tab.active[k] {
			signed = signed && st.excess(k) <= st.tolM[k]
		} else if by, _ := st.violation(k); by > st.tolV[k] {
			feasible = false
		}
	}
	return feasible, signed
}

// otherSides puts constraints whose multipliers have the wrong sign at their
// other side, where that does not move multipliers.
func (s *Solver) otherSides() {
	st, t := s.st, s.tab
	for k := range st.m {
		if !t.active[k] || st.excess(k) <= st.tolM[k] || math.IsInf(st.hi[k]-st.lo[k], 1) {
			continue
		}
		if t.linear || t.at(k, k) == 0 {
			s.flip(k, t.first)
		}
	}
}

// solution is what the present state says, unscaled.
func (s *Solver) solution(status Status) *Solution {
	st, n := s.st, s.program.N
	out := &Solution{Status: status, Iterations: s.iterations, Work: s.tab.work,
		Basis: &Basis{Var: append([]State(nil), st.side[:n]...), Row: append([]State(nil), st.side[n:]...)}}
	switch status {
	case Infeasible:
		out.FarkasRow, out.FarkasBound = s.farkasRow, s.farkasBound
		return out
	case Unbounded:
		out.Ray = s.ray
	}
	if status == Stopped || status == Failed {
		return out
	}
	out.Z = make([]float64, n)
	for j := range out.Z {
		if status == Unbounded {
			st.z[j] = st.v[j]
		}
		out.Z[j] = st.z[j] * s.scale.d[j]
	}
	if status == Unbounded {
		out.Value = math.Inf(-1)
		return out
	}
	out.Row, out.Bound = make([]float64, len(st.u)), make([]float64, n)
	for i, u := range st.u {
		out.Row[i] = u * s.scale.r[i] / s.scale.sigma
	}
	for j, g := range st.g {
		if status == Optimal && st.side[j] == Inactive ||
			status == CutOff && st.sideless(j, g) {
			continue // 0 but for rounding
		}
		out.Bound[j] = g / s.scale.d[j] / s.scale.sigma
	}
	if status == CutOff {
		out.Value = s.bound
		return out
	}
	out.Value = s.value() / s.scale.sigma
	return out
}
