package bind

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/data"
	"bilevelc/ir/expr"
	"bilevelc/lang"
)

// TestDualsOfArrayFamilies: of families whose rows are vectors for each index, what dual gives
// at a label, at a number of a set and in a loop over the whole set is the multiplier of the
// row that is called so, and 0 where a condition leaves the row out.
func TestDualsOfArrayFamilies(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 5))
	for range 100 {
		over := []struct {
			binder, cond string
			at           []string
		}{
			{"t in T", `t != "b"`, []string{`"a"`, `"b"`, `"c"`}},
			{"h in hour", "h > 4", []string{"4", "5", "6"}},
			{"n in count", "n < 2", []string{"0", "1", "2"}},
			{"k in 1..3", "k != 2", []string{"1", "2", "3"}},
		}
		order := rng.Perm(len(over))[:1+rng.IntN(2)]
		if order[0] == 3 {
			order[0], order = rng.IntN(3), order[:1] // a set is among them
		}
		var binders, conds, parts []string
		for _, k := range order {
			binders = append(binders, over[k].binder)
			parts = append(parts, over[k].at[rng.IntN(3)])
			if rng.IntN(2) == 0 {
				conds = append(conds, over[k].cond)
			}
		}
		family := "forall " + strings.Join(binders, ", ")
		if len(conds) > 0 {
			family += " if " + strings.Join(conds, " and ")
		}
		place := strings.Join(parts, ", ") + ", 2"
		loop := strings.Join(binders, ", ")
		names := each.Of(binders, func(b string) string { return b[:1] })
		p := mustBind(t, compile(t, "arrays", `model arrays
set T = {"a", "b", "c"}
set hour = 4..6
set count = 0..2
upper {
  var x: real in box(1, 2)
  minimize x^2 + sum(dual(q)) + card(T) + card(hour) + card(count)
}
lower {
  var y: vector[2]
  minimize sumsq(y - x)
  subject to
    q: `+family+`: y <= 3 * ones(2)
}
report {
  all = dual(q)
  one = dual(q)[`+place+`]
  sum = sum(`+loop+`: dual(q)[`+strings.Join(names, ", ")+`, 2])
}
`), &data.Set{})
		z := make([]float64, p.Lower.Dim+len(p.Duals))
		of := map[string]float64{}
		sum := 0.0
		for k, i := range p.Duals {
			z[p.Lower.Dim+k] = float64(k + 1)
			if of[p.Rows[i].Name] = float64(k + 1); p.Rows[i].Index%2 == 1 {
				sum += float64(k + 1)
			}
		}
		value := func(item ir.NamedNode) []float64 {
			a, err := expr.Eval(item.Node, []float64{1}, z)
			if err != nil {
				t.Fatal(err)
			}
			return a.Values()
		}
		for k, v := range value(p.Report[0]) {
			if name := "q[" + ir.Place(p.Report[0].Axes, k) + "]"; p.Report[0].Axes != nil && v != of[name] {
				t.Errorf("%s: %s is %v, its row has %v", family, name, v, of[name])
			}
		}
		if got := value(p.Report[1])[0]; got != of["q["+place+"]"] {
			t.Errorf("%s: dual(q)[%s] is %v, its row has %v", family, place, got, of["q["+place+"]"])
		}
		if got := value(p.Report[2])[0]; got != sum {
			t.Errorf("%s: the second rows add up to %v, not %v", family, got, sum)
		}
	}
}

// A label finds nothing where a family's rows are counted as they come.
func TestLabelOfCountedRows(t *testing.T) {
	prog := compile(t, "counted", `model counted
set T = {"a", "b", "c"}
upper {
  var x: real in box(1, 2)
  minimize x^2 + dual(q)["b"]
}
lower {
  var y: real
  minimize (y - x)^2
  subject to
    q: forall t in T, k in 1..ord(t): y <= 3
}
`)
	_, list := Bind(prog, nil, Options{})
	if got := list.Error(); !strings.Contains(got, "`\"b\"` is a label, but this dimension of `dual(q)` is indexed by numbers") {
		t.Errorf("it says %s", got)
	}
}

// TestRowsAreCalledAsTheirFamilyHasThem: the values of a family in tables and documents go by
// the names that its rows have everywhere else, whatever the indices are.
func TestRowsAreCalledAsTheirFamilyHasThem(t *testing.T) {
	indices := []struct {
		binder string
		values []string
	}{
		{"i in 1..2", []string{"1", "2"}}, {"i in 2..3", []string{"2", "3"}}, {"i in hour", []string{"5", "6", "7"}}, {"i in day", []string{"1", "2"}},
		{"i in order", []string{"3", "1"}}, {"i in T", []string{"a", "b"}},
	}
	conds := []struct {
		text string
		keep func(string) bool
	}{{"", func(string) bool { return true }}, {" if %s > 1", func(v string) bool { return v > "1" }}, {" if ord(%s) > 1", func(v string) bool { return v != "a" }}}
	items := []struct {
		text string
		at   []string
	}{{"y <= 1", []string{""}}, {"v <= ones(2)", []string{"1", "2"}}, {"A <= ones(2, 2)", []string{"1, 1", "1, 2", "2, 1", "2, 2"}}, {"u <= w", []string{`"a"`, `"b"`}}}
	for i, a := range indices {
		for j, b := range indices {
			for _, item := range items {
				for c, cond := range conds {
					if label := a.binder == "i in T"; (c == 1 && label) || (c == 2 && !label) {
						continue
					}
					binders := []string{a.binder}
					if j > 0 {
						binders = append(binders, strings.Replace(b.binder, "i in", "j in", 1))
					}
					text := `model called
set T = {"a", "b"}
set hour = 5..7
set day = 1..2
data order: vector[2] = [3, 1]
data w: [T] = [1, 2]
upper {
  var x: real in box(0, 1)
  minimize x + card(T) + card(hour) + card(day) + sum(order)
}
lower {
  var y: real
  var v: vector[2]
  var A: matrix[2, 2]
  var u: [T]
  minimize y^2 + sumsq(v) + sumsq(A) + sumsq(u - w)
  subject to
    q: forall ` + strings.Join(binders, ", ") + strings.ReplaceAll(cond.text, "%s", "i") + `: ` + item.text + `
}
`
					p := mustBind(t, compile(t, "called", text), nil)
					var want []string
					for _, i := range a.values {
						if !cond.keep(i) {
							continue
						}
						inner := []string{""}
						if j > 0 {
							inner = b.values
						}
						for _, k := range inner {
							for _, at := range item.at {
								parts := []string{lang.TupleText([]string{i})}
								if k != "" {
									parts = append(parts, lang.TupleText([]string{k}))
								}
								if at != "" {
									parts = append(parts, at)
								}
								want = append(want, "q["+strings.Join(parts, ", ")+"]")
							}
						}
					}
					var got, shown []string
					for _, row := range p.Rows {
						got = append(got, row.Name)
						shown = append(shown, row.Family.EntryName(row.Index))
					}
					if !slices.Equal(got, want) || !slices.Equal(shown, want) {
						t.Errorf("%d %d: the rows of\n%s\nare %v, in tables %v, not %v", i, j, text, got, shown, want)
					}
				}
			}
		}
	}
}

// The size of an array that stands inside of nothing is what its own range says.
func TestSizesInsideOfNothing(t *testing.T) {
	mustBind(t, compile(t, "nothing", `model nothing
param n: int = 3
param extra: int = 0
set none = {}
data v: vector[n] = [1, 2, 3]
upper {
  var x: vector[n] in box(0, 1)
  minimize sumsq(y - 1) + sum(k in 1..extra: dot([i in 1..n: y[i]], v)) + sum(s in none: dot([i in 2..n + 1: y[i - 1]], v))
}
lower {
  var y: vector[n]
  minimize sumsq(y - x)
  subject to
    a: forall k in 1..extra: sum([i in 1..n: y[i] * k] + v) <= 10
    b: forall k in 1..n if k > 7: y[k] <= sum([j in 1..n: v[j]] .* v)
}
report {
  z = sum(k in 1..extra: max([i in 1..n: y[i]] + v))
}
`), nil)
}

// Where an index has no neighbour, the condition that is offered leaves out what has none, and no more.
func TestFixOfNeighbours(t *testing.T) {
	const model = `model neighbours
set hall = {"a", "b", "d"}
upper {
  var x: [hall] in box(0, 1)
  minimize sum(y)
}
lower {
  var y: [hall]
  minimize sumsq(y - x)
  subject to
    near: forall i in hall: y[%s(i)] <= y[i]
}
`
	for word, want := range map[string][]string{"next": {`near["a"]`, `near["b"]`}, "prev": {`near["b"]`, `near["d"]`}} {
		_, list := Bind(compile(t, "neighbours", strings.Replace(model, "%s", word, 1)), nil, Options{})
		parts := strings.Split(list[0].Fix, "`")
		if len(parts) < 2 {
			t.Fatalf("the fix of %s is %q", word, list[0].Fix)
		}
		p := mustBind(t, compile(t, "neighbours", strings.Replace(strings.Replace(model, "%s", word, 1), " in hall: ", " in hall "+parts[1]+": ", 1)), nil)
		if got := strings.Split(names(p.Rows), " "); !slices.Equal(got, want) {
			t.Errorf("with the condition of %s, `%s`, the rows are %v", word, parts[1], got)
		}
	}
}

// An objective whose shape is known when the model is bound is refused in the words of the check.
func TestObjectiveOfCountedRows(t *testing.T) {
	_, list := Bind(compile(t, "counted", `model counted
upper {
  var x: real in box(0, 3)
  minimize dual(q)
}
lower {
  var y: vector[2]
  minimize sumsq(y - x)
  subject to
    q: forall i in 1..2 if i > 0: y[i] <= 4
}
`), nil, Options{})
	if got := list.Error(); !strings.Contains(got, "the upper objective is a vector[2], not a scalar") {
		t.Errorf("it says %s", got)
	}
}
