package curvature

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"

	"bilevelc/internal/sparse"
	"bilevelc/ir"
	"bilevelc/ir/expr"
)

// refute looks for a feasible point and a direction along which the second
// derivative of g in y is negative, or exactly 0. The second derivative at a
// point is enclosed by the same rules as over a domain, so that a witness is
// as certain as a proof.
func (pr *prover) refute() *Witness {
	work := pr.budget()
	random := rand.New(rand.NewPCG(pr.opts.Seed, 0x77697473))
	fixed := pr.quadratic()
	if len(pr.Unbound) > 0 && !fixed.FixedHessian {
		return nil // sets that are not known yet: no point is certain to be feasible
	}
	for k := range pr.opts.Samples {
		if work.left <= 0 {
			return nil
		}
		x, ok := pr.upperSample(k, random)
		if !ok {
			continue
		}
		y := make([]float64, pr.Lower.Dim)
		if !fixed.InY {
			if y, ok = pr.lowerSample(k, x, random); !ok {
				continue
			}
		}
		s := pr.study(pr.Lower.Objective, expr.DependsY, at(x, y), work)
		w := pr.bendsDown(s)
		if w == nil {
			w = pr.flat(s)
		}
		if w != nil {
			w.X, w.Y = x, y
			w.At = pr.pointText(x, y, fixed)
			return w
		}
		if fixed.FixedHessian {
			return nil // every point is the same
		}
	}
	return nil
}

// bendsDown finds a direction of negative second derivative at the point of a
// study: v' H v <= -v' N v for the matrix N below -H.
func (pr *prover) bendsDown(s *study) *Witness {
	terms := s.differentiate(false).terms
	lower, negative := s.below(terms, false), s.below(terms, true)
	if lower.failed != nil || negative.failed != nil {
		return nil
	}
	for b := range lower.cols {
		e := lower.leastBlock(b, s.work, 0)
		if e.vector == nil || !(e.estimate < 0) {
			continue
		}
		v := make([]float64, pr.Lower.Dim)
		for i, c := range e.cols {
			v[c] = e.vector[i]
		}
		normalize(v)
		if most := -negative.quadraticForm(v); most < 0 {
			return &Witness{Direction: v, Curvature: most, Text: pr.directionText(e)}
		}
	}
	return nil
}

// quadraticForm is a lower bound of v' N v for a form N.
func (f *form) quadraticForm(v []float64) float64 {
	total, size := 0.0, 0.0
	for b, cols := range f.cols {
		for i, c := range cols {
			d := addDown(f.diag[c], -f.slack[c]) * v[c] * v[c]
			total += d
			size += math.Abs(d)
			if f.dense[b] == nil {
				continue
			}
			for j, other := range cols {
				t := f.dense[b][i*len(cols)+j] * v[c] * v[other]
				total += t
				size += math.Abs(t)
			}
		}
	}
	return total - gamma(2*f.n*f.n)*size
}

// flat finds a direction v along which the second derivative is exactly 0: one
// that no part touches, or an exact solution of H v = 0.
func (pr *prover) flat(s *study) *Witness {
	parts, ok := s.exactParts()
	if !ok {
		return nil
	}
	n := pr.Lower.Dim
	touched := make([]bool, n)
	cost := 0.0
	for _, p := range parts {
		for _, row := range []map[int]float64{p.a, p.b} {
			for c := range row {
				touched[c] = true
			}
		}
		cost += float64(len(p.a)) * float64(len(p.b))
	}
	if c := slices.Index(touched, false); c >= 0 {
		return &Witness{Direction: unit(n, c), Flat: true, Text: "along " + pr.lowerName(c)}
	}
	// exactCost bounds the operations in rational arithmetic, at about a
	// microsecond each.
	const exactCost = 3e5
	if cost+math.Pow(float64(n), 3) > exactCost {
		return nil
	}
	v := nullVector(exactHessian(parts, n))
	if v == nil {
		return nil
	}
	return &Witness{Direction: v, Flat: true, Text: pr.directionText(extreme{vector: v, cols: indices(n)})}
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// exactPart is w (a b' + b a')/2 with rows that are known exactly. The weight
// is exact too, or known to be positive with a = b, where its size does not
// matter to the null space.
type exactPart struct {
	w    float64
	a, b map[int]float64
}

// exactParts lists the parts of the Hessian at the point of a study; not ok
// where they are not exact enough for its null space.
func (s *study) exactParts() (parts []exactPart, ok bool) {
	ok = true
	positive, rounded := true, false
	row := func(j *jacobian, k int) map[int]float64 {
		out := map[int]float64{}
		j.visit(k, func(c int, v Interval) {
			ok = ok && v.isPoint()
			out[c] = v.Lo
		})
		return out
	}
	for _, t := range s.differentiate(false).terms {
		p := s.partOf(&t, false)
		if t.square() {
			p.a = s.jacobianOf(t.arg)
			p.pairs = func(visit func(i, j, k int)) {
				for k := range p.a.rows {
					visit(k, k, k)
				}
			}
		}
		if p.a.unknown || p.b != nil && p.b.unknown {
			return nil, false
		}
		p.pairs(func(i, j, k int) {
			w := entry(t.w, k)
			if w.isZero() {
				return
			}
			ok = ok && !math.IsInf(w.Lo, 0) && !math.IsInf(w.Hi, 0)
			e := exactPart{w: w.Lo, a: row(p.a, i)}
			if e.b = e.a; !t.square() {
				e.w, e.b = 2*w.Lo, row(p.b, j)
				positive = false
			}
			if len(e.a) == 0 || len(e.b) == 0 {
				return
			}
			rounded = rounded || !w.isPoint() || len(t.w) == 1 && p.a.rows > 1
			positive = positive && w.Hi > 0
			if !w.isPoint() {
				e.w = 1
			}
			if ok {
				parts = append(parts, e)
			}
		})
	}
	// With inexact weights, J v = 0 for all rows is still enough where all
	// parts are squares: v' H v is a sum of weights times (a' v)^2.
	return parts, ok && (!rounded || positive)
}

// exactHessian adds the parts up in rational arithmetic.
func exactHessian(parts []exactPart, n int) [][]*big.Rat {
	h := make([][]*big.Rat, n)
	for i := range h {
		h[i] = make([]*big.Rat, n)
		for j := range h[i] {
			h[i][j] = new(big.Rat)
		}
	}
	rat := func(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) }
	half := big.NewRat(1, 2)
	for _, p := range parts {
		w := new(big.Rat).Mul(rat(p.w), half)
		for i, a := range p.a {
			wa := new(big.Rat).Mul(w, rat(a))
			for j, b := range p.b {
				e := new(big.Rat).Mul(wa, rat(b))
				h[i][j].Add(h[i][j], e)
				h[j][i].Add(h[j][i], e)
			}
		}
	}
	return h
}

// nullVector solves m v = 0 by elimination and returns a solution of length 1
// (rounded), or nil where there is only 0. It changes m.
func nullVector(m [][]*big.Rat) []float64 {
	n := len(m)
	pivots, row := []int{}, 0
	isPivot := make([]bool, n)
	for c := 0; c < n && row < n; c++ {
		best := -1
		for i := row; i < n; i++ {
			if m[i][c].Sign() != 0 {
				best = i
				break
			}
		}
		if best < 0 {
			continue
		}
		m[row], m[best] = m[best], m[row]
		for i := range m {
			if i == row || m[i][c].Sign() == 0 {
				continue
			}
			ratio := new(big.Rat).Quo(m[i][c], m[row][c])
			for j := c; j < n; j++ {
				m[i][j].Sub(m[i][j], new(big.Rat).Mul(ratio, m[row][j]))
			}
		}
		pivots, isPivot[c] = append(pivots, c), true
		row++
	}
	free := slices.Index(isPivot, false)
	if free < 0 {
		return nil
	}
	v := unit(n, free)
	for i, c := range pivots {
		f, _ := new(big.Rat).Quo(m[i][free], m[i][c]).Float64()
		v[c] = -f
	}
	normalize(v)
	return v
}

// sampleScale is the size of sampled entries that no set bounds.
const sampleScale = 4

// upperSample is a point of X: the start, the middle, the corners of its box,
// then random corners and random points, each moved into X.
func (pr *prover) upperSample(k int, random *rand.Rand) ([]float64, bool) {
	x := make([]float64, pr.Upper.Dim)
	for i, r := range pr.everywhere.x {
		r = r.meet(Interval{-sampleScale, sampleScale}.add(point(r.middle())))
		switch {
		case k == 0:
			x[i] = r.middle()
		case k == 1:
			x[i] = r.Lo
		case k == 2:
			x[i] = r.Hi
		case k%2 == 1 && random.IntN(2) == 0:
			x[i] = r.Lo
		case k%2 == 1:
			x[i] = r.Hi
		default:
			x[i] = r.Lo + random.Float64()*(r.Hi-r.Lo)
		}
	}
	if k == 3 && len(pr.Start) == len(x) {
		copy(x, pr.Start)
	}
	rows := halfspaces{m: pr.X.E, rhs: pr.X.Rhs, sign: 1, equal: func(i int) bool { return pr.X.Rows[i].Equal }}
	return x, rows.project(x, func() {
		for i, r := range pr.everywhere.x {
			x[i] = min(max(x[i], r.Lo), r.Hi)
		}
		for _, b := range pr.X.Balls {
			v := pr.Upper.Vars[b.Var]
			part := x[v.Offset : v.Offset+v.Shape.Len()]
			if size := math.Sqrt(dot(part, part)); size > b.Radius {
				for i := range part {
					part[i] *= b.Radius / size
				}
			}
		}
	})
}

// lowerSample is a y that the lower level's rows admit at x: the middle of its
// box, then points with some entries at the ends, each moved onto the rows.
func (pr *prover) lowerSample(k int, x []float64, random *rand.Rand) ([]float64, bool) {
	y := make([]float64, pr.Lower.Dim)
	for j, r := range pr.feasible.y {
		r = r.meet(Interval{-sampleScale, sampleScale}.add(point(r.middle())))
		switch pick := random.IntN(4); {
		case k == 0:
			y[j] = r.middle()
		case pick == 0:
			y[j] = r.Lo
		case pick == 1:
			y[j] = r.Hi
		default:
			y[j] = r.Lo + random.Float64()*(r.Hi-r.Lo)
		}
	}
	if pr.B == nil {
		return y, true
	}
	// A x - B y <= b: the rows of -B with right-hand side b - A x.
	rhs := make([]float64, len(pr.Rows))
	for i := range rhs {
		rhs[i] = pr.Rhs[i] - pr.A.RowDot(i, x)
	}
	rows := halfspaces{m: pr.B, rhs: rhs, sign: -1, equal: func(i int) bool { return pr.Rows[i].Equal }}
	return y, rows.project(y, func() {})
}

// halfspaces are rows sign m_i z <= rhs_i, or = where equal.
type halfspaces struct {
	m     *sparse.CSR
	rhs   []float64
	sign  float64
	equal func(i int) bool
}

// project moves z into the set by cyclic projections, between which others
// projects onto the rest of it, and reports success: no row violated by more
// than feasibleTolerance.
func (h halfspaces) project(z []float64, others func()) bool {
	others()
	if h.m == nil {
		return true
	}
	const (
		rounds            = 400
		feasibleTolerance = 1e-9 // relative to the row's size and right-hand side
	)
	for range rounds {
		worst := 0.0
		for i := range h.m.Rows {
			_, vals := h.m.Row(i)
			size := dot(vals, vals)
			if size == 0 {
				continue
			}
			gap := h.sign*h.m.RowDot(i, z) - h.rhs[i]
			if gap <= 0 && !h.equal(i) {
				continue
			}
			worst = max(worst, math.Abs(gap)/(math.Sqrt(size)+math.Abs(h.rhs[i])))
			h.m.AddRow(z, i, -h.sign*gap/size)
		}
		if worst <= feasibleTolerance {
			others()
			return true
		}
		others()
	}
	return false
}

// lowerName is the name of entry c of y.
func (pr *prover) lowerName(c int) string { return nameIn(pr.Lower, c) }

// entryName is the name of entry c of the variables a study differentiates in.
func (pr *prover) entryName(s *study, c int) string {
	if s.wrt&expr.DependsX == 0 {
		return nameIn(pr.Lower, c)
	}
	if c < pr.Upper.Dim {
		return nameIn(pr.Upper, c)
	}
	return nameIn(pr.Lower, c-pr.Upper.Dim)
}

func nameIn(level ir.Level, c int) string {
	for _, v := range level.Vars {
		k := c - v.Offset
		if k < 0 || k >= v.Shape.Len() {
			continue
		}
		switch v.Shape.Rank {
		case 0:
			return v.Name
		case 1:
			return fmt.Sprintf("%s[%d]", v.Name, k+1)
		}
		return fmt.Sprintf("%s[%d, %d]", v.Name, k/v.Shape.Cols+1, k%v.Shape.Cols+1)
	}
	return fmt.Sprintf("entry %d", c+1)
}

// directionText words a direction by its largest entries.
func (pr *prover) directionText(e extreme) string {
	if e.vector == nil {
		return ""
	}
	order := indices(len(e.vector))
	slices.SortStableFunc(order, func(a, b int) int {
		switch x, y := math.Abs(e.vector[a]), math.Abs(e.vector[b]); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	const shown = 4
	// Entries below a thousandth of the largest are left to the full vector.
	const visible = 1e-3
	largest := e.vector[order[0]]
	var out strings.Builder
	out.WriteString("along ")
	for n, i := range order {
		c := e.vector[i] / largest
		if math.Abs(c) < visible {
			break
		}
		if n == shown {
			out.WriteString(" + ...")
			break
		}
		switch {
		case n > 0 && c < 0:
			out.WriteString(" - ")
		case n > 0:
			out.WriteString(" + ")
		}
		if c = math.Abs(c); math.Abs(c-1) > visible {
			fmt.Fprintf(&out, "%.3g ", c)
		}
		out.WriteString(pr.lowerName(e.cols[i]))
	}
	return out.String()
}

// pointText words the point of a witness, as far as the second derivative
// depends on it.
func (pr *prover) pointText(x, y []float64, fixed Quadratic) string {
	if fixed.FixedHessian {
		return ""
	}
	const shown = 6
	var parts []string
	list := func(level ir.Level, z []float64) {
		for c, v := range z {
			parts = append(parts, fmt.Sprintf("%s = %.4g", nameIn(level, c), v))
		}
	}
	list(pr.Upper, x)
	if !fixed.InY {
		list(pr.Lower, y)
	}
	if len(parts) > shown {
		parts = append(parts[:shown], "...")
	}
	return strings.Join(parts, ", ")
}
