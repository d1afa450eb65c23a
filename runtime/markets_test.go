package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"
	"gonum.org/v1/gonum/stat/combin"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// pool is a random market that clears by a linear program: blocks of rivals at fixed costs, shedding at a high one, a line between two nodes. The leader owns a plant at the first node and is paid
// the multiplier of a balance; it offers the plant's energy at a price x, or says how much x it makes. Whole numbers and halves leave steps just full and lines just congested.
type pool struct {
	nodes                     int
	offers                    bool // a price, else a quantity
	paid                      int  // the node at whose price it is paid
	demand                    []float64
	site                      []int // of each rival
	cost, size                []float64
	line, own, plant, highest float64
	// min (q + e_0 x)'y over y with b y >= rhs + t x, the first of these rows equations; e_0 only where a price is offered.
	q     []float64
	b     [][]float64
	rhs   []float64
	t     []float64
	equal int
}

const shedding = 30

func drawPool(rng *rand.Rand) *pool {
	m := &pool{nodes: 1 + rng.IntN(2), offers: rng.IntN(2) == 0, line: float64(1+rng.IntN(4)) / 2, own: float64(rng.IntN(8)), plant: float64(1 + rng.IntN(4)), highest: 20}
	m.paid = 0
	if rng.IntN(3) == 0 {
		m.paid = rng.IntN(m.nodes)
	}
	for range m.nodes {
		m.demand = append(m.demand, float64(2+rng.IntN(5)))
	}
	for range 1 + rng.IntN(2) {
		m.site, m.cost, m.size = append(m.site, rng.IntN(m.nodes)), append(m.cost, float64(2*(1+rng.IntN(8)))), append(m.size, float64(1+rng.IntN(3)))
	}
	if rng.IntN(3) == 0 { // numbers that are rounded
		for _, list := range [][]float64{m.demand, m.cost, m.size} {
			for k := range list {
				list[k] += float64(rng.IntN(9)) / 10
			}
		}
	}
	if !m.offers {
		m.highest = m.demand[0] - 0.5
	}
	m.follower()
	return m
}

// follower writes the linear program: variables mine (of an offer), rival, shed, flow; all but the flow >= 0.
func (m *pool) follower() {
	mine := 0
	if m.offers {
		mine = 1
	}
	rivals, nodes := len(m.site), m.nodes
	ny := mine + rivals + nodes + nodes - 1
	unit := func(j int, v float64) []float64 {
		row := make([]float64, ny)
		row[j] = v
		return row
	}
	add := func(row []float64, rhs, t float64) {
		m.b, m.rhs, m.t = append(m.b, row), append(m.rhs, rhs), append(m.t, t)
	}
	m.q = make([]float64, ny)
	for i := range nodes {
		row := unit(mine+rivals+i, 1)
		if m.offers && i == 0 {
			row[0] = 1
		}
		for k, at := range m.site {
			if at == i {
				row[mine+k] = 1
			}
		}
		if nodes == 2 { // the flow leaves the first node
			row[ny-1] = []float64{-1, 1}[i]
		}
		t := 0.0
		if !m.offers && i == 0 {
			t = -1
		}
		add(row, m.demand[i], t)
		m.q[mine+rivals+i] = shedding
	}
	m.equal = nodes
	for j := range mine + rivals + nodes {
		add(unit(j, 1), 0, 0)
	}
	if m.offers {
		add(unit(0, -1), -m.plant, 0)
	}
	for k := range rivals {
		m.q[mine+k] = m.cost[k]
		add(unit(mine+k, -1), -m.size[k], 0)
	}
	if nodes == 2 {
		add(unit(ny-1, 1), -m.line, 0)
		add(unit(ny-1, -1), -m.line, 0)
	}
}

func (m *pool) text(rule string) string {
	var b strings.Builder
	list := func(v []float64) string { return strings.ReplaceAll(fmt.Sprint(v), " ", ", ") }
	in := make([][]float64, m.nodes)
	for i := range in {
		in[i] = make([]float64, len(m.site))
		for k, at := range m.site {
			if at == i {
				in[i][k] = 1
			}
		}
	}
	mine, objective, flow := "x", "", ""
	fmt.Fprintf(&b, "model pool\ndata demand: vector[%d] = %s\ndata cost: vector[%d] = %s\ndata size: vector[%d] = %s\ndata at: matrix[%d, %d] = %s\n",
		m.nodes, list(m.demand), len(m.cost), list(m.cost), len(m.size), list(m.size), m.nodes, len(m.site), text(in))
	if m.offers {
		mine, objective = "mine", "x * mine + "
	}
	if m.nodes == 2 {
		flow = " + [flow; -flow]"
	}
	fmt.Fprintf(&b, "upper {\n  var x: real in box(0, %v)\n  maximize (dual(balance)[%d] - %v) * %s\n}\nlower {\n", m.highest, m.paid+1, m.own, mine)
	if m.offers {
		b.WriteString("  var mine: real in nonneg\n")
	}
	fmt.Fprintf(&b, "  var rival: vector[%d] in nonneg\n  var shed: vector[%d] in nonneg\n", len(m.site), m.nodes)
	if m.nodes == 2 {
		b.WriteString("  var flow: real\n")
	}
	fmt.Fprintf(&b, "  minimize %scost' * rival + %v * sum(shed)\n  subject to\n", objective, shedding)
	if m.offers {
		fmt.Fprintf(&b, "    own: mine <= %v\n", m.plant)
	}
	at := fmt.Sprintf("[%s]", mine)
	if m.nodes == 2 {
		at = fmt.Sprintf("[%s; 0]", mine)
		fmt.Fprintf(&b, "    up: flow <= %v\n    down: -flow <= %v\n", m.line, m.line)
	}
	fmt.Fprintf(&b, "    balance: demand%s == %s + at * rival + shed\n    full: rival <= size\n}\nsolve { ties = %s }\nreport { price = dual(balance) }\n", flow, at, rule)
	return b.String()
}

// bases calls visit with the y and the lambda of every basis of the follower at x: as many independent rows as y has entries, the equations among them; both may be infeasible.
func (m *pool) bases(x float64, visit func(y, lambda []float64)) {
	ny := len(m.q)
	q := slices.Clone(m.q)
	if m.offers {
		q[0] += x
	}
	for _, pick := range combin.Combinations(len(m.b)-m.equal, ny-m.equal) {
		rows := make([]int, 0, ny)
		for i := range m.equal {
			rows = append(rows, i)
		}
		for _, i := range pick {
			rows = append(rows, m.equal+i)
		}
		b, rhs := mat.NewDense(ny, ny, nil), mat.NewVecDense(ny, nil)
		for r, i := range rows {
			b.SetRow(r, m.b[i])
			rhs.SetVec(r, m.rhs[i]+m.t[i]*x)
		}
		if math.Abs(mat.Det(b)) < 0.5 { // a matrix of whole numbers
			continue
		}
		var y, l mat.VecDense
		if y.SolveVec(b, rhs) != nil || l.SolveVec(b.T(), mat.NewVecDense(ny, q)) != nil {
			panic("a regular matrix")
		}
		lambda := make([]float64, len(m.b))
		for r, i := range rows {
			lambda[i] = l.AtVec(r)
		}
		visit(y.RawVector().Data, lambda)
	}
}

func (m *pool) slack(y []float64, x float64, i int) float64 {
	return dot(m.b[i], y) - m.rhs[i] - m.t[i]*x
}

func (m *pool) feasible(y []float64, x float64) bool {
	for i := range m.b {
		if s := m.slack(y, x, i); s < -1e-9 || i < m.equal && s > 1e-9 {
			return false
		}
	}
	return true
}

func (m *pool) nonneg(lambda []float64) bool {
	return !slices.ContainsFunc(lambda[m.equal:], func(l float64) bool { return l < -1e-9 })
}

func (m *pool) profit(x float64, y, lambda []float64) float64 {
	mine := x
	if m.offers {
		mine = y[0]
	}
	return (lambda[m.paid] - m.own) * mine
}

// at is the least and the most profit at x over all optimal bases, with how many answers, and how many values of the multipliers of balances, there are among them.
func (m *pool) at(x float64) (best, worst float64, answers, prices int) {
	least := math.Inf(1)
	cost := func(y []float64) float64 {
		c := dot(m.q, y)
		if m.offers {
			c += x * y[0]
		}
		return c
	}
	var ys, ls [][]float64
	m.bases(x, func(y, lambda []float64) {
		if m.feasible(y, x) {
			least = math.Min(least, cost(y))
		}
	})
	put := func(list *[][]float64, v []float64) {
		if !slices.ContainsFunc(*list, func(u []float64) bool { return apart(u, v) < 1e-9 }) {
			*list = append(*list, slices.Clone(v))
		}
	}
	var read [][]float64
	m.bases(x, func(y, lambda []float64) {
		if m.feasible(y, x) && cost(y) <= least+1e-9 {
			put(&ys, y)
		}
		value := 0.0
		for i, l := range lambda {
			value += l * (m.rhs[i] + m.t[i]*x)
		}
		if m.nonneg(lambda) && value >= least-1e-9 {
			put(&ls, lambda)
			put(&read, lambda[m.paid:m.paid+1])
		}
	})
	best, worst = math.Inf(-1), math.Inf(1)
	for _, y := range ys {
		for _, l := range ls {
			p := m.profit(x, y, l)
			best, worst = math.Max(best, p), math.Min(worst, p)
		}
	}
	return best, worst, len(ys), len(read)
}

// optimum is the largest profit that any x with any of the follower's answers and multipliers has. A price offered moves the costs alone, so that the vertices y of the follower's set are fixed: with
// each, x and lambda are those of a linear program. A quantity moves the rows alone, and the vertices of the dual set are fixed.
func (m *pool) optimum(t *testing.T) float64 {
	best := math.Inf(-1)
	var seen [][]float64
	m.bases(0, func(y, lambda []float64) {
		fixed := y
		if m.offers && !m.feasible(y, 0) || !m.offers && !m.nonneg(lambda) {
			return
		}
		if !m.offers {
			fixed = lambda
		}
		if slices.ContainsFunc(seen, func(u []float64) bool { return apart(u, fixed) < 1e-9 }) {
			return
		}
		seen = append(seen, slices.Clone(fixed))
		if m.offers {
			best = math.Max(best, m.withAnswer(t, fixed))
		} else {
			best = math.Max(best, m.withMultipliers(t, fixed))
		}
	})
	return best
}

// program is a linear program that is maximized over nonnegative unknowns; -Inf where nothing is feasible.
type program struct {
	c    []float64
	rows [][]float64
	rhs  []float64
}

func (p *program) solve(t *testing.T) float64 {
	t.Helper()
	for i, v := range p.rhs { // as the simplex method wants it
		if v < 0 {
			p.rhs[i] = -v
			for j := range p.rows[i] {
				p.rows[i][j] *= -1
			}
		}
	}
	cost := make([]float64, len(p.c))
	for j, v := range p.c {
		cost[j] = -v
	}
	a := mat.NewDense(len(p.rows), len(p.c), nil)
	for i, row := range p.rows {
		a.SetRow(i, row)
	}
	v, _, err := lp.Simplex(cost, a, p.rhs, 1e-10, nil)
	switch {
	case errors.Is(err, lp.ErrInfeasible):
		return math.Inf(-1)
	case err != nil:
		t.Skipf("the simplex method: %v", err)
	}
	return -v
}

// withAnswer: unknowns x, X - x, lambda+ and lambda- of equations, lambda of rows that hold at y.
func (m *pool) withAnswer(t *testing.T, y []float64) float64 {
	n := 2 + 2*m.equal
	columns := map[int]int{}
	for i := m.equal; i < len(m.b); i++ {
		if m.slack(y, 0, i) < 1e-9 {
			columns[i] = n
			n++
		}
	}
	p := &program{c: make([]float64, n)}
	for j := range m.q {
		row := make([]float64, n)
		if j == 0 {
			row[0] = -1
		}
		for i := range m.equal {
			row[2+2*i], row[3+2*i] = m.b[i][j], -m.b[i][j]
		}
		for i, at := range columns {
			row[at] = m.b[i][j]
		}
		p.rows, p.rhs = append(p.rows, row), append(p.rhs, m.q[j])
	}
	row := make([]float64, n)
	row[0], row[1] = 1, 1
	p.rows, p.rhs = append(p.rows, row), append(p.rhs, m.highest)
	p.c[2+2*m.paid], p.c[3+2*m.paid] = y[0], -y[0]
	v := p.solve(t)
	return v - m.own*y[0]
}

// withMultipliers: unknowns x, X - x, y+ and y-, slacks of rows without a multiplier.
func (m *pool) withMultipliers(t *testing.T, lambda []float64) float64 {
	n := 2 + 2*len(m.q)
	columns := map[int]int{}
	for i := m.equal; i < len(m.b); i++ {
		if lambda[i] < 1e-9 {
			columns[i] = n
			n++
		}
	}
	p := &program{c: make([]float64, n)}
	for i := range m.b {
		row := make([]float64, n)
		row[0] = -m.t[i]
		for j, v := range m.b[i] {
			row[2+2*j], row[3+2*j] = v, -v
		}
		if at, ok := columns[i]; ok {
			row[at] = -1
		}
		p.rows, p.rhs = append(p.rows, row), append(p.rhs, m.rhs[i])
	}
	row := make([]float64, n)
	row[0], row[1] = 1, 1
	p.rows, p.rhs = append(p.rows, row), append(p.rhs, m.highest)
	p.c[0] = lambda[m.paid] - m.own
	return p.solve(t)
}

func same(a runtime.Number, b float64) bool { return math.Abs(float64(a)-b) <= 1e-7*(1+math.Abs(b)) }

// Markets that clear by linear programs are solved, with the proof of the optimum where the plant is paid the price of its own node, and the result says what F is if answer and prices go the other way.
func TestLinearMarkets(t *testing.T) {
	elsewhere, optimal := 0, 0
	for seed := range members.Seeds(t, 200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := drawPool(rand.New(rand.NewPCG(seed, 31)))
			want := m.optimum(t)
			p := bindText(t, m.text("optimistic"))
			r, err := p.Solve(context.Background(), runtime.Options{Search: runtime.SearchFully, Nodes: 20000})
			if err != nil {
				t.Fatal(err)
			}
			x := r.Upper.Variables[0].Data[0]
			best, worst, answers, prices := m.at(x)
			ties := r.Lower.Ties
			if m.paid > 0 { // the price of another node than the plant's: no weights of strong duality make the product linear
				elsewhere++
				if same(r.Upper.Objective, want) {
					optimal++
				}
			}
			switch {
			case m.paid == 0 && !r.Global.Proved:
				t.Errorf("not proved: %s", r.Global.Why)
			case r.Status != runtime.Solved || !verified(p, r):
				t.Errorf("%s: %s", r.Status, r.Reason)
			case r.Global.Proved && !same(r.Upper.Objective, want), float64(r.Upper.Objective) > want+1e-7*(1+math.Abs(want)):
				t.Errorf("F %v, by enumeration %v", r.Upper.Objective, want)
			case !same(r.Upper.Objective, best) || !same(ties.Optimistic, best) || !same(ties.Pessimistic, worst):
				t.Errorf("at x = %v F is %v, best %v, worst %v; by enumeration %v and %v", x, r.Upper.Objective, ties.Optimistic, ties.Pessimistic, best, worst)
			case *ties.UniqueAnswer != (answers == 1) || *ties.UniqueMultipliers != (prices == 1) || ties.Unique != (answers == 1 && prices == 1):
				t.Errorf("unique %v: answer %v, multipliers %v; there are %d and %d", ties.Unique, *ties.UniqueAnswer, *ties.UniqueMultipliers, answers, prices)
			}
			if s := ties.Safe; s != nil {
				best, worst, _, _ := m.at(s.Variables[0].Data[0])
				if !same(s.Objective, best) || !same(s.Objective, worst) {
					t.Errorf("the safe point's F is %v; by enumeration from %v to %v", s.Objective, best, worst)
				}
			}
			if t.Failed() {
				t.Log(m.text("optimistic"))
			}
		})
	}
	if optimal < members.Least(elsewhere, 0.9) {
		t.Errorf("of %d with the price of another node %d at the optimum", elsewhere, optimal)
	}
}

// F at a given x is that of the best, or the worst, of all optimal bases; documents with other numbers do not pass.
func TestEvaluationsOfLinearMarkets(t *testing.T) {
	t.Parallel()
	several := 0
	// Of 1055 and 770000112 a solution of a search over answers was given up for a shorter one that shows less.
	for _, seed := range append(slices.Collect(members.Seeds(t, 200)), 1055, 770000112) {
		rng := rand.New(rand.NewPCG(seed, 32))
		m := drawPool(rng)
		for _, rule := range []string{"optimistic", "pessimistic"} {
			p := bindText(t, m.text(rule))
			for range 4 {
				x := min(float64(rng.IntN(2*int(m.highest)+2))/2, m.highest)
				best, worst, answers, prices := m.at(x)
				fail := func(format string, args ...any) {
					t.Helper()
					t.Errorf("seed %d, x = %v: %s\n%s", seed, x, fmt.Sprintf(format, args...), m.text(rule))
				}
				eval := func() *runtime.Result {
					r, err := p.Eval(context.Background(), runtime.Values{{Name: "x", Data: []float64{x}}}, runtime.Options{})
					if err != nil {
						t.Fatal(err)
					}
					return r
				}
				r := eval()
				want, ties := best, r.Lower.Ties
				if rule == "pessimistic" {
					want = worst
				}
				if r.Status != runtime.Solved || !same(r.Upper.Objective, want) || !same(ties.Optimistic, best) || !same(ties.Pessimistic, worst) {
					fail("%s, F %v, %+v; by enumeration from %v to %v", r.Status, r.Upper.Objective, ties, worst, best)
					continue
				}
				if *ties.UniqueAnswer != (answers == 1) || *ties.UniqueMultipliers != (prices == 1) {
					fail("unique answer %v, multipliers %v; there are %d and %d", *ties.UniqueAnswer, *ties.UniqueMultipliers, answers, prices)
				}
				if !verified(p, r) {
					report, _ := p.Verify(r)
					fail("does not verify: %v", report.Failures())
				}
				if prices > 1 {
					several++
				}
				price := func(r *runtime.Result) []float64 {
					v, _ := r.Lower.Multipliers.Get("balance")
					return v.Data
				}
				for what, forge := range map[string]func(r *runtime.Result){
					"price":              func(r *runtime.Result) { price(r)[m.paid] += 0.5 },
					"sign of the prices": func(r *runtime.Result) { price(r)[m.paid] *= -1 },
					"best":               func(r *runtime.Result) { r.Lower.Ties.Optimistic += 1e-3 },
					"worst":              func(r *runtime.Result) { r.Lower.Ties.Pessimistic -= 1e-3 },
					"unique":             func(r *runtime.Result) { r.Lower.Ties.Unique = !r.Lower.Ties.Unique },
					"unique answer":      func(r *runtime.Result) { *r.Lower.Ties.UniqueAnswer = !*r.Lower.Ties.UniqueAnswer },
					"unique multipliers": func(r *runtime.Result) { *r.Lower.Ties.UniqueMultipliers = !*r.Lower.Ties.UniqueMultipliers },
					"no uniqueness":      func(r *runtime.Result) { r.Lower.Ties.UniqueMultipliers = nil },
				} {
					forged := eval()
					if forge(forged); what == "sign of the prices" && price(forged)[m.paid] == 0 {
						continue
					}
					if verified(p, forged) {
						fail("another %s passes", what)
					}
				}
			}
		}
	}
	if several < members.Part(20, 200) {
		t.Errorf("prices were unique but for %d points", several)
	}
}

// A safe point keeps the leader's whole numbers, and documents with others do not pass; F there is that of the units' own merit order.
func TestSafePointsOfWholeNumbers(t *testing.T) {
	safe := 0
	for seed := range members.Seeds(t, 40) {
		rng := rand.New(rand.NewPCG(seed, 34))
		load := []float64{float64(40 + rng.IntN(50)), float64(40 + rng.IntN(50))}
		coal, dear := float64(30+rng.IntN(20)), float64(25+rng.IntN(30))
		p := bindText(t, fmt.Sprintf(`model unit
data load: vector[2] = %s
upper {
  var build: vector[2] binary
  var size: real in box(0, 25)
  maximize sum(t in 1..2: (dual(balance)[t] - 12) * mine[t]) - 4 * size - 20 * sum(build)
}
lower {
  var mine: vector[2] in nonneg
  var coal: vector[2] in box(0, %v)
  var gas: vector[2] in nonneg
  minimize 12 * sum(mine) + 20 * sum(coal) + %v * sum(gas)
  subject to
    balance: load == mine + coal + gas
    all: mine <= size
    on: mine <= 25 * build
}
solve { ties = optimistic }
`, text(load), coal, dear))
		r, err := p.Solve(context.Background(), runtime.Options{Search: runtime.SearchFully})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != runtime.Solved || !verified(p, r) {
			t.Fatalf("seed %d: %s: %s", seed, r.Status, r.Reason)
		}
		s := r.Lower.Ties.Safe
		if s == nil {
			continue
		}
		safe++
		build, _ := s.Variables.Get("build")
		size, _ := s.Variables.Get("size")
		want := -4 * size.Data[0]
		for h, at := range load {
			if build.Data[h] != math.Round(build.Data[h]) {
				t.Errorf("seed %d: build = %v at the safe point", seed, build.Data)
			}
			mine := size.Data[0] * build.Data[h]
			price := 20.0
			if at-mine > coal {
				price = dear
			}
			want += (price-12)*min(mine, at) - 20*build.Data[h]
		}
		if !same(s.Objective, want) {
			t.Errorf("seed %d: the safe point's F is %v, by merit order %v", seed, s.Objective, want)
		}
		build.Data[0] -= 1e-6
		if verified(p, r) {
			t.Errorf("seed %d: a broken number of the safe point passes", seed)
		}
	}
	if safe < members.Part(8, 40) {
		t.Errorf("%d safe points", safe)
	}
}
