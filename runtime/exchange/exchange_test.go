package exchange

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/lang/diag"
)

var oddNames = []string{"x", "e9", "E", "free", "St", `flow["Rome", "Oslo"]`, `flow["Rome","Oslo"]`, "flow[Rome,Oslo]", "größe[1]", "größe[2]", "2x", "$a", "*b", "a b", "ab",
	"dual(cap[1])", "dual(cap(1))", "objective", "inf", "_x", "Bounds", "x^2", "x-y", "x_y", "R\tx"}

// randomProgram has odd names, every kind of bound and row, and quadratic parts and sets where wanted.
func randomProgram(rng *rand.Rand, plain bool) *Program {
	n, m := 1+rng.IntN(9), rng.IntN(7)
	p := &Program{Name: "odd one", Maximize: rng.IntN(2) == 0}
	inf := math.Inf(1)
	names := rng.Perm(len(oddNames))
	v := func() float64 {
		switch rng.IntN(4) {
		case 0:
			return float64(rng.IntN(9) - 4)
		case 1:
			return math.Ldexp(rng.NormFloat64(), rng.IntN(60)-30)
		}
		return rng.NormFloat64()
	}
	for j := range n {
		c := Column{Name: oddNames[names[j]], Integer: rng.IntN(3) == 0}
		switch rng.IntN(6) {
		case 0:
			c.Lo, c.Hi = -inf, inf
		case 1:
			c.Lo, c.Hi = 0, inf
		case 2:
			c.Lo, c.Hi = -inf, v()
		case 3:
			c.Lo = v()
			c.Hi = c.Lo
		case 4:
			c.Lo, c.Hi = 0, 1
		default:
			c.Lo = v()
			c.Hi = c.Lo + math.Abs(v()) + 1
		}
		p.Cost[p.add(c)] = v() * float64(rng.IntN(2))
	}
	if rng.IntN(2) == 0 {
		p.Const = v()
	}
	entries, q := []sparse.Entry{}, []sparse.Entry{}
	for i := range m {
		row := Row{Name: fmt.Sprintf("cap[%d]", i), Lo: -inf, Hi: inf}
		switch rng.IntN(4) {
		case 0:
			row.Lo = v()
		case 1:
			row.Hi = v()
		case 2:
			row.Lo = v()
			row.Hi = row.Lo
		default: // a difference that rounds would not come back
			row.Lo = float64(rng.IntN(9))
			row.Hi = row.Lo + 1 + float64(rng.IntN(5))
		}
		p.Rows = append(p.Rows, row)
		for j := range n {
			if e := v(); e != 0 && rng.IntN(2) == 0 {
				entries = append(entries, sparse.Entry{Row: i, Col: j, Val: e})
			}
		}
	}
	p.A = sparse.FromEntries(m, n, entries)
	if plain {
		return p
	}
	if rng.IntN(2) == 0 {
		for i := range n {
			for j := range i + 1 {
				if rng.IntN(3) == 0 {
					e := v()
					q = append(q, sparse.Entry{Row: i, Col: j, Val: e})
					if i != j {
						q = append(q, sparse.Entry{Row: j, Col: i, Val: e})
					}
				}
			}
		}
		if len(q) > 0 {
			p.Q = sparse.FromEntries(n, n, q)
		}
	}
	for k := range rng.IntN(4) {
		p.Sets = append(p.Sets, Set{Name: fmt.Sprintf("pair(cap[%d])", k), Columns: []int{rng.IntN(n), rng.IntN(n)}})
	}
	return p
}

// read is what a file says, by the names in it.
type read struct {
	maximize bool
	constant float64
	cost     map[string]float64
	q        map[[2]string]float64 // of 1/2 x'Q x, both triangles
	a        map[[2]string]float64
	lo, hi   map[string]float64 // of rows and columns
	integer  map[string]bool
	sets     [][]string
}

// compare holds what was read against the program, by its spelled names.
func (r *read) compare(t *testing.T, p *Program, names spelled, text string) {
	t.Helper()
	fail := func(format string, args ...any) { t.Fatalf(format+"\n%s", append(args, text)...) }
	if r.maximize != p.Maximize || r.constant != p.Const {
		fail("maximize %v, constant %v, want %v, %v", r.maximize, r.constant, p.Maximize, p.Const)
	}
	nonzero := 0
	for j, c := range p.Columns {
		name := names.columns[j]
		if r.cost[name] != p.Cost[j] || r.lo[name] != c.Lo || r.hi[name] != c.Hi || r.integer[name] != c.Integer {
			fail("column %s: cost %v in [%v, %v], integer %v; want %v %+v", name, r.cost[name], r.lo[name], r.hi[name], r.integer[name], p.Cost[j], c)
		}
		for i := range p.Columns {
			want := 0.0
			if p.Q != nil {
				want = p.Q.At(j, i)
			}
			if got := r.q[[2]string{name, names.columns[i]}]; got != want {
				fail("Q of %s and %s is %v, want %v", name, names.columns[i], got, want)
			}
		}
	}
	for i, row := range p.Rows {
		name := names.rows[i]
		lo, hi := r.lo[name], r.hi[name]
		if above := names.above[i]; above != "" && r.hi[above] != 0 {
			hi = r.hi[above]
		}
		if lo != row.Lo || hi != row.Hi {
			fail("row %s in [%v, %v], want %+v", name, lo, hi, row)
		}
		cols, vals := p.A.Row(i)
		for k, j := range cols {
			nonzero++
			if got := r.a[[2]string{name, names.columns[j]}]; got != vals[k] {
				fail("%s in %s has %v, want %v", names.columns[j], name, got, vals[k])
			}
		}
	}
	for key := range r.a {
		for i := range p.Rows {
			if key[0] == names.above[i] {
				delete(r.a, key)
			}
		}
	}
	if len(r.a) != nonzero || len(r.sets) != len(p.Sets) {
		fail("%d entries and %d sets, want %d and %d", len(r.a), len(r.sets), nonzero, len(p.Sets))
	}
	for k, s := range p.Sets {
		for t, j := range s.Columns {
			if r.sets[k][t] != names.columns[j] {
				fail("set %d is %v", k, r.sets[k])
			}
		}
	}
}

func newRead() *read {
	return &read{cost: map[string]float64{}, q: map[[2]string]float64{}, a: map[[2]string]float64{}, lo: map[string]float64{}, hi: map[string]float64{}, integer: map[string]bool{}}
}

// readMPS is a small reader of what WriteMPS may write, apart from parseMPS.
func readMPS(text string) *read {
	r := newRead()
	inf := math.Inf(1)
	num := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			panic(err)
		}
		return v
	}
	section, goal, integer := "", "", false
	letter := map[string]string{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if line[0] == '*' {
			continue
		}
		if line[0] != ' ' {
			section = f[0]
			continue
		}
		switch section {
		case "OBJSENSE":
			r.maximize = f[0] == "MAX"
		case "ROWS":
			letter[f[1]] = f[0]
			switch f[0] {
			case "N":
				goal = f[1]
			case "L":
				r.lo[f[1]] = -inf
			case "G":
				r.hi[f[1]] = inf
			}
		case "COLUMNS":
			if f[1] == "'MARKER'" {
				integer = f[2] == "'INTORG'"
				continue
			}
			if _, seen := r.lo[f[0]]; !seen {
				r.lo[f[0]], r.hi[f[0]], r.integer[f[0]] = 0, inf, integer
			}
			if f[1] == goal {
				r.cost[f[0]] = num(f[2])
			} else {
				r.a[[2]string{f[1], f[0]}] = num(f[2])
			}
		case "RHS":
			v := num(f[2])
			if f[1] == goal {
				r.constant = -v
				continue
			}
			if letter[f[1]] != "L" {
				r.lo[f[1]] = v
			}
			if letter[f[1]] != "G" {
				r.hi[f[1]] = v
			}
		case "RANGES":
			r.hi[f[1]] = r.lo[f[1]] + num(f[2])
		case "BOUNDS":
			switch name := f[2]; f[0] {
			case "BV":
				r.lo[name], r.hi[name] = 0, 1
			case "FX":
				r.lo[name] = num(f[3])
				r.hi[name] = r.lo[name]
			case "FR":
				r.lo[name] = -inf
			case "MI":
				r.lo[name] = -inf
			case "LO":
				r.lo[name] = num(f[3])
			case "UP":
				r.hi[name] = num(f[3])
			}
		case "SOS":
			if f[0] == "S1" && len(f) == 2 {
				r.sets = append(r.sets, nil)
			} else {
				r.sets[len(r.sets)-1] = append(r.sets[len(r.sets)-1], f[0])
			}
		case "QUADOBJ":
			r.q[[2]string{f[0], f[1]}], r.q[[2]string{f[1], f[0]}] = num(f[2]), num(f[2])
		}
	}
	return r
}

// readLP is a small reader of what WriteLP may write.
func readLP(text string) *read {
	r := newRead()
	inf := math.Inf(1)
	num := func(s string) float64 {
		switch s {
		case "-inf":
			return -inf
		case "+inf":
			return inf
		}
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			panic(err)
		}
		return v
	}
	// Lines of a statement begin with one blank, those that go on with two.
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "\\"):
		case strings.HasPrefix(line, "  "):
			lines[len(lines)-1] += line
		default:
			lines = append(lines, line)
		}
	}
	// terms are sign, number and, where there is one, a name.
	terms := func(f []string, take func(v float64, name string)) {
		for k := 0; k < len(f); {
			v := num(f[k+1])
			if f[k] == "-" {
				v = -v
			}
			k += 2
			name := ""
			if k < len(f) && f[k] != "+" && f[k] != "-" {
				name = f[k]
				k++
			}
			take(v, name)
		}
	}
	section := ""
	for _, line := range lines {
		if line[0] != ' ' {
			section = line
			if line == "Maximize" {
				r.maximize = true
			}
			continue
		}
		f := strings.Fields(line)
		switch section {
		case "Maximize", "Minimize":
			body := strings.Join(f[1:], " ")
			if before, rest, ok := strings.Cut(body, "+ ["); ok {
				inside, after, _ := strings.Cut(rest, "] / 2")
				q := strings.Fields(inside)
				for k := 0; k < len(q); {
					v := num(q[k+1])
					if q[k] == "-" {
						v = -v
					}
					if q[k+3] == "^2" {
						r.q[[2]string{q[k+2], q[k+2]}] = v
						k += 4
					} else { // a * b
						r.q[[2]string{q[k+2], q[k+4]}], r.q[[2]string{q[k+4], q[k+2]}] = v/2, v/2
						k += 5
					}
				}
				body = before + after
			}
			terms(strings.Fields(body), func(v float64, name string) {
				if name == "" {
					r.constant = v
				} else {
					r.cost[name] = v
				}
			})
		case "Subject To":
			name, rhs := strings.TrimSuffix(f[0], ":"), num(f[len(f)-1])
			r.lo[name], r.hi[name] = rhs, rhs
			switch f[len(f)-2] {
			case "<=":
				r.lo[name] = -inf
			case ">=":
				r.hi[name] = inf
			}
			terms(f[1:len(f)-2], func(v float64, column string) {
				if v != 0 {
					r.a[[2]string{name, column}] = v
				}
			})
		case "Bounds":
			switch {
			case f[1] == "free":
				r.lo[f[0]], r.hi[f[0]] = -inf, inf
			case f[1] == "=":
				r.lo[f[0]], r.hi[f[0]] = num(f[2]), num(f[2])
			default:
				r.lo[f[2]], r.hi[f[2]] = num(f[0]), num(f[4])
			}
		case "General", "Binary":
			r.integer[f[0]] = true
		case "SOS":
			var s []string
			for _, member := range f[2:] {
				s = append(s, member[:strings.LastIndexByte(member, ':')])
			}
			r.sets = append(r.sets, s)
		}
	}
	return r
}

// What is written says, read with readers of their own, what the program does: every number to the bit.
func TestWritten(t *testing.T) {
	rng := rand.New(rand.NewPCG(36, 6))
	for range 500 {
		p := randomProgram(rng, false)
		var mps, lp strings.Builder
		if err := WriteMPS(&mps, p); err != nil {
			t.Fatal(err)
		}
		names, _ := p.spell(mpsSpelling(), mpsSpelling())
		distinct(t, names)
		readMPS(mps.String()).compare(t, p, names, mps.String())
		if err := WriteLP(&lp, p); err != nil {
			t.Fatal(err)
		}
		names, _ = p.spell(lpSpelling(), lpSpelling())
		distinct(t, names)
		readLP(lp.String()).compare(t, p, names, lp.String())
		for _, name := range append(append(names.columns, names.rows...), names.sets...) {
			if strings.ContainsAny(name, "[]+-*/^<>=: \t\"") || strings.ContainsAny(name[:1], "0123456789.,()") {
				t.Fatalf("the LP format has no name %s", name)
			}
		}
	}
}

func distinct(t *testing.T, names spelled) {
	t.Helper()
	for _, list := range [][]string{names.columns, append(append([]string{names.objective}, names.rows...), names.sets...)} {
		seen := map[string]bool{}
		for _, n := range list {
			if seen[n] || n == "" || strings.ContainsAny(n, " \t\n") {
				t.Fatalf("the name %q is there twice, or is none", n)
			}
			seen[n] = true
		}
	}
}

// parseMPS reads what WriteMPS wrote.
func TestReadWritten(t *testing.T) {
	rng := rand.New(rand.NewPCG(36, 7))
	for range 500 {
		p := randomProgram(rng, true)
		var b strings.Builder
		if err := WriteMPS(&b, p); err != nil {
			t.Fatal(err)
		}
		var got *Program
		var places []diag.Span
		if err := must.Try(func() { got, places = parseMPS(diag.NewSource("p.mps", b.String())) }); err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
		names, _ := p.spell(mpsSpelling(), mpsSpelling())
		if got.Maximize != p.Maximize || got.Const != p.Const || len(got.Columns) != len(p.Columns) || len(got.Rows) != len(p.Rows) {
			t.Fatalf("%+v\n%s", got, b.String())
		}
		for j, c := range p.Columns {
			c.Name = names.columns[j]
			if got.Columns[j] != c || got.Cost[j] != p.Cost[j] || places[j].Text() != c.Name {
				t.Fatalf("%+v %v, want %+v %v\n%s", got.Columns[j], got.Cost[j], c, p.Cost[j], b.String())
			}
			for i := range p.Rows {
				if got.A.At(i, j) != p.A.At(i, j) {
					t.Fatalf("A[%d, %d] = %v", i, j, got.A.At(i, j))
				}
			}
		}
		for i, row := range p.Rows {
			row.Name = names.rows[i]
			if got.Rows[i] != row {
				t.Fatalf("%+v, want %+v\n%s", got.Rows[i], row, b.String())
			}
		}
	}
}

const smallMPS = `NAME small
ROWS
 N cost
 N idle
 L cap
 G need
COLUMNS
 M1 'MARKER' 'INTORG'
 k cost 2 cap 1
 on cap 1 idle 7
 M2 'MARKER' 'INTEND'
 x cost 1 cap 1
 x need 1
 y cost -1 need 3
RHS
 cap 4
 RHS cost -2.5 need 1
RANGES
 RNG cap 3
BOUNDS
 UP k 6
 UP BND x -1
 MI y
ENDATA
`

// The conventions of the format.
func TestReadConventions(t *testing.T) {
	p, _ := parseMPS(diag.NewSource("small.mps", smallMPS))
	inf := math.Inf(1)
	want := []Column{{"k", 0, 6, true}, {"on", 0, 1, true}, {"x", -inf, -1, false}, {"y", -inf, inf, false}}
	for j, c := range want {
		if p.Columns[j] != c {
			t.Errorf("%+v, want %+v", p.Columns[j], c)
		}
	}
	if p.Const != 2.5 || p.Rows[0] != (Row{"cap", 1, 4}) || p.Rows[1] != (Row{"need", 1, inf}) {
		t.Errorf("constant %v, rows %+v", p.Const, p.Rows)
	}
	for _, c := range []struct{ old, new, want string }{
		{" y cost -1 need 3", " y cost -1 needs 3", "no row `needs`"},
		{" MI y", " XX y", "no type of a bound"},
		{" MI y", " MI z", "no column `z`"},
		{"cap 4", "cap four", "`four` is no number"},
		{"ENDATA\n", "", "ends without ENDATA"},
		{"ENDATA", "QUADOBJ\n x x 1\nENDATA", "section `QUADOBJ`"},
		{" L cap", " L need", "a second row `need`"},
		{" L cap", " X cap", "no type of a row"},
	} {
		list, _ := must.Try(func() { parseMPS(diag.NewSource("small.mps", strings.Replace(smallMPS, c.old, c.new, 1))) }).(diag.List)
		if !list.HasErrors() || !strings.Contains(list[0].Summary, c.want) || list[0].Subject.Source == nil {
			t.Errorf("%q: %v", c.new, list)
		}
	}
}

// Both forms of the auxiliary file say the same; what they lack is said at its place.
func TestReadAux(t *testing.T) {
	mps := diag.NewSource("small.mps", smallMPS)
	read := func(aux string) (*Bilevel, diag.List) { return ReadBilevel(mps, diag.NewSource("small.aux", aux)) }
	named, list := read("@NUMVARS\n1\n@NUMCONSTRS\n1\n@VARSBEGIN\ny 4.\n@VARSEND\n@CONSTRSBEGIN\nneed\n@CONSTRSEND\n@NAME\nsmall one\n@MPS\nsmall.mps\n")
	if list.HasErrors() {
		t.Fatal(list)
	}
	placed, list := read("N 1\nM 1\nLC 3\nLR 1\nLO -4\nOS -1\n")
	if list.HasErrors() {
		t.Fatal(list)
	}
	byName, list := read("N 1\nM 1\nLC y\nLR need\nLO -4\nOS -1\n")
	if list.HasErrors() {
		t.Fatal(list)
	}
	mixed, list := read("N 1\nM 1\nOS -1\n@VARSBEGIN\ny -4\n@CONSTSBEGIN\nneed\n")
	if list.HasErrors() {
		t.Fatal(list)
	}
	for _, b := range []*Bilevel{named, placed, byName, mixed} {
		if fmt.Sprint(b.Lower, b.LowerRow, b.Goal) != "[false false false true] [false true] [0 0 0 4]" {
			t.Errorf("%v %v %v", b.Lower, b.LowerRow, b.Goal)
		}
	}
	for _, c := range []struct{ aux, want string }{
		{"N 2\nLC 3\n", "2 variables by their number"},
		{"LC 4\n", "4 columns, counted from 0"},
		{"LC 0\nLO 1\n", "`k` is integer"},
		{"LC 3\nLC 3\n", "listed twice"},
		{"LC 9\nIC 2\n", "`IC` is of an interdiction problem"},
		{"LC 3\nXY 2\n", "`XY` is no key"},
		{"@VARSBEGIN\nz 1\n", "no column `z`"},
		{"@CONSTRSBEGIN\ncost\n", "no row `cost`"},
		{"", "each level needs one"},
		{"LC w\n", "none with the name `w`"},
		{"N x\n", "no whole number"},
	} {
		if _, list := read(c.aux); !list.HasErrors() || !strings.Contains(list[0].Summary, c.want) || list[0].Subject.Source == nil {
			t.Errorf("%q: %v", c.aux, list)
		}
	}
}

// TestEndsOfIntegers: no feasible point of random rows, found among all whole numbers of a wide box, is cut off by the ends that integer columns
// get from the rows, and where the box of the others bounds a row they do get ends.
func TestEndsOfIntegers(t *testing.T) {
	rng := members.Rand(t, 71)
	ended, points := 0, 0
	const wide = 12
	for k := range 300 {
		p := &Program{A: sparse.Empty(3)}
		for j := range 3 {
			p.add(Column{Name: fmt.Sprint("k", j), Lo: []float64{0, math.Inf(-1), -3}[rng.IntN(3)], Hi: []float64{math.Inf(1), 4}[rng.IntN(2)], Integer: j < 2})
		}
		for range 1 + rng.IntN(3) {
			for j := range 3 {
				p.A.Append(j, float64(rng.IntN(7)-3)/2)
			}
			p.A.EndRow()
			row := Row{Lo: math.Inf(-1), Hi: float64(rng.IntN(13)) / 2}
			if rng.IntN(3) == 0 {
				row.Lo = row.Hi - float64(rng.IntN(3))
			}
			p.Rows = append(p.Rows, row)
		}
		before := slices.Clone(p.Columns)
		p.endIntegers()
		for j, c := range p.Columns {
			if was := before[j]; !c.Integer && c != was || !math.IsInf(was.Lo, 0) && c.Lo != was.Lo || !math.IsInf(was.Hi, 0) && c.Hi != was.Hi {
				t.Fatalf("case %d: %v became %v", k, was, c)
			} else if c != was {
				ended++
			}
		}
		for a := range 2*wide + 1 {
			for b := range 2*wide + 1 {
				for c := range 2*wide + 1 {
					x := []float64{float64(a - wide), float64(b - wide), float64(c-wide) / 2}
					holds := true
					for j, v := range x {
						holds = holds && before[j].Lo <= v && v <= before[j].Hi
					}
					for i, row := range p.Rows {
						v := p.A.RowDot(i, x)
						holds = holds && row.Lo <= v && v <= row.Hi
					}
					if !holds {
						continue
					}
					points++
					for j, v := range x {
						if v < p.Columns[j].Lo || v > p.Columns[j].Hi {
							t.Fatalf("case %d: %v is feasible, and column %d is in [%v, %v]", k, x, j, p.Columns[j].Lo, p.Columns[j].Hi)
						}
					}
				}
			}
		}
	}
	if ended < 50 || points < 1000 {
		t.Errorf("%d columns got ends, %d points", ended, points)
	}
}

// What no row ends is said at its column.
func TestIntegersWithoutEnds(t *testing.T) {
	mps := "NAME open\nROWS\n N cost\n L cap\nCOLUMNS\n M 'MARKER' 'INTORG'\n k cost 1 cap -1\n M 'MARKER' 'INTEND'\n y cost 1 cap 1\nRHS\n RHS cap 4\nBOUNDS\n LI BND k 0\nENDATA\n"
	_, list := ReadBilevel(diag.NewSource("open.mps", mps), diag.NewSource("open.aux", "N 1\nM 1\nLC 1\nLR 0\nLO 1\nOS 1\n"))
	if !list.HasErrors() || list[0].Code != diag.BindIntegerEnds || !strings.Contains(list[0].Summary, "`k` has an end") || list[0].Subject.Source == nil {
		t.Errorf("%v", list)
	}
	held := strings.Replace(mps, "k cost 1 cap -1", "k cost 1 cap 1", 1)
	b, list := ReadBilevel(diag.NewSource("open.mps", held), diag.NewSource("open.aux", "N 1\nM 1\nLC 1\nLR 0\nLO 1\nOS 1\n"))
	if list.HasErrors() || b.Columns[0].Hi != 4 {
		t.Errorf("%v, %v", list, b)
	}
}
