package kkt

import (
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// Signs are what is positive at a point of the system, beyond Tolerance.
type Signs struct {
	Slack, Mult []bool // len M: s_i > 0, lambda_i > 0; equality rows have neither
}

// SignsAt reads the signs off z: s_i against what the largest entry of y of those that rows and H connect with it is in its row, lambda_i against the forces on the entries
// of y that it pushes itself: rows may connect these with others whose forces are larger by any factor. The largest of all of them, in the relaxation's units, leaves its rounding.
// The terms of x and of the right-hand side are exact numbers: of them s_i has the rounding alone, and what solutions promise of a row that holds.
func (s *System) SignsAt(z []float64) Signs {
	out := Signs{make([]bool, s.M), make([]bool, s.M)}
	slack, terms := make([]float64, s.M), make([]float64, s.M)
	s.Slack(slack, terms, z)
	answer, force := make([]float64, len(s.blocks)), make([]float64, len(s.blocks))
	for j, y := range s.Y(z) {
		raise(&answer[s.part[j]], math.Abs(y)/s.ColScale[s.Nx+j])
	}
	forces := s.forces(z)
	for j, v := range forces {
		raise(&force[s.part[j]], v*s.RowScale[j])
	}
	// What is left of terms that cancel is rounding: an answer that is 0 in all its entries has no size of its own, but that of its rows' terms, and of the forces
	// that H makes values of; and so have forces, of values that H makes forces of.
	noise, pushNoise := make([]float64, len(s.blocks)), make([]float64, len(s.blocks))
	for i, t := range terms {
		if k := s.partOf(i); k >= 0 {
			raise(&noise[k], 0x1p-45*t*s.rowUnit(i))
		}
	}
	for j := range forces {
		for c, v := range s.H.Entries(j) {
			k := s.part[c]
			raise(&pushNoise[k], math.Abs(v)*s.RowScale[j]*s.ColScale[s.Nx+c]*noise[k])
		}
	}
	moved := s.movedByForces(forces)
	for i, kind := range s.P.Rows.Kind {
		k := s.partOf(i)
		if kind == problem.Equal {
			continue
		}
		if k < 0 { // a row of x alone
			out.Slack[i] = slack[i] > tolerance.Feasibility*terms[i]
			continue
		}
		l, reach, push, counts, off := s.Lambda(z)[i], 0.0, 0.0, false, 0.0
		for j, v := range s.P.Rows.B.Entries(i) {
			off = math.Max(off, math.Abs(v)*moved[j])
			reach = math.Max(reach, math.Abs(v)*s.ColScale[s.Nx+j]*answer[k])
			push = math.Max(push, math.Abs(v*l)*s.RowScale[j])
			counts = counts || l > 0 && math.Abs(v*l) > tolerance.Sign*forces[j]
		}
		out.Slack[i] = slack[i] > math.Max(tolerance.Parted*reach, tolerance.Feasibility*terms[i]) && slack[i] > off && slack[i]*s.rowUnit(i) > noise[k]
		out.Mult[i] = counts && push > math.Max(0x1p-45*force[k], pushNoise[k])
	}
	return out
}

// movedByForces is by how much the rounding of forces moves each entry of y: by what its own curvature makes of that of its own force, however little others curve. One without curvature moves where one that curves does in an equation
// of both, or along answers that are all as good.
func (s *System) movedByForces(forces []float64) []float64 {
	moved, flat := make([]float64, s.Ny), make([]bool, s.Ny)
	for j, v := range forces {
		if h := math.Abs(s.H.At(j, j)); h > 0 {
			moved[j] = 0x1p-45 * v / h
		} else {
			flat[j] = true
		}
	}
	for i, kind := range s.P.Rows.Kind {
		most := 0.0
		for j, v := range s.P.Rows.B.Entries(i) {
			if kind == problem.Equal && !flat[j] {
				most = math.Max(most, math.Abs(v)*moved[j])
			}
		}
		for j, v := range s.P.Rows.B.Nonzeros(i) {
			if t := most / math.Abs(v); flat[j] && t > 0 && (moved[j] == 0 || t < moved[j]) {
				moved[j] = t
			}
		}
	}
	return moved
}

func raise(v *float64, to float64) { *v = math.Max(*v, to) }

// Block is a part of the follower's variables that neither rows nor H join to others: its entries of y, and the lower rows on them, both ascending.
type Block struct{ Y, Rows []int }

// Blocks are the blocks of the follower's variables; rows that read no y are in none.
func (s *System) Blocks() []Block { return s.blocks }

// connect finds the blocks, and of each entry of y its block and its place there.
func (s *System) connect() {
	s.part, s.inBlock = make([]int, s.Ny), make([]int, s.Ny)
	for k, entries := range sparse.Apart(s.H, s.P.Rows.B) {
		s.blocks = append(s.blocks, Block{Y: entries})
		for t, j := range entries {
			s.part[j], s.inBlock[j] = k, t
		}
	}
	s.looseRow = make([]bool, s.M)
	for i := range s.M {
		if k := s.partOf(i); k >= 0 {
			s.blocks[k].Rows = append(s.blocks[k].Rows, i)
		}
		cols, _ := s.P.Rows.B.Row(i)
		s.looseRow[i] = s.P.Loose != nil && slices.ContainsFunc(cols, func(j int) bool { return s.P.Loose[j] })
	}
}

// Loose reports that the row of pair k reads a hidden variable that only the leader keeps down (problem.Problem.Loose): its multiplier is 0 at all points of the system.
func (s *System) Loose(k int) bool { return s.looseRow[s.Pairs[k].Row] }

// press sets the hidden entries of y that the follower leaves open (problem.Problem.Loose) to the least that their rows leave: the larger side of their kinks. Those that
// others read come first.
func (s *System) press(x, y []float64) {
	if s.P.Loose == nil {
		return
	}
	for j := s.Ny - s.P.Hidden; j < s.Ny; j++ {
		if s.P.Loose[j] {
			y[j] = math.Inf(-1)
		}
	}
	for i, loose := range s.looseRow { // -t + what is beside it <= 0, t the last column that is not 0
		if !loose {
			continue
		}
		cols, vals := s.P.Rows.B.Row(i)
		last, rest := len(cols)-1, s.P.Rows.A.RowDot(i, x)-s.P.Rows.Rhs[i]
		for t, j := range cols[:last] {
			rest -= vals[t] * y[j]
		}
		y[cols[last]] = math.Max(y[cols[last]], rest/vals[last])
	}
}

// partOf is the part of a lower row; -1 where it reads no y.
func (s *System) partOf(i int) int {
	j, _ := s.P.Rows.B.First(i)
	if j < 0 {
		return -1
	}
	return s.part[j]
}

// rowUnit is what brings lower row i to the relaxation's units.
func (s *System) rowUnit(i int) float64 {
	unit := 0.0
	for j, v := range s.P.Rows.B.Entries(i) {
		unit = math.Max(unit, math.Abs(v)*s.ColScale[s.Nx+j])
	}
	if unit == 0 {
		return 1
	}
	return 1 / unit
}

// Forces are the sizes of the follower's forces on each entry of y at z, and of the multiplier of each row the largest that those on its entries make it: it may be more only where others
// cancel it. Where there is no force they are those of the relaxation's units.
func (s *System) Forces(z []float64) (force, mult []float64) {
	force, mult = s.forces(z), make([]float64, s.M)
	for j, v := range force {
		if v == 0 {
			force[j] = 1 / s.RowScale[j]
		}
	}
	for i := range mult {
		mult[i] = math.Inf(1)
		for j, v := range s.P.Rows.B.Nonzeros(i) {
			mult[i] = math.Min(mult[i], force[j]/math.Abs(v))
		}
		if math.IsInf(mult[i], 1) {
			mult[i] = s.ColScale[s.Nx+s.Ny+i]
		}
	}
	return force, mult
}

// forces are the sizes of the terms of each stationarity row at z.
func (s *System) forces(z []float64) []float64 {
	force := make([]float64, s.Ny)
	x, y, lambda := s.X(z), s.Y(z), s.Lambda(z)
	for j := range force {
		force[j] = s.G.AddTerms(s.H.AddTerms(math.Abs(s.Q[j]), j, y), j, x)
	}
	for i, l := range lambda {
		if l != 0 {
			for c, v := range s.P.Rows.B.Entries(i) {
				force[c] += math.Abs(v * l)
			}
		}
	}
	return force
}

// Unbalanced is what the multipliers of z leave of grad_y g (len Ny).
func (s *System) Unbalanced(z []float64) []float64 {
	left := each.Below(s.Ny, func(j int) float64 { return s.Q[j] + s.H.RowDot(j, s.Y(z)) + s.G.RowDot(j, s.X(z)) })
	for i, l := range s.Lambda(z) {
		s.P.Rows.B.AddRow(left, i, -l)
	}
	return left
}

// Strong are the rows with a positive multiplier at z, and the equality rows (len M).
func (s *System) Strong(z []float64) []bool {
	strong := s.SignsAt(z).Mult
	for i, kind := range s.P.Rows.Kind {
		if kind == problem.Equal {
			strong[i] = true
		}
	}
	return strong
}

// BranchAt is the branch that z lies on, with its biactive pairs, which are on the side with lambda_i = 0.
func (s *System) BranchAt(z []float64) (branch []Fix, biactive []int) {
	signs := s.SignsAt(z)
	branch = make([]Fix, len(s.Pairs))
	for k, p := range s.Pairs {
		branch[k] = MultZero
		if signs.Mult[p.Row] {
			branch[k] = SlackZero
		} else if !signs.Slack[p.Row] {
			biactive = append(biactive, k)
		}
	}
	return branch, biactive
}
