package certify

import (
	"fmt"
	"slices"

	"bilevelc/internal/must"
	"bilevelc/runtime/problem"
)

// treeChoice names an equation of the lower level as one of a choice: it has equal coefficients and no x, and of its entries of y, the options, nothing else reads but y_t >= 0, products with
// entries of x in f, and linear terms. At any x, multipliers and other entries of y, what is left for the options is a face of a simplex (that of the rows y_t >= 0 whose multipliers are 0), and f
// is linear in them: it is no higher at some vertex, where one option is all and the others are 0. So no point of the system is below the least of those where all choices are at vertices, and a
// branch on an option may leave out what is between.
type treeChoice struct {
	Row int `json:"row"`

	bounds []int // the rows y_t >= 0
}

// addChoices checks the choices of a proof.
func (t *treeModel) addChoices(a *treeAdded) {
	t.options, t.chosen = map[int]*treeChoice{}, map[int]*treeChoice{}
	for k := range a.choices {
		of := &a.choices[k]
		err := must.Try(func() { t.choose(of) })
		must.Be(err == nil, "choice %d: %w", k, err)
		for _, i := range of.bounds {
			t.options[i] = of
		}
	}
}

// takeProducts puts columns of a proof in the place of products of f: x_c z = sign p + from x_c, whatever x_c and z are.
func (t *treeModel) takeProducts(*treeAdded) {
	for k := range t.lift.products {
		p := &t.lift.products[k]
		at := slices.IndexFunc(t.q[p.Entry], func(e treeEntry) bool { return e.col == p.col })
		if !p.F || at < 0 {
			continue
		}
		t.keep()
		e := t.q[p.Entry][at]
		must.Be(e.exact != nil, "f has two numbers for the product of x[%d] and column %d", p.Entry, p.col)
		times := 1.0
		if p.Entry == p.col { // a square is there once
			times = 0.5
		}
		for _, c := range [2]struct {
			col int
			by  float64
		}{{t.base + k, p.sign}, {p.Entry, p.from}} {
			t.addC(c.col, e.times(times).times(c.by))
		}
		t.dropQ(p.Entry, p.col)
		t.dropQ(p.col, p.Entry)
	}
}

// choose checks a choice, and notes its options.
func (t *treeModel) choose(of *treeChoice) {
	p := t.p
	must.Be(of.Row >= 0 && of.Row < t.m && p.Rows.Kind[of.Row] == problem.Equal, "row %d is no equation of the lower level", of.Row)
	must.Be(!p.Rows.A.Reads(of.Row), "row %d reads x", of.Row)
	bt := p.Rows.B.T()
	cols, vals := p.Rows.B.Row(of.Row)
	for e, j := range cols {
		hold := func(so bool, fault string) { must.Be(so, "y[%d] is no option: %s", j, fault) }
		col := t.nx + j
		hold(vals[e] == vals[0] && vals[e] != 0 && t.chosen[col] == nil, "its coefficient is another one, or it is in two places")
		t.chosen[col] = of
		bound := -1
		for i, v := range bt.Nonzeros(j) {
			if i == of.Row {
				continue
			}
			if alone, _ := p.Rows.Bound(i); bound >= 0 || p.Rows.Kind[i] != problem.AtMost || v < 0 || p.Rows.Rhs[i] != 0 || p.Rows.A.Reads(i) || alone < 0 {
				hold(false, fmt.Sprintf("row %d reads it", i))
			}
			bound = i
		}
		hold(bound >= 0, "nothing keeps it from being negative")
		of.bounds = append(of.bounds, bound)
		for k := range t.ny {
			hold(t.h[k][j] == 0 && t.h[j][k] == 0, "g is curved along it")
		}
		for i := range t.rows[treeCoupled].Rows {
			hold(t.rows[treeCoupled].At(i, col) == 0, "a constraint of the upper level reads it")
		}
		for _, c := range t.constraints {
			hold(c == nil || len(c.q[col]) == 0 && c.c[col].val.zero(), "a constraint of the upper level reads it")
		}
		for _, e := range t.q[col] {
			hold(e.col < t.nx, "f has a product of it and of what is not the leader's")
		}
	}
}

// againstRow is the option y_j times the multiplier of another one: with coef = (G_j x + q_j) - (G_s x + q_s), the first is what the equation's multiplier makes it where y_j is not 0, and the
// second is no less.
func (t *treeModel) againstRow(j, s int) {
	of := t.chosen[t.nx+j]
	must.Be(s >= 0 && s < t.ny && of != nil && t.chosen[t.nx+s] == of, "y[%d] and y[%d] are no options of one choice", j, s)
	coef := map[int]interval{t.nx + j: point(t.linearG[j]).sub(point(t.linearG[s]))}
	for c := range t.nx {
		t.times(coef, c, t.nx+j, point(t.g[c][j]).sub(point(t.g[c][s])))
	}
	t.putStrong(coef, false)
}

// dropQ removes an entry of Q.
func (t *treeObjective) dropQ(i, j int) {
	t.q[i] = slices.DeleteFunc(slices.Clone(t.q[i]), func(e treeEntry) bool { return e.col == j })
}
