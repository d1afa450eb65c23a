package certify

import (
	"maps"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// treeProduct is a column p = x_c t that a proof adds to the model: with z the multiplier of a row of the lower level, an entry of y or another one of x, t is z, or z - Above, or Below - z. With it
// come the rows p - v t = (x_c - v) t, one for each of Levels: where the box of x_c is on one side of v and t has a sign, the row has one.
type treeProduct struct {
	Entry      int       `json:"entry"`
	Multiplier *int      `json:"multiplier"`
	Answer     *int      `json:"answer"`
	Other      *int      `json:"other"`
	Above      *float64  `json:"above"`
	Below      *float64  `json:"below"`
	Levels     []float64 `json:"levels"`
	Most       *float64  `json:"most"` // t is no more: with rows (x_c - v)(Most - t), one for each of Tops
	Tops       []float64 `json:"tops"`
	F          bool      `json:"f"` // f has it in the place of x_c z

	col        int // of z
	sign, from float64
}

// treeStrong is a row that a proof adds: strong duality of the part of the lower level with y_Answer,
//
//	y'Gx + q'y + b'lambda - lambda'A x = 0,
//
// where H = 0 there, with the products of the proof for its own; a term of lambda_i >= 0 and of entries of x that is no product of the proof is at
// least what the box of x makes it.
type treeStrong struct {
	Answer *int `json:"answer"`
	Times  *int `json:"times"`
	// An equation of the lower level times x_Times, a row of X times y_Answer >= 0, and that the option y_Answer of a choice (treechoice.go) costs no more than another.
	Row     *int `json:"row"`
	Upper   *int `json:"upper"`
	Against *int `json:"against"`
}

// treeLift is what a proof adds to the columns and rows of the model.
type treeLift struct {
	products []treeProduct
	place    map[[2]int]int // of the product of an entry of x and a column
	slopes   []treeCoefficient
	strong   []treeStrong
	level    []treeLevel
	wide     [][]interval // coefficients of the rows of strong duality, as they stand in their matrix
	side     []interval   // of the levels' rows; those of strong duality are 0
}

// treeLevel is the product of a level row, and its v.
type treeLevel struct {
	of  *treeProduct
	v   float64
	top bool
}

// room is how many numbers a line may have because of the lift.
func (f *treeLift) room() int {
	n := len(f.products) + len(f.strong) + (2+slopeRows)*len(f.slopes)
	for _, p := range f.products {
		n += len(p.Levels) + len(p.Tops)
	}
	return n
}

// addProducts checks products and makes their rows.
func (t *treeModel) addProducts(*treeAdded) {
	f := t.lift
	f.place = map[[2]int]int{}
	for k := range f.products {
		p := &f.products[k]
		hold := func(so bool, fault string) { must.Be(so, "product %d: %s", k, fault) }
		of := 0
		for _, z := range [...]struct {
			at           *int
			first, count int
			what         string
		}{{p.Other, 0, t.nx, "entry of x"}, {p.Answer, t.nx, t.ny, "entry of y"}, {p.Multiplier, t.nx + t.ny, t.m, "row"}} {
			if z.at == nil {
				continue
			}
			hold(*z.at >= 0 && *z.at < z.count, "no such "+z.what)
			p.col = z.first + *z.at
			of++
		}
		p.sign = 1
		hold(p.Entry >= 0 && p.Entry < t.nx, "no such entry of x")
		hold(of == 1 && (p.Above == nil || p.Below == nil), "it is one of a multiplier, of an entry of y or of another one of x")
		switch {
		case p.Above != nil:
			p.from = *p.Above
		case p.Below != nil:
			p.from, p.sign = *p.Below, -1
		}
		_, is := f.place[[2]int{p.Entry, p.col}]
		hold(!is, "it is there already")
		f.place[[2]int{p.Entry, p.col}] = k
		most := 0.0
		if p.Most != nil {
			most = *p.Most
		}
		hold(p.Most != nil || p.Tops == nil, "its factor has no upper bound")
		hold(isFinite(slices.Concat([]float64{p.from, most}, p.Levels, p.Tops)), "it has a number that is not finite")
		for e, v := range slices.Concat(p.Levels, p.Tops) { // p - v sign (z - from), and most x - p + v sign (z - from) - v most
			of, rise := 1.0, 0.0
			if e >= len(p.Levels) {
				of, rise = -1, most
			}
			t.put(treeLevels, p.Entry, rise)
			t.put(treeLevels, p.col, -of*v*p.sign)
			t.put(treeLevels, t.base+k, of)
			t.end(treeLevels, false, 0)
			f.side = append(f.side, point(v).mul(point(rise)).add(point(v).mul(point(-of*p.sign*p.from))))
			f.level = append(f.level, treeLevel{p, v, of < 0})
		}
	}
}

// part is that of the lower level with y_j: entries of y and rows, as rows and H link them.
func (t *treeModel) part(j int) (y, rows []int) {
	all := t.parts[t.partOf[j]]
	behind, _ := slices.BinarySearch(all, t.ny)
	return all[:behind], each.Of(all[behind:], func(k int) int { return k - t.ny })
}

// divide finds the parts of the lower level.
func (t *treeModel) divide() {
	classes := sparse.NewClasses(t.ny + t.m)
	for i := range t.m {
		classes.JoinRow(t.p.Rows.B, i, t.ny+i)
	}
	for j, column := range t.h {
		for c, v := range column {
			if v != 0 {
				classes.Join(j, c)
			}
		}
	}
	t.parts = classes.Members(t.ny + t.m)
	t.partOf, _ = classes.Number(t.ny + t.m)
}

// addStrong makes the rows of strong duality.
func (t *treeModel) addStrong(*treeAdded) {
	for k, s := range t.lift.strong {
		err := must.Try(func() { t.addRow(s) })
		must.Be(err == nil, "strong duality %d: %w", k, err)
	}
}

func (t *treeModel) addRow(s treeStrong) {
	must.Be((s.Answer == nil || *s.Answer >= 0 && *s.Answer < t.ny) && (s.Times == nil || *s.Times >= 0 && *s.Times < t.nx), "no such entry of x or y")
	switch is := [...]bool{s.Answer != nil, s.Times != nil, s.Row != nil, s.Upper != nil, s.Against != nil}; is {
	case [...]bool{true, false, false, false, false}:
		t.strongRow(*s.Answer)
	case [...]bool{false, true, true, false, false}:
		t.timesRow(treeLower, *s.Row, *s.Times)
	case [...]bool{true, false, false, true, false}:
		t.timesRow(treeUpper, *s.Upper, t.nx+*s.Answer)
	case [...]bool{true, false, false, false, true}:
		t.againstRow(*s.Answer, *s.Against)
	default:
		must.Be(false, "a row of no kind")
	}
}

func (t *treeModel) strongRow(answer int) {
	coef, equal := map[int]interval{}, true
	add := func(j int, v interval) { coef[j] = coef[j].add(v) }
	y, rows := t.part(answer)
	sloped := t.slopesOf(y)
	for _, k := range sloped {
		j := t.slopeColumn(k)
		coef[j], coef[j+1] = interval{}, point(1)
	}
	for _, j := range y {
		add(t.nx+j, point(t.linearG[j]))
		for _, c := range y {
			must.Be(t.h[c][j] == 0, "g is curved along y[%d]", j)
		}
	}
	for _, i := range rows {
		lambda := t.nx + t.ny + i
		add(lambda, point(t.p.Rows.Rhs[i]))
		for c, v := range t.p.Rows.A.Entries(i) {
			if _, is := sloped[c]; is {
				continue
			}
			if _, is := t.product(c, lambda); is || v == 0 {
				t.times(coef, c, lambda, point(-v))
			} else { // less is what the box of x leaves
				lo, hi := t.boxOfX(c)
				most := point(v).mul(interval{lo, hi}).hi
				must.Be(t.p.Rows.Kind[i] == problem.AtMost && isNumber(most), "nothing bounds the product of x[%d] and multiplier %d", c, i)
				add(lambda, point(-most))
				equal = false
			}
		}
	}
	for _, j := range y {
		for c := range t.nx {
			if _, is := sloped[c]; !is {
				t.times(coef, c, t.nx+j, point(t.g[c][j]))
			}
		}
	}
	t.putStrong(coef, equal)
}

// timesRow is row i of a kind times a column, by products of the proof: an equation, or what is <= its side times a column that is not negative.
func (t *treeModel) timesRow(kind, i, col int) {
	must.Be(i >= 0 && i < t.rows[kind].Rows && (t.equal[kind][i] || t.sense[kind] < 0 && t.lo[col] >= 0), "%s row %d times column %d is no row", kindWords[kind], i, col)
	coef := map[int]interval{col: point(-t.rhs[kind][i])}
	for j, v := range t.rows[kind].Entries(i) {
		t.times(coef, col, j, point(v))
	}
	t.putStrong(coef, t.equal[kind][i])
}

// product is that of the proof of two columns.
func (t *treeModel) product(i, j int) (k int, is bool) {
	if k, is = t.lift.place[[2]int{i, j}]; !is {
		k, is = t.lift.place[[2]int{j, i}]
	}
	return k, is
}

// times adds v z_i z_j to a row, by the product p of the proof, x_c z = sign p + from x_c.
func (t *treeModel) times(coef map[int]interval, i, j int, v interval) {
	if v.zero() {
		return
	}
	k, is := t.product(i, j)
	must.Be(is, "there is no product of columns %d and %d", i, j)
	p := &t.lift.products[k]
	coef[t.base+k] = coef[t.base+k].add(signed(v, p.sign))
	coef[p.Entry] = coef[p.Entry].add(v.mul(point(p.from)))
}

// putStrong adds a row.
func (t *treeModel) putStrong(coef map[int]interval, equal bool) {
	var wide []interval
	for _, j := range slices.Sorted(maps.Keys(coef)) {
		v := coef[j]
		must.Be(v.finite(), "a coefficient is not finite")
		if !v.zero() || j >= t.slopeColumn(0) { // a range takes products of slopes for multiples of them
			wide = append(wide, v)
			t.rows[treeDuality].Append(j, v.mid())
		}
	}
	t.end(treeDuality, equal, 0)
	t.lift.wide = append(t.lift.wide, wide)
}

// coef is the coefficient of row i at place e of its columns, where its matrix has v.
func (l *treeLeaf) coef(kind, i, e int, v float64) interval {
	switch kind {
	case treeDuality:
		return l.dual(i, e)
	case treeSlopes:
		return point(l.slopeCoef(i, e, v))
	}
	return point(v)
}

// at is the coefficient of row i and column j.
func (l *treeLeaf) at(kind, i, j int) interval {
	cols, vals := l.t.rows[kind].Row(i)
	if e, ok := slices.BinarySearch(cols, j); ok && kind >= treeDuality {
		return l.coef(kind, i, e, vals[e])
	}
	return point(l.t.rows[kind].At(i, j))
}

// sideOf is the side of row i.
func (l *treeLeaf) sideOf(kind, i int) interval {
	switch kind {
	case treeLevels:
		return l.t.lift.side[i]
	case treeSlopes:
		return l.slopeSide(i)
	}
	return point(l.t.rhs[kind][i])
}

// signsOf are the signs that the weight of row i may have on the leaf.
func (l *treeLeaf) signsOf(kind, i int) (positive, negative bool) {
	t := l.t
	switch {
	case kind == treeLevels:
		of := t.lift.level[i]
		x, factor := of.of.Entry, l.factor(of.of)
		nonneg := factor.lo >= 0
		if of.top {
			nonneg = factor.hi <= *of.of.Most
		}
		fixed := l.lo[x] == of.v && l.hi[x] == of.v
		return fixed || nonneg && l.lo[x] >= of.v, fixed || nonneg && l.hi[x] <= of.v
	case kind == treeSlopes && i%slopeRows > 0:
		_, _, _, is := l.mcCormick(i)
		return is, false
	case t.equal[kind][i] || kind == treeLower && l.side[i] == slackZero:
		return true, true
	}
	return t.sense[kind] > 0, t.sense[kind] < 0
}

// wrong reports whether a weight has a sign that it may not have.
func (l *treeLeaf) wrong(kind, i int, v interval) bool {
	positive, negative := l.signsOf(kind, i)
	return !(positive || v.hi <= 0) || !(negative || v.lo >= 0)
}

// factor is the range of t of a product on the leaf.
func (l *treeLeaf) factor(p *treeProduct) interval {
	box := interval{l.lo[p.col], l.hi[p.col]}
	if p.from != 0 {
		box = box.sub(point(p.from))
	}
	return signed(box, p.sign)
}

// products sets the boxes of the products on the leaf.
func (l *treeLeaf) products() {
	for k := range l.t.lift.products {
		p := &l.t.lift.products[k]
		box := l.factor(p).mul(interval{l.lo[p.Entry], l.hi[p.Entry]})
		l.lo[l.t.base+k], l.hi[l.t.base+k] = box.lo, box.hi
	}
	l.slopes()
}
