package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/lang/diag"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/tree"
)

// matrixText writes a random matrix of whole numbers and halves.
func matrixText(rng *rand.Rand, m, n int) string {
	rows := make([]string, m)
	for i := range rows {
		parts := make([]string, n)
		for j := range parts {
			parts[j] = fmt.Sprint(float64(rng.IntN(13)-6) / 2)
		}
		rows[i] = "[" + strings.Join(parts, ", ") + "]"
	}
	return "[" + strings.Join(rows, ", ") + "]"
}

func vectorText(rng *rand.Rand, n int) string {
	return strings.TrimSuffix(strings.TrimPrefix(matrixText(rng, 1, n), "["), "]")
}

// The answer of a follower, found by a lower solver, is a point of the exported program with the objective F: all rows and bounds hold, one
// member of each set is zero, names are the model's.
func TestExportHoldsAnswers(t *testing.T) {
	rng := rand.New(rand.NewPCG(36, 61))
	for trial := range 60 {
		word := []string{"minimize", "maximize"}
		text := fmt.Sprintf(`model answers
set town = {"Rome", "New York", "Oslo"}
data Q: matrix[3, 3] = %s
data P: matrix[2, 3] = %s
data c: vector[3] = %s
data A: matrix[2, 2] = %s
data B: matrix[2, 3] = %s
upper {
  var x: vector[2] in box(-1, 2)
  var k: integer in box(0, 3)
  %s c' * y + x' * P * y + x[1]^2 - k + 1.5
  subject to x[1] + x[2] <= 2
}
lower {
  var y: [town] in %s
  %s %s (sumsq(Q * y) + sumsq(y) + x' * P * y + k * y["Oslo"])
  subject to
    room: B * y >= A * x - 9
    all: sum(y) == 1 + 0.25 * k
}
`, matrixText(rng, 3, 3), matrixText(rng, 2, 3), vectorText(rng, 3), matrixText(rng, 2, 2), matrixText(rng, 2, 3), word[rng.IntN(2)],
			[]string{"nonneg", "box(-0.5, 2)", "box(0, 1)", "free"}[rng.IntN(4)], word[trial%2], []string{"", "-"}[trial%2])
		model, err := Compile("answers.blv", text)
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Bind(nil, BindOptions{})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		x := []float64{rng.Float64()*2 - 1, rng.Float64(), float64(rng.IntN(4))}
		r, err := p.Eval(context.Background(), Values{{Name: "x", Shape: []int{2}, Data: x[:2]}, {Name: "k", Data: x[2:]}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != Solved { // no answer at this x
			continue
		}
		program, err := p.singleLevel(nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		at := byColumn(p, r)
		z := make([]float64, len(program.Columns))
		for j, c := range program.Columns {
			v, known := at[c.Name]
			if !known && !strings.HasPrefix(c.Name, "slack(") {
				t.Fatalf("no value of %s", c.Name)
			}
			z[j] = v
		}
		for i, row := range program.Rows { // slacks from their rows
			cols, vals := program.A.Row(i)
			for k, j := range cols {
				if strings.HasPrefix(program.Columns[j].Name, "slack(") {
					z[j] = (row.Lo - program.A.RowDot(i, z)) / vals[k]
				}
			}
		}
		const close = 1e-6
		for j, c := range program.Columns {
			if z[j] < c.Lo-close || z[j] > c.Hi+close {
				t.Fatalf("%s = %v is outside of [%v, %v]\n%s", c.Name, z[j], c.Lo, c.Hi, text)
			}
			if c.Integer != (c.Name == "k") {
				t.Fatalf("%s is integer: %v", c.Name, c.Integer)
			}
		}
		for i, row := range program.Rows {
			if v := program.A.RowDot(i, z); v < row.Lo-close || v > row.Hi+close {
				if row.Name == "line 11" { // of the leader: x was drawn
					continue
				}
				t.Fatalf("%s = %v is outside of [%v, %v]\n%s", row.Name, v, row.Lo, row.Hi, text)
			}
		}
		inequalities := 0
		for _, row := range p.IR.Rows {
			if !row.Equal {
				inequalities++
			}
		}
		if len(program.Sets) != inequalities {
			t.Fatalf("%d sets for %d inequalities", len(program.Sets), inequalities)
		}
		for _, s := range program.Sets {
			if len(s.Columns) != 2 || math.Min(z[s.Columns[0]], z[s.Columns[1]]) > close {
				t.Fatalf("%s: %v and %v", s.Name, z[s.Columns[0]], z[s.Columns[1]])
			}
		}
		f := program.Const
		for j, c := range program.Cost {
			f += c * z[j]
		}
		if program.Q != nil {
			for i := range z {
				f += 0.5 * z[i] * program.Q.RowDot(i, z)
			}
		}
		if want := float64(r.Upper.Objective); math.Abs(f-want) > 1e-5*(1+math.Abs(want)) || program.Maximize != p.IR.Upper.Maximize {
			t.Fatalf("the objective is %v, want %v\n%s", f, want, text)
		}
	}
}

// byColumn are the values of a result's point by the names of an exported program's columns, but for slacks.
func byColumn(p *Problem, r *Result) map[string]float64 {
	at := map[string]float64{}
	for _, list := range []Values{r.Upper.Variables, r.Lower.Variables} {
		for _, v := range list {
			for i, e := range v.Data {
				at[EntryName(v, i)] = e
			}
		}
	}
	for _, row := range p.IR.Rows {
		v, _ := r.Lower.Multipliers.Get(row.Family.Name)
		at["dual("+row.Name+")"] = v.Data[row.Index]
	}
	return at
}

// best is the global optimum of a bound model's KKT system by branch and bound, minimized; false where there is none.
func best(t *testing.T, p *Problem) (float64, bool) {
	t.Helper()
	s, _, _ := p.system()
	r, err := tree.Solve(context.Background(), s, tree.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Outcome == tree.Infeasible {
		return 0, false
	}
	if !r.Proved {
		t.Fatalf("not proved: %v", r.Outcome)
	}
	return r.Best.F, true
}

// A linear bilevel program that goes to the form of MibS and back has the same global optimum.
func TestMibsRoundTrip(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(36, 63))
	solved := 0
	for range 60 {
		text := fmt.Sprintf(`model trip
data c: vector[3] = %s
data d: vector[4] = %s
data q: vector[4] = %s
data A: matrix[3, 3] = %s
data B: matrix[3, 4] = %s
upper {
  var x: vector[2] in box(-1, [3, 4])
  var k: integer in box(0, 3)
  %s c' * [x; k] + d' * y + 2
  subject to
    sum(x) + k <= 5
    %s
}
lower {
  var y: vector[4] in %s
  %s q' * y
  subject to
    rows: -8 <= A * [x; k] + B * y <= 9
    cap: sum(y) <= 7
}
solve { ties = optimistic }
`, vectorText(rng, 3), vectorText(rng, 4), vectorText(rng, 4), matrixText(rng, 3, 3), matrixText(rng, 3, 4), []string{"minimize", "maximize"}[rng.IntN(2)],
			[]string{"", "meet: y[1] + x[1] >= -1", "at: x[2] == 1"}[rng.IntN(3)], []string{"nonneg", "box(-1, 3)", "box([0, -2, 0, 1], [inf, 5, 6, 7])"}[rng.IntN(3)],
			[]string{"minimize", "maximize"}[rng.IntN(2)])
		model, err := Compile("trip.blv", text)
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Bind(nil, BindOptions{})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		var mps, aux bytes.Buffer
		if err := p.ExportBilevel(&mps, &aux, "trip.mps"); err != nil {
			t.Fatal(err)
		}
		again, err := CompileMPS(context.Background(), "trip.mps", mps.String(), "trip.aux", aux.String())
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, mps.String(), aux.String())
		}
		back, err := again.Bind(nil, BindOptions{})
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, mps.String(), aux.String())
		}
		written, err := MPSModel("trip.mps", mps.String(), "trip.aux", aux.String())
		if err != nil {
			t.Fatal(err)
		}
		third, err := Compile("trip.blv", written)
		if err != nil {
			t.Fatalf("%v\n%s", err, written)
		}
		alone, err := third.Bind(nil, BindOptions{})
		if err != nil {
			t.Fatalf("%v\n%s", err, written)
		}
		want, feasible := best(t, p)
		for _, q := range []*Problem{back, alone} {
			got, some := best(t, q)
			if some != feasible || math.Abs(got-want) > 1e-6*(1+math.Abs(want)) {
				t.Fatalf("F* is %v (%v) and comes back as %v (%v)\n%s\n%s\n%s", want, feasible, got, some, text, mps.String(), aux.String())
			}
		}
		if feasible {
			solved++
		}
	}
	if solved < 20 {
		t.Errorf("only %d of 60 programs have an optimum", solved)
	}
}

// What a format does not hold is said with the place and the reason.
func TestNotExported(t *testing.T) {
	for _, c := range []struct{ upper, lower, block, to, want string }{
		{"minimize exp(x) + y", "minimize (y - x)^2", "", "lp", "not quadratic in what it reads"},
		{"minimize x + y", "minimize y^4 + y^2 - x * y", "", "mps", "g is not quadratic"},
		{"minimize x + y\n  subject to x * y <= 3", "minimize (y - x)^2", "", "mps", "not affine"},
		{"minimize x^2 + y", "minimize y", "solve { ties = optimistic }", "mibs", "the upper objective is not linear"},
		{"minimize x + y", "minimize x * y", "solve { ties = optimistic }", "mibs", "the lower objective is not linear in y alone"},
		{"minimize x + y", "minimize y", "solve { ties = least_norm }", "lp", "breaks ties by least_norm"},
	} {
		text := "model refused\nupper {\n  var x: real in box(0, 1)\n  " + c.upper + "\n}\nlower {\n  var y: real in box(0, 2)\n  " + c.lower + "\n}\n" + c.block + "\n"
		model, err := Compile("refused.blv", text)
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Bind(nil, BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if c.to == "mibs" {
			err = p.ExportBilevel(&b, &b, "refused.mps")
		} else {
			err = p.Export(&b, c.to)
		}
		var list diag.List
		if !errors.As(err, &list) || list[0].Code != diag.RunExport || !strings.Contains(list[0].Summary, c.want) || list[0].Subject.Source == nil ||
			strings.Contains(c.want, "the lower") && !strings.HasSuffix(c.lower, list[0].Subject.Text()) {
			t.Errorf("%s, %s: %v, want %q", c.upper, c.lower, err, c.want)
		}
	}
}

// OffSystem are options of a run that is solved as where the KKT system is not of linear rows and pairs: for tests of the methods that then serve.
func OffSystem(o Options) Options {
	o.offSystem = true
	return o
}

// Slacks and multipliers of a follower's answers, found by a lower solver at random x, are within the limits that binary columns have of them, and one of each pair is 0 where its column says so. Followers are
// strongly convex or linear, with bounds and without.
func TestBinaryPairsHoldAnswers(t *testing.T) {
	rng := members.Rand(t, 64)
	held, reached := 0, 0.0
	for range members.Count(120) {
		curve, domain, ties := "sumsq(Q * y) + sumsq(y) + ", []string{"nonneg", "box(-0.5, 2)", "free"}[rng.IntN(3)], ""
		if rng.IntN(2) == 0 {
			curve, domain, ties = "", "box(0, 1.5)", "solve { ties = optimistic }\n"
		}
		text := fmt.Sprintf(`model limits
data Q: matrix[3, 3] = %s
data P: matrix[2, 3] = %s
data c: vector[3] = %s
data A: matrix[2, 2] = %s
data B: matrix[2, 3] = %s
upper {
  var x: vector[2] in box(-1, 1)
  minimize c' * y + sum(x)
}
lower {
  var y: vector[3] in %s
  minimize %sx' * P * y + c' * y
  subject to
    room: B * y >= A * x - %d
    all: sum(y) == 1 + 0.25 * x[1]
}
%s`, matrixText(rng, 3, 3), matrixText(rng, 2, 3), vectorText(rng, 3), matrixText(rng, 2, 2), matrixText(rng, 2, 3), domain, curve, 4+rng.IntN(5), ties)
		p := mustBind(t, text)
		program, err := p.singleLevel(func(s *kkt.System) (*kkt.Limits, *kkt.NoLimit, error) { return s.Limits(context.Background()) })
		if err != nil {
			var list diag.List
			if !errors.As(err, &list) || !strings.Contains(list.Error(), "of row ") {
				t.Errorf("%v\n%s", err, text)
			}
			continue
		}
		for range 20 {
			x := []float64{rng.Float64()*2 - 1, rng.Float64()*2 - 1}
			r, err := p.Eval(context.Background(), Values{{Name: "x", Shape: []int{2}, Data: x}}, Options{})
			if err != nil || r.Status != Solved {
				continue
			}
			at := byColumn(p, r)
			z := make([]float64, len(program.Columns))
			for j, c := range program.Columns {
				z[j] = at[c.Name]
			}
			for i, row := range program.Rows {
				cols, vals := program.A.Row(i)
				for k, j := range cols {
					if strings.HasPrefix(program.Columns[j].Name, "slack(") && !strings.HasPrefix(row.Name, "limit(") {
						z[j] = (row.Lo - program.A.RowDot(i, z)) / vals[k]
					}
				}
			}
			for i, row := range program.Rows { // the side is the one of the slack where that is larger
				if cols, vals := program.A.Row(i); strings.HasPrefix(row.Name, "limit(slack(") && len(cols) == 2 {
					if z[cols[0]] > 1e-6 {
						z[cols[1]] = 1
					}
					reached = math.Max(reached, z[cols[0]]/-vals[1])
				}
			}
			const close = 1e-5
			for i, row := range program.Rows {
				if v := program.A.RowDot(i, z); v < row.Lo-close || v > row.Hi+close {
					t.Errorf("x = %v: %s = %v is outside of [%v, %v]\n%s", x, row.Name, v, row.Lo, row.Hi, text)
				}
			}
			held++
		}
	}
	if held == 0 || reached < 0.5 {
		t.Errorf("%d answers, slacks up to %.2g of their limits", held, reached)
	}
	t.Logf("%d answers, slacks up to %.2g of their limits", held, reached)
}
