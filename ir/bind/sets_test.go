package bind

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/data"
	"bilevelc/ir/datafile"
	"bilevelc/ir/expr"
)

// twins writes one model twice: over index sets with labels, and over plain
// ranges, where labels are numbers and parts and tuples are vectors of indices.
type twins struct {
	*rand.Rand
	labels []string
	hours  int
	first  int      // the number of the first hour
	ports  []int    // cities, from 1
	arcs   [][2]int // cities, from 1
	fresh  int
}

// place is an index that may stand in a subscript over the cities: in the two
// ways of writing.
type place struct{ labelled, plain string }

// scope is what a scalar may use.
type twinScope struct {
	cities, hours []place
	arcs          []place // subscripts of an array over the arcs
}

func (s twinScope) with(cities, hours, arcs []place) twinScope {
	return twinScope{append(s.cities[:len(s.cities):len(s.cities)], cities...), append(s.hours[:len(s.hours):len(s.hours)], hours...),
		append(s.arcs[:len(s.arcs):len(s.arcs)], arcs...)}
}

func (g *twins) city(s twinScope) place {
	if k := g.IntN(len(s.cities) + 1); k < len(s.cities) {
		return s.cities[k]
	}
	k := g.IntN(len(g.labels))
	return place{fmt.Sprintf("%q", g.labels[k]), fmt.Sprint(k + 1)}
}

func (g *twins) hour(s twinScope) place {
	if k := g.IntN(len(s.hours) + 1); k < len(s.hours) {
		return s.hours[k]
	}
	k := g.IntN(g.hours)
	return place{fmt.Sprint(g.first + k), fmt.Sprint(1 + k)}
}

func (g *twins) arc(s twinScope) place {
	if k := g.IntN(len(s.arcs) + 1); k < len(s.arcs) {
		return s.arcs[k]
	}
	k := g.IntN(len(g.arcs))
	return place{fmt.Sprintf("%q, %q", g.labels[g.arcs[k][0]-1], g.labels[g.arcs[k][1]-1]), fmt.Sprint(k + 1)}
}

// entry is an entry of an array: of data, or of any.
func (g *twins) entry(s twinScope, fixed bool) place {
	n := 13
	if fixed {
		n = 8
	}
	c, d, h, a := g.city(s), g.city(s), g.hour(s), g.arc(s)
	two := func(name string, p place) place {
		return place{name + "[" + p.labelled + "]", name + "[" + p.plain + "]"}
	}
	switch g.IntN(n) {
	case 0:
		return two("cost", c)
	case 1:
		return two("dist", place{c.labelled + ", " + d.labelled, c.plain + ", " + d.plain})
	case 2:
		return two("reach", a)
	case 3:
		return two("load", place{a.labelled + ", " + h.labelled, a.plain + ", " + h.plain})
	case 4:
		flat := fmt.Sprintf("cube[(%s - 1) * %d + (%s - 1) * %d + %s]", c.plain, g.hours*len(g.labels), h.plain, len(g.labels), d.plain)
		return place{fmt.Sprintf("cube[%s, %s, %s]", c.labelled, h.labelled, d.labelled), flat}
	case 5:
		for _, c := range s.cities {
			if c.labelled == c.plain { // others are data in the twin, whose sums are left as they are
				return place{"ord(" + c.labelled + ")", c.plain}
			}
		}
		return place{"card(city)", "n"}
	case 6:
		return place{"sum(load[" + a.labelled + ", :])", "sum(load[" + a.plain + ", :])"}
	case 7: // an array over a part, by an index of the whole
		k := g.IntN(len(g.ports))
		g.fresh++
		i := fmt.Sprintf("k%d", g.fresh)
		return place{fmt.Sprintf("sum(%s in city if %s == %q: dock[%s])", i, i, g.labels[g.ports[k]-1], i),
			fmt.Sprintf("sum(%s in 1..n if %s == %d: dock[%s - %d])", i, i, g.ports[k], i, g.ports[k]-k-1)}
	case 8:
		return two("x", c)
	case 9:
		return two("y", place{c.labelled + ", " + h.labelled, c.plain + ", " + h.plain})
	case 10:
		return place{"sum(y[:, " + h.labelled + "])", "sum(y[:, " + h.plain + "])"}
	default:
		return two("flow", a)
	}
}

func (g *twins) scalar(s twinScope, depth int) place {
	if depth == 0 {
		return g.entry(s, false)
	}
	join := func(op string, u, v place) place {
		return place{"(" + u.labelled + op + v.labelled + ")", "(" + u.plain + op + v.plain + ")"}
	}
	switch g.IntN(6) {
	case 0:
		return join(" + ", g.scalar(s, depth-1), g.scalar(s, depth-1))
	case 1:
		return join(" * ", g.entry(s, true), g.scalar(s, depth-1))
	case 2:
		u := g.scalar(s, depth-1)
		return place{"(" + u.labelled + ")^2", "(" + u.plain + ")^2"}
	default:
		return g.sum(s, depth-1)
	}
}

// sum is a comprehension over one of the sets.
func (g *twins) sum(s twinScope, depth int) place {
	g.fresh++
	i, j, a := fmt.Sprintf("i%d", g.fresh), fmt.Sprintf("j%d", g.fresh), fmt.Sprintf("a%d", g.fresh)
	var binder place
	var in twinScope
	switch g.IntN(5) {
	case 0:
		binder, in = place{i + " in city", i + " in 1..n"}, s.with([]place{{i, i}}, nil, nil)
	case 1:
		binder, in = place{i + " in hour", i + " in 1..T"}, s.with(nil, []place{{i, i}}, nil)
	case 2:
		binder, in = place{i + " in port", i + " in 1..p"}, s.with([]place{{i, "port[" + i + "]"}}, nil, nil)
	case 3:
		binder = place{"(" + i + ", " + j + ") in arc", a + " in 1..m"}
		in = s.with([]place{{i, "from[" + a + "]"}, {j, "to[" + a + "]"}}, nil, []place{{i + ", " + j, a}})
	case 4:
		binder, in = place{a + " in arc", a + " in 1..m"}, s.with(nil, nil, []place{{a, a}})
	}
	if g.IntN(3) == 0 && len(in.cities) > 0 {
		op := []string{" == ", " != "}[g.IntN(2)]
		u, v := in.cities[g.IntN(len(in.cities))], g.city(in)
		binder.labelled += " if " + u.labelled + op + v.labelled
		binder.plain += " if " + u.plain + op + v.plain
	}
	body := g.scalar(in, depth)
	return place{"sum(" + binder.labelled + ": " + body.labelled + ")", "sum(" + binder.plain + ": " + body.plain + ")"}
}

// models writes the pair.
func (g *twins) models() place {
	s := twinScope{}
	f, obj, extra := g.scalar(s, 3), g.scalar(s, 3), g.scalar(s, 2)
	inNode := s.with([]place{{"c", "c"}}, nil, nil)
	affine := g.entry(inNode, true)
	labels := each.Of(g.labels, func(l string) string { return fmt.Sprintf("%q", l) })
	ports := each.Of(g.ports, func(p int) string { return labels[p-1] })
	arcs := each.Of(g.arcs, func(a [2]int) string { return "(" + labels[a[0]-1] + ", " + labels[a[1]-1] + ")" })
	body := func(pick func(p place) string) string {
		return fmt.Sprintf(`
upper {
  var x: %s in box(0, 2)
  minimize %s
}
lower {
  var y: %s in nonneg
  var flow: %s
  minimize sumsq(y) + sumsq(flow) + %s
  subject to
    balance: forall %s: sum(%s: flow[%s]) - sum(%s: flow[%s]) + x[c] == %s
    cap: forall %s: flow[%s] <= reach[%s]
    total: y <= 3
}
report {
  extra = %s
}
`, pick(place{"[city]", "vector[n]"}), pick(f), pick(place{"[city, hour]", "matrix[n, T]"}), pick(place{"[arc]", "vector[m]"}), pick(obj),
			pick(place{"c in city", "c in 1..n"}), pick(place{"(i, j) in arc if i == c", "a in 1..m if from[a] == c"}), pick(place{"i, j", "a"}),
			pick(place{"(i, j) in arc if j == c", "a in 1..m if to[a] == c"}), pick(place{"i, j", "a"}), pick(affine),
			pick(place{"(i, j) in arc", "a in 1..m"}), pick(place{"i, j", "a"}), pick(place{"i, j", "a"}), pick(extra))
	}
	head := fmt.Sprintf("model twin\nparam T: int = %d\n", g.hours)
	labelled := head + fmt.Sprintf(`set city = {%s}
set hour = %d..%d
set port within city = {%s}
set arc within city * city = {%s}
data cost: [city]
data dist: [city, city]
data dock: [port]
data reach: [arc]
data load: [arc, hour]
data cube: [city, hour, city]`, strings.Join(labels, ", "), g.first, g.first+g.hours-1, strings.Join(ports, ", "), strings.Join(arcs, ", "))
	plain := head + fmt.Sprintf(`param n: int = %d
param m: int = %d
param p: int = %d
data port: vector[p]
data from: vector[m]
data to: vector[m]
data cost: vector[n]
data dist: matrix[n, n]
data dock: vector[p]
data reach: vector[m]
data load: matrix[m, T]
data cube: vector[n * T * n]`, len(g.labels), len(g.arcs), len(g.ports))
	return place{labelled + body(func(p place) string { return p.labelled }), plain + body(func(p place) string { return p.plain })}
}

// A model over labelled sets and its twin over plain ranges bind to the same
// graphs and the same rows, whatever they sum over and select.
func TestLabelledModelsAreTheirTwins(t *testing.T) {
	for seed := range uint64(150) {
		g := &twins{Rand: rand.New(rand.NewPCG(seed, 7)), hours: 1 + int(seed%3), first: int(seed%4) - 1}
		n := 2 + g.IntN(3)
		for k := range n {
			g.labels = append(g.labels, string(rune('A'+k))+" town")
		}
		for k := 1; k <= n; k++ {
			if g.IntN(2) == 0 {
				g.ports = append(g.ports, k)
			}
			for j := 1; j <= n; j++ {
				if j != k && g.IntN(2) == 0 {
					g.arcs = append(g.arcs, [2]int{k, j})
				}
			}
		}
		if len(g.arcs) == 0 || len(g.ports) == 0 {
			continue
		}
		m := g.models()
		random := func(k int) []float64 {
			return each.Below(k, func(int) float64 { return 1 + g.Float64() })
		}
		set, plain := &data.Set{}, &data.Set{}
		both := func(name string, a *data.Array) {
			set.Add(name, a, "test")
			plain.Add(name, a, "test")
		}
		arcs := len(g.arcs)
		both("dock", data.Vector(random(len(g.ports))))
		both("cost", data.Vector(random(n)))
		both("dist", data.Matrix(n, n, random(n*n)))
		both("reach", data.Vector(random(arcs)))
		both("load", data.Matrix(arcs, g.hours, random(arcs*g.hours)))
		cube := random(n * g.hours * n)
		set.Add("cube", &data.Array{Shape: []int{n, g.hours, n}, Dense: cube}, "test")
		plain.Add("cube", data.Vector(cube), "test")
		var from, to, port []float64
		for _, a := range g.arcs {
			from, to = append(from, float64(a[0])), append(to, float64(a[1]))
		}
		for _, p := range g.ports {
			port = append(port, float64(p))
		}
		plain.Add("from", data.Vector(from), "test")
		plain.Add("to", data.Vector(to), "test")
		plain.Add("port", data.Vector(port), "test")
		a := mustBind(t, compile(t, "labelled", m.labelled), set)
		b := mustBind(t, compile(t, "plain", m.plain), plain)
		if difference := apart(a, b); difference != "" {
			t.Fatalf("seed %d\n%s\n%s\n%s", seed, m.labelled, m.plain, difference)
		}
	}
}

// apart is what two bound problems have that is not the same, but for names, places and
// labels; "" where they are one program.
func apart(a, b *ir.Problem) string {
	nodes := func(p *ir.Problem) (names []string, out []*expr.Node) {
		add := func(name string, n *expr.Node) {
			if n != nil {
				names, out = append(names, name), append(out, n)
			}
		}
		add("f", p.Upper.Objective)
		add("g", p.Lower.Objective)
		add("f with its penalty", p.Penalized)
		for _, list := range [][]ir.NamedNode{p.Report, p.Upper.Lets, p.Lower.Lets} {
			for _, item := range list {
				add(item.Name, item.Node)
			}
		}
		return names, out
	}
	names, left := nodes(a)
	others, right := nodes(b)
	if !slices.Equal(names, others) {
		return fmt.Sprint("expressions ", names, " and ", others)
	}
	for i := range left {
		if got, want := graphText(left[i]), graphText(right[i]); got != want {
			return fmt.Sprintf("%s is\n%s\nand\n%s", names[i], got, want)
		}
	}
	plain := func(p *ir.Problem) []any {
		var rows [][2]int
		for _, list := range [][]ir.Row{p.Rows, p.X.Rows, p.Coupled} {
			for _, r := range list {
				kind := int(r.Family.Sign)
				if r.Equal {
					kind = 0
				}
				rows = append(rows, [2]int{kind, r.Index % max(1, r.Family.Shape.Len())})
			}
			rows = append(rows, [2]int{-9, len(list)})
		}
		var vars [][3]int
		for _, l := range []ir.Level{p.Upper, p.Lower} {
			for _, v := range l.Vars {
				vars = append(vars, [3]int{v.Offset, v.Shape.Len(), l.Dim})
			}
		}
		return []any{p.A, p.B, p.Rhs, p.X.Lo, p.X.Hi, p.X.E, p.X.Rhs, p.X.Balls, p.Start, p.Duals, rows, vars, p.Upper.Maximize, p.Lower.Maximize}
	}
	what := []string{"A", "B", "b", "lower bounds of x", "upper bounds of x", "E", "e", "balls", "start", "duals", "rows", "variables", "sense of f", "sense of g"}
	u, v := plain(a), plain(b)
	for i := range u {
		if !reflect.DeepEqual(u[i], v[i]) {
			return fmt.Sprintf("%s: %v and %v", what[i], u[i], v[i])
		}
	}
	for _, d := range a.Data {
		for _, e := range b.Data {
			if d.Name == e.Name && !reflect.DeepEqual(d.Array.Values(), e.Array.Values()) {
				return fmt.Sprintf("data %s: %v and %v", d.Name, d.Array.Values(), e.Array.Values())
			}
		}
	}
	return ""
}

// graphText is a graph without the names and places of its nodes, and without
// the order of the operands of sums and products, which follows from the order
// in which the constants of a model were made.
func graphText(n *expr.Node) string {
	texts := map[*expr.Node]string{}
	ids := map[string]int{}
	var order []string
	for _, m := range expr.Reachable(n) {
		args := each.Of(m.Args, func(a *expr.Node) string { return fmt.Sprint("#", ids[texts[a]]) })
		if m.Op == expr.Add || m.Op == expr.Mul || m.Op == expr.Dot {
			slices.Sort(args)
		}
		text := fmt.Sprint(m.Op, m.Shape, m.Index, m.TransA, m.TransB, m.Lower, m.Offset, args)
		if m.Value != nil {
			text += fmt.Sprint(m.Value.Values())
		}
		texts[m] = text
		if _, seen := ids[text]; !seen {
			h := fnv.New32a()
			h.Write([]byte(text))
			ids[text] = int(h.Sum32())
			order = append(order, text)
		}
	}
	slices.Sort(order)
	return strings.Join(order, "\n")
}

const network = `model network
set city
set hour = 6..8
set road(from, to) within city * city
set toll within road
data distance: [road]
data demand: [city, hour]
upper {
  var price: [toll] in box(0, 1)
  minimize sum(flow) + sum((i, j) in toll: price[i, j])
}
lower {
  var flow: [road, hour] in nonneg
  minimize sum((i, j) in road, h in hour: distance[i, j] * flow[i, j, h]^2)
  subject to
    demand_met: forall c in city, h in hour if h > 6: sum((i, j) in road if j == c: flow[i, j, h]) >= demand[c, h]
    steady: forall (i, j) in road: flow[i, j, 7] == flow[i, j, 8]
    tolled: forall r in toll: sum(flow[r, :]) + price[r] <= 50
}
report {
  busy = sum(flow[_, :])
}
`

// Rows, variables and families carry the labels of what they range over.
func TestLabelsOfRows(t *testing.T) {
	text := strings.Replace(network, "sum(flow[_, :])", `sum(h in hour: flow["Oslo", "Rome", h])`, 1)
	set, list := datafile.Read(datafile.JSON, "net.json", `{"city": ["Rome", "Oslo"], "road": [["Oslo", "Rome"], ["Rome", "Oslo"]],
		"toll": [["Rome", "Oslo"]], "distance": {"Rome": {"Oslo": 5}, "Oslo": {"Rome": 4}},
		"demand": {"Rome": {"6": 1, "7": 2, "8": 3}, "Oslo": {"6": 4, "7": 5, "8": 6}}}`, "")
	if list.HasErrors() {
		t.Fatal(list)
	}
	prob := mustBind(t, compile(t, "network", text), set)
	want := []string{
		`flow.nonneg["Oslo", "Rome", 6]`, `flow.nonneg["Oslo", "Rome", 7]`, `flow.nonneg["Oslo", "Rome", 8]`,
		`flow.nonneg["Rome", "Oslo", 6]`, `flow.nonneg["Rome", "Oslo", 7]`, `flow.nonneg["Rome", "Oslo", 8]`,
		`demand_met["Rome", 7]`, `demand_met["Rome", 8]`, `demand_met["Oslo", 7]`, `demand_met["Oslo", 8]`,
		`steady["Oslo", "Rome"]`, `steady["Rome", "Oslo"]`, `tolled["Rome", "Oslo"]`}
	if got := names(prob.Rows); got != strings.Join(want, " ") && got != strings.Join(want, "\n") && got != strings.Join(want, ", ") {
		t.Errorf("rows\n%s\nwant\n%s", got, strings.Join(want, " "))
	}
	for k, r := range prob.Rows {
		axes := r.Family.Axes
		if axes == nil || !strings.HasSuffix(want[k], "["+ir.Place(axes, r.Index)+"]") {
			t.Errorf("%s is entry %d of the axes %v", want[k], r.Index, axes)
		}
	}
	if d := prob.Data[0]; d.Name != "distance" || !reflect.DeepEqual(d.Array.Dense, []float64{4, 5}) {
		t.Errorf("distance in the order of its set: %+v", d.Array)
	}
	if !reflect.DeepEqual(prob.Rhs[6:10], []float64{-2, -3, -5, -6}) {
		t.Errorf("right sides %v", prob.Rhs)
	}
}

// What does not fit between labels is an error that names the label.
func TestLabelErrors(t *testing.T) {
	good := `"city": ["Rome", "Oslo"], "road": [["Oslo", "Rome"], ["Rome", "Oslo"]], "toll": [["Rome", "Oslo"]], "distance": [1, 2], "demand": [[1, 2, 3], [4, 5, 6]]`
	for _, c := range []struct{ from, to, busy, want string }{
		{`"Rome", "Oslo"]`, `"Rome", "Rome"]`, `1`, "element 2 of `city` (net.json:1), \"Rome\", is there twice"},
		{`[["Oslo", "Rome"],`, `[["Oslo", "Paris"],`, `1`, `("Oslo", "Paris"), has "Paris", which is not in` + " `city`"},
		{`[["Oslo", "Rome"],`, `["Oslo",`, `1`, "has 1 labels where 2 are needed"},
		{`[["Rome", "Oslo"]]`, `[["Rome", "Rome"]]`, `1`, "(\"Rome\", \"Rome\"), is not in `road`"},
		{`[1, 2]`, `{"Oslo": {"Riga": 1}}`, `1`, "(\"Oslo\", \"Riga\") of `distance` has (\"Oslo\", \"Riga\"), which is not in `road`"},
		{`[1, 2]`, `{}`, `1`, "`distance[\"Oslo\", \"Rome\"]` has no value"},
		{`[1, 2]`, `{"Oslo": 1}`, `1`, "which is not in `road`"},
		{`[1, 2]`, `["Oslo"]`, `1`, "gives texts"},
		{`[[1, 2, 3], [4, 5, 6]]`, `[[1, 2], [4, 5]]`, `1`, "a 2 x 2 matrix in net.json:1, but a 2 x 3 matrix is needed"},
		{``, ``, `sum(c in city: sum((i, j) in road: flow[c, j, 6]))`, "(\"Rome\", \"Rome\") is not in `road`"},
		{``, ``, `sum(c in city: demand[next(c), 6])`, "\"Oslo\" has no following label in `city`"},
		{``, ``, `sum(c in city if c != "Riga": demand[c, 6])`, "`\"Riga\"` is not in `city`"},
		{``, ``, `demand["Olso", 6]`, "`\"Olso\"` is not in `city`"},
		{``, ``, `demand["Oslo", 9]`, "index 9 is outside 6..8"},
		{``, ``, `sum(r in road: price[r])`, "(\"Oslo\", \"Rome\") is not in `toll`"},
	} {
		text := strings.Replace(network, "sum(flow[_, :])", c.busy, 1)
		set, list := datafile.Read(datafile.JSON, "net.json", "{"+strings.Replace(good, c.from, c.to, 1)+"}", "")
		if list.HasErrors() {
			t.Fatal(list)
		}
		_, list = Bind(compile(t, "network", text), set, Options{Seed: 1})
		if !list.HasErrors() || !strings.Contains(list[0].Summary, c.want) {
			t.Errorf("%s -> %s, %s:\n%v\nwant %s", c.from, c.to, c.busy, list, c.want)
		}
	}
}

// Without data, sets stand for any elements.
func TestAbstractSets(t *testing.T) {
	text := strings.Replace(network, "sum(flow[_, :])", `sum((i, j) in road: flow[i, j, 6]) + demand["Rome", 7]`, 1)
	prob, list := Bind(compile(t, "network", text), nil, Options{Abstract: true})
	if list.HasErrors() || prob == nil {
		t.Fatal(list)
	}
	if prob.Lower.Dim%3 != 0 || prob.Lower.Dim == 0 {
		t.Errorf("%d entries of flow", prob.Lower.Dim)
	}
}

// Brackets around one index change nothing.
func TestOneIndexInBrackets(t *testing.T) {
	p := mustBind(t, compile(t, "one", `model one
set node = {"a", "b", "c"}
set hour = 5..7
data w: [node] = [1, 2, 4]
upper {
  var x: real in box(0, 1)
  minimize x^2
}
lower {
  var y: real
  minimize (y - x)^2
}
report {
  r = sum((i) in node: ord(i) * w[i]) + sum((h) in hour: h)
}
`), &data.Set{})
	if got, err := expr.Scalar(p.Report[0].Node, []float64{0}, []float64{0}); err != nil || got != 1+4+12+5+6+7 {
		t.Errorf("%v, %v", got, err)
	}
}
