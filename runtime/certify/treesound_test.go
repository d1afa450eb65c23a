package certify

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/extended"
	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// treeCase is a follower of entries y_j in [r_j'x + s_j, c_j] apart from each other, each of which minimizes h_j/2 y^2 - (p_j'x + q_j) y, so that its answers and their
// multipliers are known in closed form at every x. Rows 2j are the lower ends, rows 2j+1 the upper ones.
type treeCase struct {
	p          *problem.Problem
	pull, row  [][]float64 // p_j and q_j, r_j and s_j
	h, c       []float64
	f, coupled *polynomial // of x, y and the multipliers that F reads; the constraint of the leader is the second one <= 0 (nil: there is none)
	squares    []treeSquare
	duality    bool
	dual       []treeSide
	points     []systemPoint
}

// systemPoint is a point of the follower's KKT system that the leader may choose, with what F is there.
type systemPoint struct {
	x, y, lambda []float64
	value        float64
	zero         [][2]bool // by row: its slack is, its multiplier is
}

// in reports whether the point is in a leaf that holds sides of rows and ranges of entries of x.
func (s *systemPoint) in(side []int8, lo, hi []float64) bool {
	for i, k := range side {
		if k > 0 && !s.zero[i][k-1] {
			return false
		}
	}
	for j, v := range s.x {
		if v < lo[j] || v > hi[j] {
			return false
		}
	}
	return true
}

func randomTreeCase(rng *rand.Rand) *treeCase {
	whole := func(k int) float64 { return float64(rng.IntN(2*k+1) - k) }
	one := func(n int) bool { return rng.IntN(n) == 0 }
	nx, ny := 1+rng.IntN(2), 1+rng.IntN(2)
	c := &treeCase{}
	p := &problem.Problem{Name: "tree", Dx: nx, Dy: ny, Rows: &problem.Rows{}, X: &problem.Set{E: sparse.FromEntries(0, nx, nil)}, Integer: make([]bool, nx),
		Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 2, AffineCoupled: true}}
	c.p = p
	g := newPolynomial(nx + ny)
	var a, b []sparse.Entry
	for j := range ny {
		pull, row := make([]float64, nx+1), make([]float64, nx+1)
		for k := range row {
			pull[k], row[k] = whole(2), whole(1)
		}
		c.pull, c.row, c.h, c.c = append(c.pull, pull), append(c.row, row), append(c.h, float64(rng.IntN(3))), append(c.c, float64(3+rng.IntN(3)))
		g.set(nx+j, nx+j, c.h[j])
		for k := range nx {
			g.set(k, nx+j, -pull[k])
			a = append(a, sparse.Entry{Row: 2 * j, Col: k, Val: row[k]})
		}
		g.l[nx+j] = -pull[nx]
		b = append(b, sparse.Entry{Row: 2 * j, Col: j, Val: 1}, sparse.Entry{Row: 2*j + 1, Col: j, Val: -1})
		p.Rows.Kind = append(p.Rows.Kind, problem.AtMost, problem.AtMost)
		p.Rows.Rhs = append(p.Rows.Rhs, -row[nx], c.c[j])
	}
	m := 2 * ny
	p.Rows.A, p.Rows.B, p.G = sparse.FromEntries(m, nx, a), sparse.FromEntries(m, ny, b), formula(g.ValueGrad)
	for j := range nx {
		p.Integer[j] = one(3)
		lo, hi := -float64(rng.IntN(3)), float64(rng.IntN(3))
		if one(3) { // fixed
			lo = float64(rng.IntN(3)) - 1
			hi = lo
		}
		p.X.Lo, p.X.Hi = append(p.X.Lo, lo), append(p.X.Hi, hi)
	}
	if one(3) {
		row := make([]float64, nx)
		for k := range row {
			row[k] = whole(2)
		}
		p.X.Kind, p.X.E, p.X.Rhs = []problem.Kind{problem.AtMost}, sparse.FromDense(1, nx, row), []float64{float64(rng.IntN(3))}
	}
	if nx == 2 && one(4) {
		p.X.Extended = &extended.Rows{E: sparse.FromDense(3, 3, []float64{1, -1, -1, -1, 1, -1, 0, 0, 1}), Rhs: []float64{0, 0, 1}, Of: []int{0, 0, -1}, Name: []string{"", "", "spread"}, Dim: 1}
	}
	if one(4) {
		p.X.Balls = []problem.Ball{{Start: 0, End: nx, Radius: 1.5, Center: []float64{whole(1), whole(1)}[:nx]}}
	}
	if c.duality = one(2); c.duality {
		for i := range m {
			p.Duals = append(p.Duals, i)
		}
	}
	n := nx + p.AnswerLen()
	f := newPolynomial(n)
	quadratic := one(3)
	if quadratic || one(4) {
		p.Coupled = &problem.Coupled{Kind: []problem.Kind{problem.AtMost}, Name: []string{"c"}, Weight: []float64{1}}
		c.coupled = newPolynomial(n)
		for k := range nx + ny {
			c.coupled.l[k] = whole(1)
		}
		c.coupled.k = whole(2)
		if quadratic {
			p.Facts.AffineCoupled, p.Facts.DegreeCoupled = false, []int{2}
			for k := range nx + ny {
				if c.coupled.set(k, k, float64(rng.IntN(3))); one(2) {
					c.coupled.set(k, k, -c.square(rng, k, new(0)))
				}
			}
			if one(2) {
				c.coupled.set(0, nx, whole(1))
			}
			if one(4) {
				p.Coupled.Kind[0] = problem.Equal
			}
			for _, negated := range []bool{false, true} {
				if one(2) {
					c.dual = append(c.dual, treeSide{0, negated})
				}
			}
		}
	}
	f.k = whole(3)
	for k := range nx + ny {
		f.l[k] = whole(3)
		switch rng.IntN(3) {
		case 0:
			f.set(k, k, float64(rng.IntN(3)))
		case 1: // not convex but for a square
			f.set(k, k, -c.square(rng, k, nil))
		}
	}
	if c.duality { // products that strong duality cancels, with weights that are no doubles
		for j := range ny {
			k := []float64{0, 1, 0.7}[rng.IntN(3)]
			for e := range nx {
				f.set(nx+j, e, k*c.pull[j][e])
			}
			for i := 2 * j; i < 2*j+2; i++ {
				w := []float64{0, 1, k}[rng.IntN(3)]
				cols, vals := p.Rows.A.Row(i)
				for t, e := range cols {
					f.set(nx+ny+i, e, w*vals[t])
				}
				_, vals = p.Rows.B.Row(i)
				f.set(nx+ny+i, nx+j, (k-w)*vals[0])
				f.l[nx+ny+i] = float64(rng.IntN(2))
			}
		}
	}
	if one(3) {
		f.set(rng.IntN(nx), nx+rng.IntN(ny), whole(2))
	}
	if nx == 2 && one(3) {
		f.set(0, 1, whole(2))
	}
	c.f, p.F = f, formula(f.ValueGrad)
	if c.coupled != nil {
		p.F = formula(func(dx, dy, x, y []float64) float64 {
			gx, ga, w := make([]float64, nx), make([]float64, len(y)-1), len(y)-1
			value, more := f.ValueGrad(dx, dy[:w], x, y[:w]), c.coupled.ValueGrad(gx, ga, x, y[:w])
			for k, t := range gx {
				dx[k] += y[w] * t
			}
			for k, t := range ga {
				dy[k] += y[w] * t
			}
			dy[w] = more
			return value + y[w]*more
		})
	}
	c.enumerate()
	return c
}

// square is a coefficient that column k has a square for, in most cases, of f or of a constraint.
func (c *treeCase) square(rng *rand.Rand, k int, of *int) float64 {
	s := float64(1 + rng.IntN(2))
	lo, hi := float64(rng.IntN(5)-2), float64(rng.IntN(5)-2)
	if rng.IntN(6) == 0 { // it has none
		return s
	}
	square := treeSquare{Weight: s / 2 * []float64{1, 1, 1, 2, 0.9}[rng.IntN(5)], Of: &sparseVector{At: []int{k}, Val: []float64{1}}, Curved: of, Negated: of != nil && rng.IntN(4) == 0, Lo: &lo, Hi: &hi}
	switch rng.IntN(6) { // a range without an end
	case 0:
		square.Lo = nil
	case 1:
		square.Hi = nil
	}
	c.squares = append(c.squares, square)
	return s
}

// enumerate lists points at x on a grid.
func (c *treeCase) enumerate() {
	var walk func(x []float64)
	walk = func(x []float64) {
		if j := len(x); j < c.p.Dx {
			step := 0.25
			if c.p.Integer[j] {
				step = 1
			}
			for v := c.p.X.Lo[j]; v <= c.p.X.Hi[j]; v += step {
				walk(append(slices.Clone(x), v))
			}
			return
		}
		for i := range c.p.X.Kind {
			if c.p.X.E.RowDot(i, x) > c.p.X.Rhs[i] {
				return
			}
		}
		if c.p.X.Extended != nil && math.Abs(x[0]-x[1]) > 1 || len(c.p.X.Balls) > 0 && distance(x, c.p.X.Balls[0].Center) > c.p.X.Balls[0].Radius {
			return
		}
		c.answers(x, nil, nil)
	}
	walk(nil)
}

// answers lists those at x, entry by entry: where an entry has many, its ends.
func (c *treeCase) answers(x, y, lambda []float64) {
	j := len(y)
	if j < c.p.Dy {
		value := func(of []float64) float64 { return floats.Dot(of[:len(x)], x) + of[len(x)] }
		lo, hi, pull := value(c.row[j]), c.c[j], value(c.pull[j])
		with := func(v float64) {
			c.answers(x, append(slices.Clone(y), v), append(slices.Clone(lambda), math.Max(0, c.h[j]*v-pull), math.Max(0, pull-c.h[j]*v)))
		}
		switch {
		case lo > hi:
		case c.h[j] > 0:
			with(math.Min(hi, math.Max(lo, pull/c.h[j])))
		case pull > 0:
			with(hi)
		case pull < 0:
			with(lo)
		default:
			with(lo)
			with(hi)
		}
		return
	}
	answer := c.p.Answer(y, lambda)
	if c.coupled != nil && c.p.Coupled.Kind[0].Over(formula(c.coupled.ValueGrad).Value(x, answer[:len(answer)-1])) > 0 {
		return
	}
	s := systemPoint{x: x, y: y, lambda: lambda, value: c.p.F.Value(x, answer)}
	for i, l := range lambda {
		s.zero = append(s.zero, [2]bool{c.p.Rows.A.RowDot(i, x)-c.p.Rows.B.RowDot(i, y)-c.p.Rows.Rhs[i] == 0, l == 0})
	}
	c.points = append(c.points, s)
}

// climber looks for weights of a leaf that show as much as they can.
type climber struct {
	leaf *treeLeaf
	rng  *rand.Rand
	w    [treeKinds + 3][]float64 // of the rows of each kind, of directions, of constraints, and z
	open [][2]int                 // what there is of them
}

func newClimber(rng *rand.Rand, leaf *treeLeaf) *climber {
	c := &climber{leaf: leaf, rng: rng}
	for k := range c.w {
		n := leaf.t.n
		switch {
		case k < treeKinds:
			n = leaf.t.rows[k].Rows
		case k == treeKinds:
			n = len(leaf.along)
		case k == treeKinds+1:
			n = len(leaf.t.constraints)
		}
		c.w[k] = make([]float64, n)
		for i := range n {
			c.open = append(c.open, [2]int{k, i})
		}
	}
	return c
}

func (c *climber) weights() *treeWeights {
	var out [treeKinds + 3]*sparseVector
	for k, w := range c.w {
		for i, v := range w {
			if v != 0 {
				if out[k] == nil {
					out[k] = &sparseVector{}
				}
				out[k].At, out[k].Val = append(out[k].At, i), append(out[k].Val, v)
			}
		}
	}
	return &treeWeights{Stationarity: out[0], Lower: out[1], Upper: out[2], Extended: out[3], Coupled: out[4], Levels: out[5], Duality: out[6], Along: out[7], Curved: out[8], Z: out[9]}
}

// shown is what the weights show, -Inf for nothing; of an empty leaf what is to be above 0, and whether it is accepted as one.
func (c *climber) shown(empty bool) (bound float64, accepted bool) {
	err := must.Try(func() {
		c.leaf.load(c.weights(), empty)
		bound = c.leaf.bound()
	})
	if err == nil {
		return bound, true
	}
	if _, short := fmt.Sscanf(err.Error(), "the weights of an empty leaf prove %g", &bound); short == nil {
		return bound, false
	}
	return math.Inf(-1), false
}

// climb changes one weight at a time, from z on, and keeps what shows no less.
func (c *climber) climb(steps int, z []float64, empty bool) (bound float64, accepted bool) {
	for _, w := range c.w {
		clear(w)
	}
	copy(c.w[len(c.w)-1], z)
	bound, accepted = c.shown(empty)
	for range steps {
		at := c.open[c.rng.IntN(len(c.open))]
		v := &c.w[at[0]][at[1]]
		was := *v
		if *v += math.Ldexp(c.rng.NormFloat64(), 1-c.rng.IntN(8)); c.rng.IntN(4) == 0 {
			*v = float64(c.rng.IntN(5) - 2)
		}
		if now, is := c.shown(empty); now >= bound {
			bound, accepted = now, is
		} else {
			*v = was
		}
	}
	return bound, accepted
}

// Weights that are looked for to show as much as they can show nothing that is false: no bound above F at a point of the leaf, and no leaf with a point empty; and the lines of a whole tree show what its
// leaves do one by one. The points are answers of followers in closed form.
func TestTheBestWeightsShowNothingFalse(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 10))
	proved, tight, empties, refused := 0, 0, 0, map[string]int{}
	for trial := range 450 {
		c := randomTreeCase(rng)
		if len(c.points) == 0 {
			continue
		}
		name := fmt.Sprintf("trial %d", trial)
		head := fmt.Sprintf(`{"tree":1,"duality":%v}`, c.duality)
		var lines strings.Builder
		fmt.Fprintln(&lines, head)
		for _, s := range c.squares {
			text, _ := json.Marshal(map[string]treeSquare{"concave": s})
			fmt.Fprintf(&lines, "%s\n", text)
		}
		for _, s := range c.dual {
			text, _ := json.Marshal(map[string]treeSide{"dual": s})
			fmt.Fprintf(&lines, "%s\n", text)
		}
		var model *treeModel
		if err := must.Try(func() {
			model = newTreeModel(c.p).of(&treeAdded{duality: c.duality, squares: c.squares, dual: c.dual, lift: &treeLift{}})
			model.convexity(model.plain, model.lo, model.hi)
		}); err != nil {
			refused[err.Error()]++
			continue
		}
		// Random branches: pairs, then an entry of x, each leaf once.
		shown, least, branches, leaves := math.Inf(1), math.Inf(1), int64(0), int64(0)
		side := make([]int8, c.p.Rows.Len())
		ends := [2][]float64{slices.Clone(c.p.X.Lo), slices.Clone(c.p.X.Hi)}
		along := map[int]interval{}
		var visit func(depth int)
		visit = func(depth int) {
			if i := rng.IntN(len(side)); depth > 0 && side[i] == 0 {
				branches++
				fmt.Fprintf(&lines, "{\"pair\":%d}\n", i)
				for k := int8(1); k <= 2; k++ {
					side[i] = k
					visit(depth - 1)
				}
				side[i] = 0
				return
			}
			if j := rng.IntN(c.p.Dx); depth > 0 && c.p.Integer[j] && ends[0][j] < ends[1][j] {
				at, lo, hi := ends[0][j]+float64(rng.IntN(int(ends[1][j]-ends[0][j]))), ends[0][j], ends[1][j]
				branches++
				fmt.Fprintf(&lines, "{\"entry\":%d,\"at\":%v}\n", j, at)
				ends[1][j] = at
				visit(depth - 1)
				ends[0][j], ends[1][j] = at+1, hi
				visit(depth - 1)
				ends[0][j] = lo
				return
			}
			leaf := newTreeLeaf(model)
			for i, k := range side {
				if k > 0 {
					leaf.hold(i, k)
				}
			}
			for j := range c.p.Dx {
				leaf.lo[j], leaf.hi[j] = math.Max(leaf.lo[j], ends[0][j]), math.Min(leaf.hi[j], ends[1][j])
			}
			if k := rng.IntN(len(c.squares) + 1); depth > 0 && k < len(c.squares) && along[k] == (interval{}) {
				at := float64(rng.IntN(3)-1) / 2
				r := leaf.along[k]
				branches++
				fmt.Fprintf(&lines, "{\"along\":%d,\"at\":%v}\n", k, at)
				along[k] = interval{r.lo, math.Min(r.hi, at)}
				visit(depth - 1)
				along[k] = interval{math.Max(r.lo, at), r.hi}
				visit(depth - 1)
				delete(along, k)
				return
			}
			for k, r := range along {
				leaf.along[k] = r
			}
			best, z := math.Inf(1), []float64(nil) // F at the points of the leaf
			for _, s := range c.points {
				is := s.in(side, ends[0], ends[1])
				for k, r := range along {
					w := slices.Concat(s.x, s.y)[c.squares[k].Of.At[0]]
					is = is && w >= r.lo && w <= r.hi
				}
				if is && s.value < best {
					best, z = s.value, slices.Concat(s.x, s.y, s.lambda)
				}
			}
			climb := newClimber(rng, leaf)
			if _, accepted := climb.climb(40, nil, true); accepted {
				if empties++; !math.IsInf(best, 1) {
					t.Errorf("%s: a leaf with F = %v is empty: %v", name, best, climb.w)
				}
			}
			bound, accepted := climb.climb(200, z, false)
			if bound > best && rat(bound).Cmp(c.f.exactly(z)) > 0 {
				t.Errorf("%s: F is %v in a leaf, and at least %v: %v", name, best, bound, climb.w)
			}
			if !accepted {
				shown = math.Inf(-1)
			}
			shown, least = math.Min(shown, bound), math.Min(least, best)
			leaves++
			text, _ := json.Marshal(map[string]*treeWeights{"bound": climb.weights()})
			fmt.Fprintf(&lines, "%s\n", text)
		}
		visit(2)
		report, err := VerifyTree(c.p, strings.NewReader(lines.String()), "")
		switch {
		case math.IsInf(shown, -1):
			if err == nil {
				t.Errorf("%s: a leaf shows nothing, and the proof is accepted\n%s", name, lines.String())
			}
			continue
		case err != nil:
			t.Errorf("%s: %v\n%s", name, err, lines.String())
			continue
		case report.Branches != branches || report.Leaves != leaves || report.Empty != 0:
			t.Errorf("%s: %d branches and %d leaves, and %+v", name, branches, leaves, *report)
		case report.Bound != shown:
			t.Errorf("%s: the leaves show %v, the proof %v\n%s", name, shown, report.Bound, lines.String())
		}
		if proved++; least-report.Bound < 0.1*(1+math.Abs(least)) {
			tight++
		}
	}
	if proved < 60 || tight < 20 || empties < 50 {
		t.Errorf("%d proved, %d of them near F, %d leaves empty; refused %v", proved, tight, empties, refused)
	}
}

// Trees of parts of f show no more than F together, and every column is in one part.
func TestPartsShowNothingFalse(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 12))
	proved, tight := 0, 0
	for trial := range 1000 {
		c := randomTreeCase(rng)
		if len(c.points) == 0 || c.duality || len(c.squares) > 0 {
			continue
		}
		var parts [2]treePart
		parts[0].first = true
		n := treeColumns(c.p)
		in := make([]int, n)
		for j := range n {
			in[j] = rng.IntN(2)
			parts[in[j]].Columns = append(parts[in[j]].Columns, j)
		}
		var model *treeModel
		if err := must.Try(func() { model = newTreeModel(c.p) }); err != nil || len(parts[0].Columns) == 0 || len(parts[1].Columns) < 2 {
			continue
		}
		lines := []string{"{\"tree\":1}"}
		sum := interval{}
		apart := true
		for i, row := range c.f.m {
			for j, v := range row {
				apart = apart && (v == 0 || in[i] == in[j])
			}
		}
		least, z := math.Inf(1), []float64(nil)
		for _, s := range c.points {
			if s.value < least {
				least, z = s.value, slices.Concat(s.x, s.y, s.lambda)
			}
		}
		for k := range parts {
			var of *treeModel
			if must.Try(func() {
				of = model.of(&treeAdded{part: &parts[k], lift: &treeLift{}})
				of.convexity(of.plain, of.lo, of.hi)
			}) != nil {
				sum = point(math.NaN())
				break
			}
			climb := newClimber(rng, newTreeLeaf(of))
			bound, _ := climb.climb(500, z, false)
			sum = sum.add(point(bound))
			part, _ := json.Marshal(map[string]treePart{"part": parts[k]})
			leaf, _ := json.Marshal(map[string]*treeWeights{"bound": climb.weights()})
			lines = append(lines, string(part), string(leaf))
		}
		if math.IsNaN(sum.lo) || math.IsInf(sum.lo, 0) {
			continue
		}
		proved++
		switch report, err := VerifyTree(c.p, strings.NewReader(strings.Join(lines, "\n")), ""); {
		case err != nil:
			t.Errorf("trial %d: %v", trial, err)
		case !apart:
			t.Errorf("trial %d: f has products of two parts, and they show %v", trial, report.Bound)
		case report.Bound > least || !(math.Abs(report.Bound-sum.lo) <= 1e-12*(1+math.Abs(sum.lo))):
			t.Errorf("trial %d: the parts show %v and together %v, and F is %v", trial, sum.lo, report.Bound, least)
		case least-report.Bound < 0.1*(1+math.Abs(least)):
			tight++
		}
		// A column twice, and one in none.
		for _, forged := range []func(){
			func() { parts[1].Columns = append(parts[1].Columns, rng.IntN(n)) },
			func() { parts[1].Columns = parts[1].Columns[:len(parts[1].Columns)-2] },
		} {
			forged()
			if len(parts[1].Columns) == 0 {
				continue
			}
			part, _ := json.Marshal(map[string]treePart{"part": parts[1]})
			lines[3] = string(part)
			if report, err := VerifyTree(c.p, strings.NewReader(strings.Join(lines, "\n")), ""); err == nil && !math.IsInf(report.Bound, 1) {
				t.Errorf("trial %d: columns %v and %v of %d show %v", trial, parts[0].Columns, parts[1].Columns, n, report.Bound)
			}
		}
	}
	if proved < 40 || tight < 5 {
		t.Errorf("%d proved, %d of them near F", proved, tight)
	}
}
