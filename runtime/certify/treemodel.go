package certify

import (
	"fmt"
	"math"
	"math/big"
	"sort"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
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
//	lambda >= 0 on inequalities, x in its box
//
// Its numbers are those that the problem's functions have: a gradient far out along an axis is its column, exactly, whatever
// the constant part is, which is the gradient at 0.
type treeModel struct {
	p            *problem.Problem
	nx, ny, m, n int
	rows         [treeKinds]*sparse.CSR // over all n columns
	rhs          [treeKinds][]float64
	equal        [treeKinds][]bool
	sense        [treeKinds]float64 // 1 for rows >= their sides, -1 for rows <=
	lo, hi       []float64          // boxes: of x, of lambda, of y by rows that bound one entry alone
	c            []interval
	exactC       []*big.Rat // c
	konst        interval
	q            [][]treeEntry // rows of Q
	curved       []int         // rows of Q that are not empty
	deficit      []interval    // >= 0: 1/2 z'(Q + diag(deficit))z is convex; nil: Q is positive semidefinite
}

type treeEntry struct {
	col   int
	val   interval
	exact *big.Rat // nil where the functions have two numbers for it
}

// The kinds of rows, in the order of a proof's weights.
const (
	treeStationarity = iota
	treeLower
	treeUpper
	treeExtended
	treeCoupled
	treeKinds
)

// far is the length along an axis at which gradients are read: 2^100 times a coefficient hides a constant that is up to
// 2^46 times as large, and overflows for none that has a use.
const far = 0x1p100

// newTreeModel reads the model off the problem, with the products of f cancelled by strong duality or not.
func newTreeModel(p *problem.Problem, duality bool) (*treeModel, error) {
	switch {
	case !p.Facts.JointlyQuadratic:
		return nil, fmt.Errorf("g is not quadratic in x and y together")
	case p.Facts.DegreeF > 2:
		return nil, fmt.Errorf("f is not quadratic")
	case len(p.X.Balls) > 0:
		return nil, fmt.Errorf("the leader's set has a ball")
	case p.Coupled != nil && !p.Facts.AffineCoupled:
		return nil, fmt.Errorf("a constraint of the upper level is not affine")
	}
	t := &treeModel{p: p, nx: p.Dx, ny: p.Dy, m: p.Rows.Len()}
	t.n = t.nx + t.ny + t.m + p.X.Extended.Extra()
	for k := range t.rows {
		t.rows[k] = sparse.Empty(t.n)
		t.sense[k] = -1
	}
	t.sense[treeStationarity], t.sense[treeLower] = 1, 1
	h, g, q := t.readFollower()
	t.readRows(h, g, q)
	if err := t.readLeader(); err != nil {
		return nil, err
	}
	t.boxes()
	if duality {
		t.duality(h, g, q)
	}
	for i, row := range t.q {
		if len(row) > 0 {
			t.curved = append(t.curved, i)
		}
	}
	return t, t.convexity()
}

// longest is how many bytes a line of a proof of this model has at most: a place and a double, 40 bytes, for each row and each column, and the words.
func (t *treeModel) longest() int {
	n := t.n
	for _, rows := range t.rows {
		n += rows.Rows
	}
	return 1<<10 + 40*n
}

// terms is the sum of the absolute terms of f at a point.
func (t *treeModel) terms(x, y, lambda []float64) float64 {
	z := make([]float64, t.n)
	copy(z, x)
	copy(z[t.nx:], y)
	copy(z[t.nx+t.ny:], lambda)
	sum := t.konst.size()
	for j, c := range t.c {
		sum += c.size() * math.Abs(z[j])
	}
	for _, i := range t.curved {
		for _, e := range t.q[i] {
			sum += 0.5 * e.val.size() * math.Abs(z[i]*z[e.col])
		}
	}
	return sum
}

// readFollower is H (ny x ny) and G (ny x nx) by columns, and q.
func (t *treeModel) readFollower() (h, g [][]float64, q []float64) {
	x, y := make([]float64, t.nx), make([]float64, t.ny)
	read := func() []float64 {
		v := make([]float64, t.ny)
		t.p.G.GradY(v, x, y)
		return v
	}
	q = read()
	column := func(at *float64) []float64 {
		*at = far
		v := read()
		*at = 0
		for i := range v {
			if v[i] -= tiny(v[i], q[i]); v[i] != 0 {
				v[i] /= far
			}
		}
		return v
	}
	for j := range t.nx {
		g = append(g, column(&x[j]))
	}
	for j := range t.ny {
		h = append(h, column(&y[j]))
	}
	return h, g, q
}

// tiny is the constant part where a value far out is nothing else, and 0 otherwise: there it is lost in rounding.
func tiny(value, constant float64) float64 {
	if math.Abs(value) <= 2*math.Abs(constant) {
		return constant
	}
	return 0
}

func (t *treeModel) end(kind int, equal bool, rhs float64) {
	t.rows[kind].EndRow()
	t.rhs[kind] = append(t.rhs[kind], rhs)
	t.equal[kind] = append(t.equal[kind], equal)
}

func (t *treeModel) put(kind, col int, v float64) {
	if v != 0 {
		t.rows[kind].Append(col, v)
	}
}

func (t *treeModel) readRows(h, g [][]float64, q []float64) {
	p, lambda := t.p, t.nx+t.ny
	bt := p.Rows.B.T()
	for i := range t.ny {
		for j := range t.nx {
			t.put(treeStationarity, j, g[j][i])
		}
		for j := range t.ny {
			t.put(treeStationarity, t.nx+j, h[j][i])
		}
		cols, vals := bt.Row(i)
		for k, j := range cols {
			t.put(treeStationarity, lambda+j, -vals[k])
		}
		t.end(treeStationarity, true, -q[i])
	}
	for i, kind := range p.Rows.Kind {
		cols, vals := p.Rows.A.Row(i)
		for k, j := range cols {
			t.put(treeLower, j, -vals[k])
		}
		cols, vals = p.Rows.B.Row(i)
		for k, j := range cols {
			t.put(treeLower, t.nx+j, vals[k])
		}
		t.end(treeLower, kind == problem.Equal, -p.Rows.Rhs[i])
	}
	for i, kind := range p.X.Kind {
		cols, vals := p.X.E.Row(i)
		for k, j := range cols {
			t.put(treeUpper, j, vals[k])
		}
		t.end(treeUpper, kind == problem.Equal, p.X.Rhs[i])
	}
	for i := range p.X.Extended.Len() {
		cols, vals := p.X.Extended.E.Row(i)
		for k, j := range cols {
			if j >= t.nx {
				j += t.ny + t.m
			}
			t.put(treeExtended, j, vals[k])
		}
		t.end(treeExtended, false, p.X.Extended.Rhs[i])
	}
}

// readLeader reads f and the coupled rows.
func (t *treeModel) readLeader() error {
	p := t.p
	count := p.AnswerLen() - p.Dy - len(p.Duals)
	n := t.nx + t.ny + len(p.Duals)
	place := make([]int, n)
	for k := range place {
		place[k] = k
		if d := k - t.nx - t.ny; d >= 0 {
			place[k] = t.nx + t.ny + p.Duals[d]
		}
	}
	x, answer := make([]float64, t.nx), make([]float64, p.AnswerLen())
	at := func(k int) *float64 {
		if k < t.nx {
			return &x[k]
		}
		return &answer[k-t.nx]
	}
	read := func() (value float64, grad, coupled []float64) {
		gx, ga := make([]float64, t.nx), make([]float64, p.AnswerLen())
		value = p.F.ValueGrad(gx, ga, x, answer)
		return value, append(gx, ga[:p.Dy+len(p.Duals)]...), ga[p.Dy+len(p.Duals):]
	}
	value, constant, sides := read()
	if !isFinite(append(append([]float64{value}, constant...), sides...)) {
		return fmt.Errorf("f is not finite at 0")
	}
	t.konst = point(value)
	t.c, t.exactC = make([]interval, t.n), make([]*big.Rat, t.n)
	for j := range t.exactC {
		t.exactC[j] = new(big.Rat)
	}
	for k, v := range constant {
		t.addC(place[k], point(v), rat(v))
	}
	hess, rows := make([][]float64, n), make([][]float64, n) // by columns
	for k := range n {
		*at(k) = far
		_, grad, coupled := read()
		*at(k) = 0
		if !isFinite(append(append([]float64(nil), grad...), coupled...)) {
			return fmt.Errorf("f is not finite along entry %d", k)
		}
		hess[k], rows[k] = make([]float64, n), make([]float64, count)
		for i := range n {
			hess[k][i] = (grad[i] - tiny(grad[i], constant[i])) / far
		}
		for i := range count {
			rows[k][i] = (coupled[i] - tiny(coupled[i], sides[i])) / far
		}
	}
	t.q = make([][]treeEntry, t.n)
	for i := range n {
		for j := range n {
			if a, b := hess[j][i], hess[i][j]; a != 0 || b != 0 {
				exact := rat(a)
				if a != b {
					exact = nil
				}
				t.addQ(place[i], place[j], point(a).hull(point(b)), exact)
			}
		}
	}
	if count > 0 {
		for i, kind := range p.Coupled.Kind {
			full := make([]float64, t.n)
			for k := range n {
				full[place[k]] += rows[k][i]
			}
			for j, v := range full {
				t.put(treeCoupled, j, v)
			}
			t.end(treeCoupled, kind == problem.Equal, -sides[i])
		}
	}
	return nil
}

// rat is a double as a rational number.
func rat(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) }

// addC adds to an entry of c.
func (t *treeModel) addC(j int, v interval, exact *big.Rat) {
	t.c[j] = t.c[j].add(v)
	t.exactC[j] = new(big.Rat).Add(t.exactC[j], exact)
}

// addQ adds to an entry of Q; exact is nil where v is not one number.
func (t *treeModel) addQ(i, j int, v interval, exact *big.Rat) {
	row := t.q[i]
	k := sort.Search(len(row), func(k int) bool { return row[k].col >= j })
	if k == len(row) || row[k].col != j {
		if v.zero() {
			return
		}
		row = append(row, treeEntry{})
		copy(row[k+1:], row[k:])
		row[k] = treeEntry{j, v, exact}
		t.q[i] = row
		return
	}
	e := &row[k]
	if e.val = e.val.add(v); e.exact == nil || exact == nil {
		e.exact = nil
	} else {
		e.exact = new(big.Rat).Add(e.exact, exact)
	}
	if e.val.zero() || e.exact != nil && e.exact.Sign() == 0 {
		t.q[i] = append(row[:k], row[k+1:]...)
	}
}

// boxes are the bounds of single entries.
func (t *treeModel) boxes() {
	t.lo, t.hi = make([]float64, t.n), make([]float64, t.n)
	for j := range t.n {
		t.lo[j], t.hi[j] = math.Inf(-1), math.Inf(1)
	}
	if t.p.X.Lo != nil {
		copy(t.lo, t.p.X.Lo)
		copy(t.hi, t.p.X.Hi)
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

func signed(a interval, sign float64) interval {
	if sign < 0 {
		return a.neg()
	}
	return a
}
