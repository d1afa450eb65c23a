package kkt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// What a follower with several answers to one x may answer: the best and the worst for the leader, the shortest.

// ErrCurved is wrapped by the error of Extreme for an objective that is not convex over the follower's answers.
var ErrCurved = errors.New("more than one of the follower's answers may be stationary")

// Extreme minimizes sign times the leader's objective over the follower's optimal set at z's x, from z, a point of it. With any
// dual solution lambda, y is optimal exactly where it is feasible, s_i = 0 for each lambda_i > 0, and H y is what it is at another optimal y.
// Where sign is positive, the answer keeps the leader's rows that read the follower, if one of the set does.
// It needs sign times f convex in y: of an f that is not quadratic that has to be shown (problem.Problem.ConvexF). Where a quadratic one falls along a ray of them, the error is a NoEnd.
func (f *Follower) Extreme(ctx context.Context, z []float64, sign float64) ([]float64, error) {
	if sign < 0 && f.s.P.Loose != nil {
		return nil, errors.New("where the leader's objective has kinks, the answer worst for it is the solution of no convex program")
	}
	if s := f.s; !s.Objective.Known && (s.P.ConvexF == nil || !s.P.ConvexF(s.X(z), sign)) {
		return nil, fmt.Errorf("%w: the leader's objective is not shown to be %s in y", ErrCurved, map[bool]string{true: "convex", false: "concave"}[sign > 0])
	}
	program := f.face(z)
	if s := f.s; sign > 0 && s.P.Coupled != nil {
		kept := *program
		kept.A = program.A.Clone()
		kept.RowLo, kept.RowHi = slices.Clone(program.RowLo), slices.Clone(program.RowHi)
		f.keepCoupled(&kept, z)
		out, status, err := f.extreme(ctx, &kept, z, sign)
		if err != nil || status != activeset.Infeasible {
			return out, failure(status, err)
		}
	}
	out, status, err := f.extreme(ctx, program, z, sign)
	return out, failure(status, err)
}

// Indifferent reports that f is the same at all of the follower's answers at z's x, as it is affine in y there with slopes that are those of g times a number: g is the same at all of them, and so is what it
// rises by along their differences. Beside -g a leader interdicts.
func (f *Follower) Indifferent(z []float64) bool {
	s := f.s
	if len(s.P.Duals) > 0 || !s.Objective.Known || f.curvature(z, 1) != nil {
		return false
	}
	grad, force, own := make([]float64, s.N), make([]float64, s.Ny), s.forces(z)
	s.Gradient(grad, z)
	s.P.G.GradY(force, s.X(z), s.Y(z))
	by, slopes := 0.0, s.Y(grad)
	if size := linalg.Dot(force, force); size > 0 {
		by = linalg.Dot(slopes, force) / size
	}
	for j, v := range slopes {
		if math.Abs(v-by*force[j]) > tolerance.Rounded*(math.Abs(v)+math.Abs(by)*own[j]) {
			return false
		}
	}
	return true
}

// LeastNorm is the one of the follower's answers at z's x whose y, as far as it is the model's, has the least norm, from z, one of them.
func (f *Follower) LeastNorm(ctx context.Context, z []float64) ([]float64, error) {
	s, program := f.s, f.face(z)
	entries := each.Below(s.Ny-s.P.Hidden, func(j int) sparse.Entry {
		c := s.ColScale[s.Nx+j]
		return sparse.Entry{Row: j, Col: j, Val: c * c}
	})
	program.Q = sparse.FromEntries(s.Ny, s.Ny, entries)
	return f.over(ctx, program, z)
}

// Toward is the one of the follower's answers at z's x at which direction'y is least, y in units of the relaxation (len Ny), from z, one of them: a vertex of the set of them where there is one.
func (f *Follower) Toward(ctx context.Context, z, direction []float64) ([]float64, error) {
	program := f.face(z)
	copy(program.C, direction)
	return f.over(ctx, program, z)
}

// over is the solution of a convex program over the answers at z's x.
func (f *Follower) over(ctx context.Context, program *activeset.Program, z []float64) ([]float64, error) {
	sol := f.once(ctx, program)
	if sol.Status != activeset.Optimal {
		return nil, failure(sol.Status, nil)
	}
	out := slices.Clone(z)
	f.place(out, sol.Z)
	return out, nil
}

// place puts y in the relaxation's units into z.
func (f *Follower) place(z, y []float64) {
	for j, v := range y {
		z[f.s.Nx+j] = v * f.Unit(j)
	}
}

// failure is the error of a program over the answers.
func failure(status activeset.Status, err error) error {
	if err == nil && status != activeset.Optimal {
		return fmt.Errorf("the follower's other answers: %v", status)
	}
	return err
}

// face is a program without an objective whose points are the follower's answers at z's x, in the relaxation's units.
func (f *Follower) face(z []float64) *activeset.Program {
	s := f.s
	_, b := f.at(s.X(z))
	program := &activeset.Program{N: s.Ny, C: make([]float64, s.Ny), A: f.program.A.Clone(),
		Bounds: activeset.Bounds{RowLo: b.RowLo, RowHi: b.RowHi, Lo: slices.Clone(b.Lo), Hi: slices.Clone(b.Hi)}}
	held := s.Strong(z)
	for k, r := range f.rowOf {
		if held[s.Origin[r].Index] {
			program.RowHi[k] = program.RowLo[k]
		}
	}
	for k, i := range f.bounds {
		if i >= 0 && held[i] {
			if k%2 == 0 {
				program.Hi[k/2] = program.Lo[k/2]
			} else {
				program.Lo[k/2] = program.Hi[k/2]
			}
		}
	}
	q := f.program.Q
	if q == nil {
		return program
	}
	scaled := f.scaled(z)
	for i := range s.Ny {
		cols, vals := q.Row(i)
		if len(cols) == 0 {
			continue
		}
		program.A.AppendAll(cols, vals)
		program.A.EndRow()
		v := q.RowDot(i, scaled)
		program.RowLo, program.RowHi = append(program.RowLo, v), append(program.RowHi, v)
	}
	return program
}

// scaled is y of z in the relaxation's units.
func (f *Follower) scaled(z []float64) []float64 {
	return each.Below(f.s.Ny, func(j int) float64 { return f.s.Y(z)[j] / f.Unit(j) })
}

// keepCoupled adds the leader's rows that read the follower, at z's x and multipliers, to a program in y.
func (f *Follower) keepCoupled(program *activeset.Program, z []float64) {
	s := f.s
	for r, o := range s.Origin {
		if o.Kind == CoupledRow {
			lo, hi := s.rowAt(program.A, r, z, s.Nx, s.Nx+s.Ny, s.Nx, s.Relaxation.RowLo[r], s.Relaxation.RowHi[r])
			program.RowLo, program.RowHi = append(program.RowLo, lo), append(program.RowHi, hi)
		}
	}
}

// rowAt appends to dst row r of the relaxation in the variables from first to last-1, with the others at z: the first of its columns is that of number shift. It returns what is left
// of the sides lo and hi. They are numbers, so that programs hold the row to what is left of it, and not to terms of x that cancel in it. A row that z itself keeps but for rounding is
// asked of others as far as z keeps it.
func (s *System) rowAt(dst *sparse.CSR, r int, z []float64, first, last, shift int, lo, hi float64) (float64, float64) {
	rest, own, terms := 0.0, 0.0, 0.0
	for j, a := range s.Relaxation.A.Entries(r) {
		v := a * z[j] / s.ColScale[j]
		terms += math.Abs(v)
		if j >= first && j < last {
			dst.Append(j-shift, a)
			own += v
		} else {
			rest += v
		}
	}
	dst.EndRow()
	equal := lo == hi
	lo, hi = lo-rest, hi-rest
	if lo-own <= tolerance.Feasibility*terms {
		lo = math.Min(lo, own)
	}
	if own-hi <= tolerance.Feasibility*terms {
		hi = math.Max(hi, own)
	}
	if equal && lo <= own && own <= hi {
		return own, own
	}
	return lo, hi
}

// extreme minimizes sign times f over the points of a program: one convex program where f is quadratic, else by sequential quadratic programs
// with line searches (Nocedal and Wright 2006, chapter 18).
func (f *Follower) extreme(ctx context.Context, program *activeset.Program, z []float64, sign float64) ([]float64, activeset.Status, error) {
	s := f.s
	out := slices.Clone(z)
	value := math.Inf(1)
	for step := range tolerance.Steps {
		hess := f.curvature(out, sign)
		for part := FirstStep * FirstStep; !s.Objective.Known && part < 1 && !Semidefinite(hess); part *= 2 { // f is convex, and what lies below 0 is the error of differences, as along sums that f alone reads
			more := part * linalg.NormInf(hess.Val)
			hess = sparse.Add(1, hess, 1, sparse.FromEntries(s.Ny, s.Ny, each.Below(s.Ny, func(j int) sparse.Entry { return sparse.Entry{Row: j, Col: j, Val: more} })))
		}
		if !Semidefinite(hess) {
			return nil, 0, fmt.Errorf("%w: the leader's objective is not %s in y", ErrCurved, map[bool]string{true: "convex", false: "concave"}[sign > 0])
		}
		grad, at := make([]float64, s.N), f.scaled(out)
		s.Gradient(grad, out)
		for j := range program.C {
			program.C[j] = sign * grad[s.Nx+j] * s.ColScale[s.Nx+j]
		}
		slopes := slices.Clone(program.C)
		if hess != nil {
			for i := range program.C {
				program.C[i] -= hess.RowDot(i, at)
			}
		}
		program.Q = hess
		sol := f.once(ctx, program)
		if sol.Status == activeset.Unbounded && s.Objective.Known {
			ray := make([]float64, s.N)
			f.place(ray, sol.Ray)
			return nil, sol.Status, &NoEnd{ray}
		}
		if sol.Status != activeset.Optimal || s.Objective.Known {
			if sol.Status == activeset.Optimal {
				f.place(out, sol.Z)
			}
			return out, sol.Status, nil
		}
		slope, terms := 0.0, 0.0
		for j, g := range slopes {
			slope += g * (sol.Z[j] - at[j])
			terms += math.Abs(g * (sol.Z[j] - at[j]))
		}
		if step == 0 { // z need not keep the program's rows
			f.place(out, sol.Z)
			value = sign * s.Value(out)
			continue
		}
		if !(-slope > 0x1p-49*(math.Abs(value)+terms)) { // less than a few roundings
			return out, activeset.Optimal, nil
		}
		next, y, t := slices.Clone(out), make([]float64, s.Ny), 1.0
		for ; t > 0x1p-40; t /= 2 {
			for j := range y {
				y[j] = at[j] + t*(sol.Z[j]-at[j])
			}
			f.place(next, y)
			if v := sign * s.Value(next); v <= value+1e-4*t*slope { // Nocedal and Wright (3.4)
				value = v
				break
			}
		}
		if t <= 0x1p-40 {
			return out, activeset.Optimal, nil // f falls by less than rounding
		}
		out = next
	}
	return nil, 0, errors.New("the search over the follower's answers does not end")
}

// curvature is sign times the Hessian of f in y at z, in the relaxation's units; nil where it is 0.
func (f *Follower) curvature(z []float64, sign float64) *sparse.CSR {
	s := f.s
	full := s.Hessian(z)
	if full == nil {
		return nil
	}
	entries := []sparse.Entry{}
	for i := range s.Ny {
		for j, v := range full.Nonzeros(s.Nx + i) {
			if j >= s.Nx && j < s.Nx+s.Ny {
				entries = append(entries, sparse.Entry{Row: i, Col: j - s.Nx, Val: sign * v * s.ColScale[s.Nx+i] * s.ColScale[j]})
			}
		}
	}
	if len(entries) == 0 {
		return nil
	}
	return sparse.FromEntries(s.Ny, s.Ny, entries)
}
