package certify

import (
	"math"
	"math/big"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// treeObjective is 1/2 z'Qz + c'z + k: f, or a constraint of the leader that is quadratic, <= 0 or an equation.
type treeObjective struct {
	c       []coefficient // exact ones
	konst   interval
	q       [][]treeEntry // rows of Q
	curved  []int         // rows of Q that are not empty
	deficit []float64     // >= 0: 1/2 z'(Q + diag(deficit))z is convex
}

func newTreeObjective(n int) *treeObjective {
	zero := func(int) coefficient { return coefficient{exact: new(big.Rat)} }
	return &treeObjective{c: each.Below(n, zero), q: make([][]treeEntry, n), deficit: make([]float64, n)}
}

// noteRows notes which rows of Q are not empty.
func (o *treeObjective) noteRows() {
	o.curved = o.curved[:0]
	for i, row := range o.q {
		if len(row) > 0 {
			o.curved = append(o.curved, i)
		}
	}
}

// plus is o with w times another, which lacks |w| times as much to be convex.
func (o *treeObjective) plus(w float64, of *treeObjective) *treeObjective {
	out := newTreeObjective(len(o.c))
	for j := range o.c {
		out.addC(j, o.c[j])
		out.addC(j, of.c[j].times(w))
		out.deficit[j] = up(o.deficit[j] + up(math.Abs(w)*of.deficit[j]))
	}
	out.konst = o.konst.add(point(w).mul(of.konst))
	for i := range o.q {
		out.q[i] = append([]treeEntry(nil), o.q[i]...)
	}
	for _, i := range of.curved {
		for _, e := range of.q[i] {
			out.addQ(i, e.col, e.times(w))
		}
	}
	out.noteRows()
	return out
}

// quadraticRow reports that coupled constraint i is one of degree two.
func quadraticRow(p *problem.Problem, i int) bool {
	f := &p.Facts
	return !f.AffineCoupled && i < len(f.DegreeCoupled) && f.DegreeCoupled[i] == 2
}

// quadraticSides is how many quadratic constraints the leader has, those of equations twice.
func quadraticSides(p *problem.Problem) int {
	n := len(p.X.Balls)
	if p.Coupled != nil {
		n += 2 * len(p.Coupled.Kind)
	}
	return n
}

// curvedClass holds that nothing keeps the leader's constraints that are not affine out of a proof.
func curvedClass(p *problem.Problem) {
	if p.Coupled == nil || p.Facts.AffineCoupled {
		return
	}
	for i := range p.Coupled.Kind {
		must.Be(i < len(p.Facts.DegreeCoupled) && p.Facts.DegreeCoupled[i] <= 2, "a constraint of the upper level is not quadratic")
	}
}

// readCurved reads a coupled constraint off the gradient of f plus the constraint 1/tolerance.LeastSquared times, so large a number that f is rounding beside it. Where the
// constraint has no term that is all there is, no more than 4 times f's coefficient: free (those of f, by columns) and constant tell it.
func (t *treeModel) readCurved(side float64, place []int, constant []float64, free [][]float64, read func(dst, z []float64)) {
	o := newTreeObjective(t.n)
	o.konst = point(side)
	of := func(v, f float64) float64 {
		if v *= tolerance.LeastSquared; math.Abs(v) <= 4*math.Abs(f)*tolerance.LeastSquared {
			return 0
		}
		return v
	}
	at, columns, err := problem.Affine(len(place), len(place), t.nx+t.p.AnswerLen(), nil, read)
	must.Be(isFinite(at), "a constraint of the upper level is not finite")
	must.Be(err == nil, "a constraint of the upper level is %w", err)
	for k, c := range constant {
		o.addC(place[k], num(of(at[k], c)))
		for i := range place {
			columns[k][i] = of(columns[k][i], free[k][i])
		}
	}
	o.addColumns(place, columns)
	t.constraints = append(t.constraints, o)
}

// addColumns adds a Hessian that was read column by column, and may have further rows behind, at the given places: what its two triangles enclose, which is exact where they agree.
func (o *treeObjective) addColumns(place []int, hess [][]float64) {
	for i := range place {
		for j := range place {
			if a, b := hess[j][i], hess[i][j]; a != 0 || b != 0 {
				v := num(a)
				if a != b {
					v = coefficient{val: point(a).hull(point(b))}
				}
				o.addQ(place[i], place[j], v)
			}
		}
	}
}

// balls appends |x - center|^2 - radius^2 <= 0 of the balls of X.
func (t *treeModel) balls() {
	for k := range t.p.X.Balls {
		b := &t.p.X.Balls[k]
		o := newTreeObjective(t.n)
		o.konst = point(b.Radius).mul(point(b.Radius)).neg()
		for j := b.Start; j < b.End; j++ {
			c := b.At(j)
			o.addQ(j, j, num(2))
			o.addC(j, num(-2*c))
			o.konst = o.konst.add(point(c).mul(point(c)))
		}
		t.constraints = append(t.constraints, o)
	}
}

// treeSide is a quadratic constraint of the leader, or the other sign of an equation.
type treeSide struct {
	Curved  int  `json:"curved"`
	Negated bool `json:"negated"`
}

// withSquares is a constraint, or its other side, with the squares that the proof adds: shown to be convex, but for its deficit.
func (t *treeModel) withSquares(i int, negated bool) *treeObjective {
	of := treeSide{i, negated}
	if t.sides[of] == nil {
		sign := 1.0
		if negated {
			sign = -1
		}
		plain := newTreeObjective(t.n).plus(sign, t.constraints[i])
		if slices.Contains(t.dual, of) {
			t.cancel(plain)
			plain.noteRows()
		}
		with := newTreeObjective(t.n).plus(1, plain)
		for k := range t.squares {
			if s := &t.squares[k]; s.Curved != nil && *s.Curved == i && s.Negated == negated {
				with.addSquare(s)
			}
		}
		with.noteRows()
		err := must.Try(func() { with.convexity(plain.q, t.lo, t.hi) })
		must.Be(err == nil, "of a constraint of the upper level: %w", err)
		t.sides[of] = with
	}
	return t.sides[of]
}

// withCurved sets the objective of a leaf: f, where it is not empty, with multiples of constraints that are not affine, and how many times it has each square.
func (l *treeLeaf) withCurved(v *sparseVector) {
	t := l.t
	l.of = &t.treeObjective
	if l.empty {
		l.of = l.nothing
	}
	weights := v.dense("curved", len(t.constraints))
	for i, w := range weights {
		if w != 0 {
			must.Be(t.constraints[i] != nil && (w > 0 || t.equation(i)), "curved: %v at place %d of %d", w, i, len(t.constraints))
			l.of = l.of.plus(math.Abs(w), t.withSquares(i, w < 0))
		}
	}
	for k := range t.squares {
		switch s := &t.squares[k]; {
		case s.Curved != nil:
			l.times[k] = math.Abs(weights[*s.Curved])
			if weights[*s.Curved] < 0 != s.Negated {
				l.times[k] = 0
			}
		case l.empty:
			l.times[k] = 0
		default:
			l.times[k] = 1
		}
	}
}

// equation reports that quadratic constraint i of the leader is one.
func (t *treeModel) equation(i int) bool {
	return t.p.Coupled != nil && i < len(t.p.Coupled.Kind) && t.p.Coupled.Kind[i] == problem.Equal
}

// alone narrows what X says of an entry of x by what a constraint of that entry alone does, a x^2 + b x + c <= 0 with a > 0 (of an equation, either sign): x is between the roots.
func (t *treeModel) alone() {
	t.between = map[int]interval{}
	for i, o := range t.constraints {
		if o == nil || t.p.Coupled == nil || i >= len(t.p.Coupled.Kind) {
			continue
		}
		reads := each.WhereBelow(len(o.c), func(j int) bool { return !o.c[j].val.zero() || len(o.q[j]) > 0 })
		if len(reads) != 1 || reads[0] >= t.nx || len(o.q[reads[0]]) != 1 {
			continue
		}
		j := reads[0]
		a, b, c := o.q[j][0].val.mul(point(0.5)), o.c[j].val, o.konst
		if t.p.Coupled.Kind[i] == problem.Equal && a.hi < 0 {
			a, b, c = a.neg(), b.neg(), c.neg()
		}
		left := b.mul(b).sub(point(4).mul(a).mul(c))
		if !(a.lo > 0) || !(left.hi >= 0) {
			continue
		}
		root := up(math.Sqrt(left.hi))
		ends, by := b.neg().add(interval{-root, root}), point(2).mul(a)
		box := ends.over(by.lo).hull(ends.over(by.hi))
		if was, is := t.between[j]; is {
			box = interval{math.Max(was.lo, box.lo), math.Min(was.hi, box.hi)}
		}
		t.between[j] = box
	}
}
