package certify

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// treeModel is the leader's problem over the follower's KKT system, without the products of pairs, in the problem's own units: over
// z = (x, y, lambda, u), u the further variables of X,
//
//	minimize 1/2 z'Qz + c'z + k
//	stationarity  H y + G x - B'lambda  = -q
//	lower         B y - A x            >= -b  (equations: =)
//	upper         E x                  <= e   (=)
//	extended      rows of X in x and u <= their sides
//	coupled       the leader's rows that read the follower <= 0 (=)
//	levels, duality   of products that a proof adds (treelift.go), whose columns stand behind u
//	slopes        of strong duality (treeslope.go), with columns behind these
//	lambda >= 0 on inequalities, x in its box
//
// Its numbers are those that the problem's functions have: a gradient far out along an axis is its column, exactly, whatever
// the constant part is, which is the gradient at 0 (problem.Along).
type treeModel struct {
	p            *problem.Problem
	known        bool // f is quadratic; else 0 stands for it, and no leaf with a bound is there
	nx, ny, m, n int
	rows         [treeKinds]*sparse.CSR // over all n columns
	rhs          [treeKinds][]float64
	equal        [treeKinds][]bool
	sense        [treeKinds]float64 // 1 for rows >= their sides, -1 for rows <=
	lo, hi       []float64          // boxes: of x, of lambda, and what rows make of them
	treeObjective
	constraints []*treeObjective            // of the leader: coupled ones (nil where they are rows), then the balls of X
	sides       map[treeSide]*treeObjective // of these, with the squares of a proof, as far as leaves have asked for them
	dual        []treeSide                  // those whose products strong duality cancels
	squares     []treeSquare                // what Q, or a side, has more than f or the constraint, twice
	plain       [][]treeEntry               // of f, where Q has more or less
	base        int                         // columns without those of products
	lift        *treeLift
	options     map[int]*treeChoice // by the rows that keep them from being negative
	chosen      map[int]*treeChoice // by the columns of options
	// The follower's H and G by columns, and q.
	h, g    [][]float64
	linearG []float64
	between map[int]interval // what constraints of single entries of x say of these (alone)
	parts   [][]int          // of the lower level: entries of y, and rows behind all of these
	partOf  []int            // the part of each
	ways    []*treeWay       // of segments
}

// treeSquare is a multiple of the square of w = v'z that a proof adds to f, or to a constraint of the leader, and takes away again as the secant over the range of w.
type treeSquare struct {
	Weight  float64       `json:"weight"`
	Of      *sparseVector `json:"of"`
	Curved  *int          `json:"curved"`  // the constraint, among coupled ones and then the balls of X; absent: f
	Negated bool          `json:"negated"` // of an equation: the other sign of it
	Lo      *float64      `json:"lo"`      // a range that holds that of w over the boxes; infinite where absent
	Hi      *float64      `json:"hi"`
}

// over is a range that holds w for z in boxes: the proof's, made larger where that is less.
func (s *treeSquare) over(lo, hi []float64) interval {
	sum, out := interval{}, interval{math.Inf(-1), math.Inf(1)}
	for k, j := range s.Of.At {
		if s.Of.Val[k] != 0 {
			sum = sum.add(point(s.Of.Val[k]).mul(interval{lo[j], hi[j]}))
		}
	}
	if s.Lo != nil {
		out.lo = math.Min(*s.Lo, sum.lo)
	}
	if s.Hi != nil {
		out.hi = math.Max(*s.Hi, sum.hi)
	}
	return out
}

type treeEntry struct {
	col int
	coefficient
}

// coefficient is a number, enclosed and exactly.
type coefficient struct {
	val   interval
	exact *big.Rat // nil where the functions have two numbers for it
}

func num(v float64) coefficient { return coefficient{point(v), rat(v)} }

func (a coefficient) plus(b coefficient) coefficient {
	if a.exact == nil || b.exact == nil {
		return coefficient{val: a.val.add(b.val)}
	}
	return exactly(new(big.Rat).Add(a.exact, b.exact))
}

func (a coefficient) times(v float64) coefficient {
	if a.exact == nil {
		return coefficient{val: a.val.mul(point(v))}
	}
	return exactly(new(big.Rat).Mul(a.exact, rat(v)))
}

// The kinds of rows, in the order of a proof's weights.
const (
	treeStationarity = iota
	treeLower
	treeUpper
	treeExtended
	treeCoupled
	treeLevels  // of products (treelift.go)
	treeDuality // strong duality with products
	treeSlopes  // of slopes (treeslope.go)
	treeKinds
)

// newTreeModel reads the model off the problem.
func newTreeModel(p *problem.Problem) *treeModel {
	must.Be(p.Facts.JointlyQuadratic, "g is not quadratic in x and y together")
	curvedClass(p)
	n, known := treeColumns(p), p.Facts.DegreeF <= 2
	if !known {
		p = p.Feasibility()
	}
	t := &treeModel{p: p, known: known, nx: p.Dx, ny: p.Dy, m: p.Rows.Len(), n: n, base: n}
	for k := range t.rows {
		t.rows[k] = sparse.Empty(t.n)
		t.sense[k] = -1
	}
	t.sense[treeStationarity], t.sense[treeLower], t.sense[treeSlopes] = 1, 1, 1
	t.readFollower()
	t.divide()
	t.readRows()
	t.readLeader()
	t.alone()
	t.boxes()
	t.propagate()
	for _, c := range t.constraints {
		if c == nil {
			continue
		}
		c.noteRows()
	}
	return t
}

// treePart is the part of f that a tree of a proof bounds.
type treePart struct {
	Columns []int         `json:"columns"` // of z, of which f has no products with others
	Duality bool          `json:"duality"` // with its products of x, y and lambda cancelled by strong duality
	Shares  *sparseVector `json:"shares"`  // of products of multipliers and slacks, by an entry of y of each block
	first   bool          // f's constant is its
}

// of is the model with a part of f (nil: all of it), and the squares, columns and rows of a proof. All rows stay: f is the sum of its parts at each point.
func (t *treeModel) of(a *treeAdded) *treeModel {
	lift := a.lift
	out := *t
	out.lift, out.n = lift, t.base+len(lift.products)+2*len(lift.slopes)
	for _, k := range [...]int{treeLevels, treeDuality, treeSlopes} {
		out.rows[k] = sparse.Empty(out.n)
	}
	out.treeObjective, out.constraints = *t.restricted(a.part, out.n), nil
	for _, c := range t.constraints {
		if c != nil {
			c = c.restricted(nil, out.n)
		}
		out.constraints = append(out.constraints, c)
	}
	out.sides, out.dual = map[treeSide]*treeObjective{}, a.dual
	lo, hi := everywhere(out.n - t.base)
	out.lo, out.hi = slices.Concat(t.lo, lo), slices.Concat(t.hi, hi)
	for _, add := range []func(*treeAdded){out.addInterior, out.addSegments, out.addProducts, out.addSlopes, out.addChoices, out.addStrong, out.duality, out.takeProducts, out.addSquares} {
		add(a)
	}
	out.noteRows()
	return &out
}

// restricted is the objective over n columns, of those of a part alone.
func (o *treeObjective) restricted(part *treePart, n int) *treeObjective {
	out, in := newTreeObjective(n), slices.Repeat([]bool{part == nil}, len(o.c))
	if part == nil || part.first {
		out.konst = o.konst
	}
	if part != nil {
		for _, j := range part.Columns {
			in[j] = true
		}
	}
	for j, is := range in {
		if !is {
			continue
		}
		out.addC(j, o.c[j])
		for _, e := range o.q[j] {
			must.Be(in[e.col], "f has a product of column %d, of one part, and %d, of another", j, e.col)
		}
		out.q[j] = append(out.q[j], o.q[j]...)
	}
	copy(out.deficit, o.deficit)
	out.noteRows()
	return out
}

// treeColumns is the number of columns of the model of a problem.
func treeColumns(p *problem.Problem) int { return p.Dx + p.Dy + p.Rows.Len() + p.X.Extended.Extra() }

// longestLine is how many bytes a line of a proof of a problem has at most: a place and a double, 40 bytes, for each column, row and direction, and for slopes of an interior in each entry of x, and the words.
func longestLine(p *problem.Problem) int {
	n := 2*treeColumns(p) + (1+p.Dx)*(p.Dy+p.Rows.Len()) + len(p.X.Kind) + p.X.Extended.Len()
	n += quadraticSides(p)
	return 1<<10 + 40*n
}

// addSquares adds the squares to Q.
func (t *treeModel) addSquares(a *treeAdded) {
	if len(a.squares) == 0 {
		return
	}
	t.squares = a.squares
	t.keep()
	for k := range a.squares {
		s, what := &a.squares[k], fmt.Sprintf("direction %d", k)
		must.Be(s.Weight > 0 && !math.IsInf(s.Weight, 1) && s.Of != nil, "%s has the weight %v and no vector", what, s.Weight)
		s.Of.dense(what, t.n)
		must.Be(s.Curved == nil || *s.Curved >= 0 && *s.Curved < len(t.constraints) && t.constraints[*s.Curved] != nil, "%s is of no quadratic constraint", what)
		if s.Curved == nil {
			t.addSquare(s)
		}
	}
}

// addSquare adds a square to Q.
func (o *treeObjective) addSquare(s *treeSquare) {
	for a, i := range s.Of.At {
		left := num(2).times(s.Weight).times(s.Of.Val[a])
		for b, j := range s.Of.At {
			o.addQ(i, j, left.times(s.Of.Val[b]))
		}
	}
}

// keep notes f as it was read, before a proof changes it.
func (t *treeModel) keep() {
	if t.plain != nil {
		return
	}
	t.plain = each.Of(t.q, func(row []treeEntry) []treeEntry { return slices.Clone(row) })
}

// terms is the sum of the absolute terms of f at a point; entries that are less than a unit (problem.Units, MultiplierUnits) taken for that: 0 is a result of rounding, too.
func (t *treeModel) terms(x, y, lambda []float64) float64 {
	z := make([]float64, t.n)
	copy(z, slices.Concat(x, y, lambda))
	unitX, unitY, rest := t.p.Units(func(x []float64) []float64 {
		out := make([]float64, t.ny)
		for j := range out {
			if t.h[j][j] > 0 {
				out[j] = math.Abs(t.linearG[j])
				for k, u := range x {
					out[j] += math.Abs(t.g[k][j]) * u
				}
				out[j] /= t.h[j][j]
			}
		}
		return out
	})
	forces, columns := each.Of(t.linearG, math.Abs), slices.Concat(t.g, t.h)
	for k, u := range slices.Concat(unitX, unitY) {
		floats.AddScaled(forces, u, each.Of(columns[k], math.Abs))
	}
	unit := slices.Concat(unitX, unitY, t.p.MultiplierUnits(forces))
	sum := t.konst.size()
	for j := range z {
		u := 1.0
		if j < len(unit) {
			u = unit[j]
		}
		z[j] = math.Max(u, math.Abs(z[j]))
	}
	for j, c := range t.c {
		long := z[j]
		if j < len(rest) {
			long = math.Max(rest[j], long)
		}
		sum += c.val.size() * long
	}
	if sum == 0 { // the bounds of x leave 0 alone
		for _, c := range t.c {
			sum += c.val.size()
		}
	}
	q := t.q
	if t.plain != nil {
		q = t.plain
	}
	for _, i := range t.curved {
		for _, e := range q[i] {
			sum += 0.5 * e.val.size() * z[i] * z[e.col]
		}
	}
	return sum
}

// boxOfX is what the box and the balls of X, and constraints that read it alone, say of entry j of x.
func (t *treeModel) boxOfX(j int) (lo, hi float64) {
	lo, hi = t.p.X.Box(j)
	for k := range t.p.X.Balls {
		if b := &t.p.X.Balls[k]; b.Start <= j && j < b.End {
			c := point(b.At(j))
			lo, hi = math.Max(lo, c.sub(point(b.Radius)).lo), math.Min(hi, c.add(point(b.Radius)).hi)
		}
	}
	if between, is := t.between[j]; is {
		lo, hi = math.Max(lo, between.lo), math.Min(hi, between.hi)
	}
	return lo, hi
}

// boxes are the bounds of single entries.
func (t *treeModel) boxes() {
	t.lo, t.hi = everywhere(t.n)
	for j := range t.nx {
		t.lo[j], t.hi[j] = t.boxOfX(j)
	}
	for i, kind := range t.p.Rows.Kind {
		if kind == problem.AtMost {
			t.lo[t.nx+t.ny+i] = 0
		}
		cols, vals := t.rows[treeLower].Row(i)
		if len(cols) != 1 || cols[0] < t.nx {
			continue
		}
		j, bound := cols[0], point(t.rhs[treeLower][i]).over(math.Abs(vals[0])) // coef y >= rhs
		if vals[0] > 0 || kind == problem.Equal {
			t.lo[j] = math.Max(t.lo[j], signed(bound, vals[0]).lo)
		}
		if vals[0] < 0 || kind == problem.Equal {
			t.hi[j] = math.Min(t.hi[j], signed(bound, vals[0]).hi)
		}
	}
}

// propagate tightens boxes by rows: an end lets a reduced cost be off by rounding.
func (t *treeModel) propagate() {
	for range tolerance.Propagations {
		for kind := range treeLevels {
			for i := range t.rows[kind].Rows {
				rhs := interval{math.Inf(-1), math.Inf(1)}
				if t.equal[kind][i] || t.sense[kind] > 0 {
					rhs.lo = t.rhs[kind][i]
				}
				if t.equal[kind][i] || t.sense[kind] < 0 {
					rhs.hi = t.rhs[kind][i]
				}
				cols, vals := t.rows[kind].Row(i)
				after := make([]interval, len(cols)+1) // the sum of the columns behind each
				term := func(k int) interval { return point(vals[k]).mul(interval{t.lo[cols[k]], t.hi[cols[k]]}) }
				for k := len(cols) - 1; k >= 0; k-- {
					after[k] = after[k+1].add(term(k))
				}
				before := interval{}
				for k, j := range cols {
					rest, own := rhs.sub(before.add(after[k+1])), term(k)
					before = before.add(own)
					if vals[k] == 0 {
						continue
					}
					rest = signed(rest.over(math.Abs(vals[k])), vals[k])
					if rest.lo > t.lo[j] && !math.IsInf(rest.lo, 1) {
						t.lo[j] = rest.lo
					}
					if rest.hi < t.hi[j] && !math.IsInf(rest.hi, -1) {
						t.hi[j] = rest.hi
					}
				}
			}
		}
	}
}

func signed(a interval, sign float64) interval {
	if sign < 0 {
		return a.neg()
	}
	return a
}
