package kkt

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// Interior is an affine map y(x) = At + sum of By[k] x_Entry[k], for the entries Y of y, which are a part of the lower level, inside of its constraints for all x of their box, but on the edge of those that none is inside
// of; H and Squares_r B_i'B_i of rows i = Rows[r] whose slack is 0 at all y that satisfy the constraints less the diagonal matrix Curvature is positive semidefinite there (nil: none with positive entries is known). Where that and bounds do not bound y, Mult + sum of MultBy[c] x_c are multipliers of Rows that are
// stationary along the map, and positive on inequalities. Model's units.
type Interior struct {
	Y, Rows, Entry []int
	At             []float64
	By             [][]float64
	Curvature      []float64
	Squares        []float64
	Mult           []float64
	MultBy         map[int][]float64
}

// Interiors are those of the parts of the lower level that have one, and the system within the bounds of y and multipliers that they give. A map that rounding has outside of a constraint on whose edge it is gives none:
// how far beyond them an answer may be depends on the multiplier of that constraint.
func (s *System) Interiors(ctx context.Context) (all []Interior, boxed *System, err error) {
	defer must.Catch(&err)
	l := &limiter{s: s, ctx: ctx, program: *s.Relaxation, edges: true}
	l.program.Lo, l.program.Hi = append([]float64(nil), s.Relaxation.Lo...), append([]float64(nil), s.Relaxation.Hi...)
	for _, p := range s.blocks {
		lo, hi := slices.Clone(l.program.Lo), slices.Clone(l.program.Hi)
		in, _ := l.multipliers(p)
		if in == nil {
			continue
		}
		l.dual(p, in, &in.plain)
		all = append(all, in.plain)
		if !in.inside {
			l.program.Lo, l.program.Hi = lo, hi
			continue
		}
		l.basic(p)
	}
	whole, program := *s, *s.Relaxation
	program.Lo, program.Hi = l.program.Lo, l.program.Hi
	whole.Relaxation = &program
	return all, &whole, nil
}

// plain is an affine map around 0.
func (l *limiter) plain(p Block, in *affine) Interior {
	out := Interior{Y: p.Y, Rows: p.Rows, At: append([]float64(nil), in.at...)}
	for c := range l.s.Nx {
		by := in.by[c]
		if by == nil {
			continue
		}
		lo, hi := l.box(c)
		slope := make([]float64, len(by))
		for k, v := range by {
			if v != 0 && hi > lo {
				slope[k] = v / ((hi - lo) / 2)
				out.At[k] -= slope[k] * (lo + hi) / 2
			}
		}
		out.Entry, out.By = append(out.Entry, c), append(out.By, slope)
	}
	return out
}

// edge reports whether there is a map that satisfies the constraints exactly, for all x of their box: the one given, or one by rounding from it that satisfies the rows of which it is on the edge by rounding, the equations
// among them: those that are independent, of which the others are combinations, exactly. Then all other rows have more slack than rounding. vanishes are the rows, by their place, whose slack is 0 at all y that satisfy the
// constraints: equations, and inequalities that a combination with positive weights shows to be some.
func (l *limiter) edge(in *Interior) (inside bool, vanishes []bool) {
	s, exact, clear := l.s, true, true // clear: of rows that are not held
	vanishes = make([]bool, len(in.Rows))
	var equations, held []int
	type span struct{ lo, hi, rounding float64 }
	slacks := make([]span, len(in.Rows))
	for r, i := range in.Rows {
		lo, hi, terms := l.slack(in, i)
		vanishes[r], slacks[r] = s.P.Rows.Kind[i] == problem.Equal, span{lo, hi, tolerance.HalfDigits * terms}
		exact = exact && lo >= 0 && (!vanishes[r] || hi == 0)
	}
	for r, of := range slacks {
		off := math.Max(-of.lo, of.hi)
		switch onEdge := off == 0 || !exact && off <= of.rounding/2; { // half: verification counts terms, and rounding, in its own way
		case onEdge && vanishes[r]:
			equations = append(equations, r)
		case onEdge:
			held = append(held, r)
		default:
			clear = clear && of.lo > 2*of.rounding
		}
	}
	var factors linalg.QR
	factors.Reset(len(in.Y))
	var independent []int
	rest, size := make([]float64, len(in.Y)), make([]float64, len(in.Rows))
	for _, r := range append(equations, held...) {
		row := make([]float64, len(in.Y))
		for j, v := range s.P.Rows.B.Nonzeros(in.Rows[r]) {
			row[s.inBlock[j]] = v
		}
		if size[r] = linalg.Norm(row); size[r] > 0 {
			floats.Scale(1/size[r], row)
		}
		coef := make([]float64, len(independent)+1)
		if left := factors.Split(row, coef, rest); left > tolerance.Target {
			factors.Push(coef, rest, left)
			independent = append(independent, r)
			continue
		}
		factors.Solve(coef[:len(independent)])
		for k, of := range independent {
			const digits = 20 // few, so that combinations of rows with few digits are exact
			coef[k] = math.Ldexp(math.Round(math.Ldexp(coef[k]*size[r]/size[of], digits)), -digits)
		}
		if !l.combination(in.Rows, r, independent, coef) {
			clear = false
			continue
		}
		adds, takes := false, false // inequalities, to and from the slack of row r
		for k, of := range independent {
			adds, takes = adds || !vanishes[of] && coef[k] > 0, takes || !vanishes[of] && coef[k] < 0
		}
		if !adds || vanishes[r] && !takes {
			vanishes[r] = true
			for k, of := range independent {
				vanishes[of] = vanishes[of] || coef[k] != 0
			}
		}
	}
	return exact || clear, vanishes
}

// slack is the range of that of row i along a map, to rounding of what is exact, and the sum of its absolute terms.
func (l *limiter) slack(in *Interior, i int) (lo, hi, terms float64) {
	s, product := l.s, new(big.Rat)
	along := func(y []float64) (sum *big.Rat, size float64) {
		sum = new(big.Rat)
		for j, v := range s.P.Rows.B.Nonzeros(i) { // entries that are zero join no blocks
			at := y[s.inBlock[j]]
			sum.Add(sum, product.Mul(exactly(v), exactly(at)))
			size += math.Abs(v * at)
		}
		return sum, size
	}
	least, size := along(in.At)
	least.Add(least, exactly(s.P.Rows.Rhs[i]))
	terms = size + math.Abs(s.P.Rows.Rhs[i])
	most := new(big.Rat).Set(least)
	for k, c := range in.Entry {
		a := s.P.Rows.A.At(i, c)
		slope, size := along(in.By[k])
		slope.Sub(slope, exactly(a))
		lo, hi := l.box(c)
		terms += (math.Abs(a) + size) * math.Max(math.Abs(lo), math.Abs(hi))
		if slope.Sign() < 0 {
			lo, hi = hi, lo
		}
		least.Add(least, product.Mul(slope, exactly(lo)))
		most.Add(most, slope.Mul(slope, exactly(hi)))
	}
	lo, _ = least.Float64()
	hi, _ = most.Float64()
	return lo, hi, terms
}

func exactly(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) }

// combination reports whether a row is exactly one of others with these weights: all by their places among rows.
func (l *limiter) combination(rows []int, row int, of []int, weights []float64) bool {
	s, product, rest := l.s, new(big.Rat), map[int]*big.Rat{}
	take := func(i int, w float64) {
		add := func(at int, v float64) {
			if rest[at] == nil {
				rest[at] = new(big.Rat)
			}
			rest[at].Sub(rest[at], product.Mul(exactly(w), exactly(v)))
		}
		add(-1, s.P.Rows.Rhs[i])
		for c, v := range s.P.Rows.A.Nonzeros(i) {
			add(c, v)
		}
		for j, v := range s.P.Rows.B.Nonzeros(i) {
			add(s.Nx+j, v)
		}
	}
	take(rows[row], -1)
	for k, r := range of {
		if weights[k] != 0 {
			take(rows[r], weights[k])
		}
	}
	for _, v := range rest {
		if v.Sign() != 0 {
			return false
		}
	}
	return true
}

// affine is y(x) = at + sum of by[c] (x_c - mid_c)/half_c over the entries c of x, of a block.
type affine struct {
	entries []int
	at      []float64
	by      map[int][]float64
	plain   Interior
	inside  bool // plain, or a map by rounding from it (edge)
}

// slope is m_row by[c], m over all entries of y.
func (in *affine) slope(s *System, m *sparse.CSR, row, c int) float64 {
	sum := 0.0
	for j, v := range m.Nonzeros(row) { // entries that are zero join no blocks
		sum += v * in.by[c][s.inBlock[j]]
	}
	return sum
}

// moves is how far entry k of the map goes from its middle.
func (in *affine) moves(k int) (sum float64) {
	for _, c := range in.entries {
		sum += math.Abs(in.by[c][k])
	}
	return sum
}

// read adds to entries those of x in a row of m that it has not; why says which of them has no finite range.
func (l *limiter) read(m *sparse.CSR, row int, entries *[]int) (why string) {
	for c, v := range m.Entries(row) {
		if v == 0 || slices.Contains(*entries, c) {
			continue
		}
		if lo, hi := l.box(c); math.IsInf(lo, 0) || math.IsInf(hi, 0) {
			return fmt.Sprintf("entry %d of x, on which the follower depends, has no finite range", c+1)
		}
		*entries = append(*entries, c)
	}
	return ""
}

// multipliers bounds those of a block's inequalities, and its y, as far as it can: it says of which it cannot. The map is nil where there are no inequalities, or none is known.
func (l *limiter) multipliers(p Block) (*affine, *NoLimit) {
	s := l.s
	first := slices.IndexFunc(p.Rows, func(i int) bool { return s.P.Rows.Kind[i] == problem.AtMost })
	if first < 0 {
		return nil, nil
	}
	inequality := p.Rows[first]
	var entries []int // of x, in rows of the block; those in costs, too
	for _, i := range p.Rows {
		if why := l.read(s.P.Rows.A, i, &entries); why != "" {
			return nil, &NoLimit{i, why}
		}
	}
	costs := slices.Clone(entries)
	for _, j := range p.Y {
		if why := l.read(s.G, j, &costs); why != "" {
			return nil, &NoLimit{inequality, why}
		}
	}
	in, no := l.interior(p, entries)
	if no != nil {
		return nil, no
	}
	at := make([]float64, s.Ny)
	linalg.Scatter(at, p.Y, in.at)
	in.plain = l.plain(p, in)
	inside, vanishes := l.edge(&in.plain)
	in.inside = inside
	in.plain.Curvature, in.plain.Squares = l.curvature(p, vanishes)
	theta := l.fall(p, in, at, costs)
	if math.IsNaN(theta) || math.IsInf(theta, 0) {
		return in, &NoLimit{inequality, "the follower's variables have no finite range, and its objective is not strongly convex"}
	}
	for _, i := range p.Rows {
		if s.P.Rows.Kind[i] != problem.AtMost {
			continue
		}
		slack := s.P.Rows.Rhs[i] + s.P.Rows.B.RowDot(i, at)
		for _, c := range entries {
			lo, hi := l.box(c)
			slack -= s.P.Rows.A.At(i, c)*(lo+hi)/2 + math.Abs(in.slope(s, s.P.Rows.B, i, c)-s.P.Rows.A.At(i, c)*(hi-lo)/2)
		}
		if !(slack*s.rowUnit(i) > tolerance.Sign) {
			no = &NoLimit{i, "its slack has no bound above 0"}
			continue
		}
		v := s.Nx + s.Ny + i
		l.program.Hi[v] = math.Min(l.program.Hi[v], outward(theta/slack)/s.ColScale[v])
	}
	return in, no
}

// fall is theta of Limits, by how much g may fall from the map, at (len Ny) its middle; +Inf or NaN where nothing bounds it. Curvature bounds entries of y that have no ends, too: others are sides of pairs.
func (l *limiter) fall(p Block, in *affine, at []float64, costs []int) float64 {
	s, least := l.s, in.plain.Curvature
	square, box := 0.0, 0.0
	for k, j := range p.Y {
		mid, slopes := l.force(in, at, j, costs)
		d := math.Abs(mid) + each.Sum(slopes, math.Abs)
		if least != nil {
			square += d * d / least[k]
		}
		if lo, hi := l.box(s.Nx + j); d > 0 {
			box += d * (in.moves(k) + math.Max(at[j]-lo, hi-at[j]))
		}
	}
	if least == nil {
		return box
	}
	for k, j := range p.Y {
		reach, v := math.Sqrt(square/least[k])+in.moves(k), s.Nx+j
		if math.IsInf(l.program.Lo[v], -1) {
			l.program.Lo[v] = -outward(reach-at[j]) / s.ColScale[v]
		}
		if math.IsInf(l.program.Hi[v], 1) {
			l.program.Hi[v] = outward(reach+at[j]) / s.ColScale[v]
		}
	}
	return math.Min(box, square/4)
}

// force is the force on y_j along a map, at (len Ny) its middle: in the middle of x's box, and by how much half the range of each of the entries of x in costs moves it.
func (l *limiter) force(in *affine, at []float64, j int, costs []int) (mid float64, slopes []float64) {
	s := l.s
	mid, slopes = s.Q[j]+s.H.RowDot(j, at), make([]float64, len(costs))
	for t, c := range costs {
		lo, hi := l.box(c)
		mid += s.G.At(j, c) * (lo + hi) / 2
		if slopes[t] = s.G.At(j, c) * (hi - lo) / 2; in.by[c] != nil {
			slopes[t] += in.slope(s, s.H, j, c)
		}
	}
	return mid, slopes
}

// curvature is m of Interior, and the multiples of the squares of rows whose slack vanishes with which H is positive definite where it is so between y that satisfy them (Finsler 1937); nil where there is none. Larger multiples are
// taken until m gains no more than a quarter by four times as large ones, of which it is a concave function, or their rounding is as much as the margin.
func (l *limiter) curvature(p Block, vanishes []bool) (least, squares []float64) {
	if least = l.definite(p, nil, 0); least != nil {
		return least, nil
	}
	s := l.s
	unit := make([]float64, len(p.Rows))
	for r, i := range p.Rows {
		size := 0.0
		for j, v := range s.P.Rows.B.Nonzeros(i) {
			size = math.Hypot(size, v*s.ColScale[s.Nx+j])
		}
		if vanishes[r] && size > 0 {
			unit[r] = 1 / (size * size)
		}
	}
	if !nonzero(unit) {
		return nil, nil
	}
	top := 0.0
	for _, j := range p.Y {
		top = math.Max(top, math.Abs(s.H.At(j, j))*s.ColScale[s.Nx+j]*s.ColScale[s.Nx+j])
	}
	if top == 0 {
		top = 1
	}
	floats.Scale(top, unit)
	for by := 1.0; by*0x1p-52 <= tolerance.Sign; by *= 4 {
		more := l.definite(p, unit, by)
		if least != nil && (more == nil || more[0] <= 1.25*least[0]) {
			break
		}
		if more != nil {
			least, squares = more, slices.Clone(unit)
			floats.Scale(by, squares)
		}
	}
	return least, squares
}

// definite is a multiple of the diagonal of |H| + unit_r B_i'B_i such that H + by unit_r B_i'B_i less it is positive semidefinite, with a margin for what is verified; nil where there is none above 0.
func (l *limiter) definite(p Block, unit []float64, by float64) []float64 {
	s, n := l.s, len(p.Y)
	out, dense := make([]float64, n), mat.NewSymDense(n, nil)
	for a, i := range p.Y {
		for b, j := range p.Y[:a+1] {
			dense.SetSym(a, b, s.H.At(i, j))
		}
		out[a] = math.Abs(s.H.At(i, i))
	}
	for r, w := range unit {
		if w == 0 {
			continue
		}
		for i, v := range s.P.Rows.B.Nonzeros(p.Rows[r]) {
			a := s.inBlock[i]
			out[a] += w * v * v
			for j, u := range s.P.Rows.B.Nonzeros(p.Rows[r]) {
				if b := s.inBlock[j]; b <= a {
					dense.SetSym(a, b, dense.At(a, b)+by*w*v*u)
				}
			}
		}
	}
	for a := range n {
		if !(out[a] > 0) {
			return nil
		}
		for b := range a + 1 {
			dense.SetSym(a, b, dense.At(a, b)/math.Sqrt(out[a])/math.Sqrt(out[b]))
		}
	}
	values, ok := linalg.Eigenvalues(dense)
	if !ok {
		return nil
	}
	least := values[0] - float64(n)*tolerance.Sign // a margin for what is verified
	if !(least > 0) {
		return nil
	}
	floats.Scale(least, out)
	return out
}

// StrongConvexity is m > 0, one for each entry of y of a block, and squares >= 0, one for each of its rows, such that v'Hv + sum of squares_i (B_i v)^2 >= sum of m_j v_j^2, squares of equations alone (nil: none are needed): answers of a block that
// has them are unique. nil where none are known.
func (s *System) StrongConvexity(p Block) (least, squares []float64) {
	return (&limiter{s: s}).curvature(p, each.Of(p.Rows, func(i int) bool { return s.P.Rows.Kind[i] == problem.Equal }))
}
