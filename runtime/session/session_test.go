package session_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"bilevelc/ir/datafile"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
	"bilevelc/runtime/session"
)

func TestSession(t *testing.T) {
	s := &session.Session{Seed: 1}
	inputs := 0 // each has a name of its own, as at the prompt
	send := func(text string) (*session.Reply, error) {
		inputs++
		return s.Enter(fmt.Sprintf("input %d", inputs), text)
	}
	enter := func(text string) *session.Reply {
		t.Helper()
		reply, err := send(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return reply
	}
	refuse := func(text string) {
		t.Helper()
		before := s.Text()
		if _, err := send(text); err == nil {
			t.Errorf("%s is taken", text)
		}
		if s.Text() != before {
			t.Errorf("%s is refused, but changes the session", text)
		}
	}
	value := func(text string, want float64) {
		t.Helper()
		if v := enter(text).Value; v == nil || len(v.Data) != 1 || math.Abs(v.Data[0]-want) > 1e-6 {
			t.Errorf("%s = %+v, not %v", text, v, want)
		}
	}
	refuse("var x: real") // no level yet
	enter("upper { var x: real in box(0, 2); minimize (y - 1)^2 + x }")
	enter("lower { var y: real; minimize (y - x)^2 }")
	refuse("x + 1") // not solved yet
	result, _, err := s.Solve(context.Background(), runtime.BindOptions{}, runtime.Options{})
	if err != nil || result.Status != runtime.Solved {
		t.Fatal(result, err)
	}
	value("x", 0.5) // 2 (x - 1) + 1 = 0
	value("2 * y + 1", 2)
	enter("let k = 3")
	refuse("let k = [1, 2] + [1, 2, 3]")
	value("k", 3)
	enter("minimize (y - k * x)^2")
	refuse("x") // what was solved is another model
	if _, _, err = s.Solve(context.Background(), runtime.BindOptions{}, runtime.Options{}); err != nil {
		t.Fatal(err)
	}
	value("k * x", 1-1.0/6) // minimize (3x - 1)^2 + x

	// A level that no longer fits the other is told, and hinders nothing else.
	if reply := enter("lower { var y: vector[2]; minimize sumsq(y - x) }"); len(reply.Warnings) == 0 {
		t.Error("a break of the upper level is not told")
	}
	value("k^2", 9)
	refuse("y")
	if _, _, err := s.Solve(context.Background(), runtime.BindOptions{}, runtime.Options{}); err == nil {
		t.Error("a broken model is solved")
	}
	enter("upper { var x: real in box(0, 2); minimize sumsq(y - 1) + x }")
	if _, _, err = s.Solve(context.Background(), runtime.BindOptions{}, runtime.Options{}); err != nil {
		t.Fatal(err)
	}
	value("x", 0.75) // 4 (x - 1) + 1 = 0

	for text, want := range map[string]bool{"let a = (": true, "upper {": true, "let a = 1 +": true, "let a = 1": false, "a)": false, "": false} {
		if session.Incomplete(text) != want {
			t.Errorf("Incomplete(%q) is not %v", text, want)
		}
	}
}

// TestSessionPart: an expression is bound with what it reads, and nothing else of the
// model has to be there or to be right.
func TestSessionPart(t *testing.T) {
	s := &session.Session{Seed: 1}
	enter := func(text string) (*session.Reply, error) { return s.Enter(text, text) }
	for _, text := range []string{"data c: vector[3] = [1, 2, 4]", "data never: vector[7]",
		"upper { var x: vector[3] in box(0, 1) }", "let scaled = 2 * c"} {
		if _, err := enter(text); err != nil {
			t.Fatal(text, err)
		}
	}
	reply, err := enter("sum(scaled)")
	if err != nil || reply.Value.Data[0] != 14 {
		t.Errorf("%+v, %v", reply, err)
	}
	for text, want := range map[string]string{"sum(x)": "has not been solved", "sum(never)": "never", "sum(y)": "y"} {
		if _, err := enter(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"upper { var x: vector[3] in box(0, 1); minimize sumsq(y - 1) + sum(x) }",
		"lower { var y: vector[3]; minimize sumsq(y - x); subject to cap: y <= 0.25 }"} {
		if _, err := enter(text); err != nil {
			t.Fatal(text, err)
		}
	}
	if _, _, err := s.Solve(context.Background(), runtime.BindOptions{}, runtime.Options{}); err == nil {
		t.Error("solved without the data")
	}
	if _, err := enter("data never: vector[7] = [1, 1, 1, 1, 1, 1, 1]"); err != nil {
		t.Fatal(err)
	}
	result, _, err := s.Solve(context.Background(), runtime.BindOptions{}, runtime.Options{})
	if err != nil || result.Status != runtime.Solved {
		t.Fatal(result, err)
	}
	reply, err = enter("sum(dual(cap)) - sum(x)")
	multipliers, _ := result.Lower.Multipliers.Get("cap")
	x, _ := result.Upper.Variables.Get("x")
	want := 0.0
	for k := range x.Data {
		want += multipliers.Data[k] - x.Data[k]
	}
	if err != nil || math.Abs(reply.Value.Data[0]-want) > 1e-12 {
		t.Errorf("%+v is not %g: %v", reply, want, err)
	}
}

// TestSessionReport: expressions read what the report names, by label where it has labels; a
// declaration of the same name goes first.
func TestSessionReport(t *testing.T) {
	s := &session.Session{Seed: 1}
	if _, err := s.Load("shop.blv", `model shop
set kind = {"rye", "oat"}
data taste: [kind] = [6, 9]
upper {
  var price: [kind] in box(0, 9)
  maximize sum(price .* bought)
}
lower {
  var bought: [kind] in nonneg
  minimize sum((price - taste) .* bought) + 0.5 * sumsq(bought)
}
report {
  earned = price .* bought
  taste = 5
  all = sum(price .* bought)
}
`); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.Reported(), " "); got != "earned all" {
		t.Errorf("the report names %s", got)
	}
	if _, err := s.Enter("1", "all"); err == nil || !strings.Contains(err.Error(), "has not been solved") {
		t.Error(err)
	}
	if r, _, err := s.Solve(context.Background(), runtime.BindOptions{}, runtime.Options{}); err != nil || r.Err() != nil {
		t.Fatal(err, r)
	}
	// price = taste/2 each, so that 9 and 20.25 are earned.
	for text, want := range map[string][]float64{"earned": {9, 20.25}, "2 * all": {58.5}, `earned["oat"]`: {20.25},
		"sum(i in kind: earned[i])": {29.25}, "taste": {6, 9}} {
		reply, err := s.Enter(text, text)
		if err != nil {
			t.Error(text, err)
			continue
		}
		for k := range want {
			if math.Abs(reply.Value.Data[k]-want[k]) > 1e-4 { // F is quadratic: solved to 1e-5 and better in x
				t.Errorf("%s is %v, not %v", text, reply.Value.Data, want)
			}
		}
		if len(want) == 2 && runtime.EntryName(*reply.Value, 1) != `it["oat"]` {
			t.Errorf("%s has no labels: %+v", text, reply.Value)
		}
	}
	if _, err := s.Enter("let", "let all = 1"); err != nil {
		t.Fatal(err)
	}
	if reply, err := s.Enter("all", "all"); err != nil || reply.Value.Data[0] != 1 {
		t.Error(reply, err)
	}
}

// What was solved stays while nothing that it hangs on changes, and serves the next
// run where only numbers have changed.
func TestSessionKeepsWhatHolds(t *testing.T) {
	s := &session.Session{Seed: 1}
	n := 0
	enter := func(text string) *session.Reply {
		t.Helper()
		n++
		reply, err := s.Enter(fmt.Sprintf("input %d", n), text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return reply
	}
	supply := func(spec string) {
		t.Helper()
		set, diags := datafile.ParseSet(spec)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		s.AddData(set)
	}
	for _, text := range []string{"set town = {\"A\", \"B\"}", "set port within town = {\"A\"}", "param c: real = 2", "data unread: vector[2] = [1, 2]", "let shift = c + 1",
		"upper { var x: vector[2] in box(0, 9); minimize sumsq(y - shift) + x[1]; subject to cap: sum(x) <= 4; curved: x[1]^2 <= 8 }",
		"lower { var y: vector[2]; minimize sumsq(y - x); subject to floor: y[1] >= 1; wall: y[2] <= 7 }"} {
		enter(text)
	}
	solve := func() *runtime.Result {
		t.Helper()
		r, _, err := s.Solve(context.Background(), runtime.BindOptions{}, runtime.Options{Near: s.Near()})
		if err != nil || r.Status != runtime.Solved {
			t.Fatalf("%+v %v", r, err)
		}
		return r
	}
	first := solve()
	kept := func(what string, last, near bool) {
		t.Helper()
		if (s.Last() != nil) != last || (s.Near() != nil) != near {
			t.Errorf("%s: the solution is kept %v, as a guide %v", what, s.Last() != nil, s.Near() != nil)
		}
		if !last {
			solve()
		}
	}
	enter("let unrelated = 3")
	kept("an unrelated let", true, true)
	enter("data unread: vector[2] = [3, 4]")
	kept("unread data", true, true)
	supply("unread=[5, 6]")
	kept("unread data supplied", true, true)
	enter("report { r = sum(y) }")
	kept("a report", true, true)
	if v := enter("card(port)").Value; v == nil || v.Data[0] != 1 {
		t.Errorf("card(port) is %v", v)
	}

	// Values of the solution, against the result.
	value := func(text string, want ...float64) {
		t.Helper()
		v := enter(text).Value
		if v == nil || len(v.Data) != len(want) {
			t.Fatalf("%s is %v, want %v", text, v, want)
		}
		for i := range want {
			if math.Abs(v.Data[i]-want[i]) > 1e-12*(1+math.Abs(want[i])) {
				t.Errorf("%s is %v, want %v", text, v.Data, want)
			}
		}
	}
	y, _ := first.Lower.Variables.Get("y")
	x, _ := first.Upper.Variables.Get("x")
	grad, _ := first.Upper.Hypergradient.Get("x")
	floor, _ := first.Lower.Multipliers.Get("floor")
	value("F", float64(first.Upper.Objective))
	value("g", float64(first.Lower.Objective))
	value("2 * F + 1", 2*float64(first.Upper.Objective)+1)
	value("residual(floor)", 1-y.Data[0])
	value("residual(wall)", y.Data[1]-7)
	value("residual(curved)", x.Data[0]*x.Data[0]-8)
	value("dual(floor)", floor.Data...)
	value("grad(x)", grad.Data...)
	value("sum(F in 1..3: F)", 6) // an index hides it
	for _, bad := range []string{"residual(nowhere)", "grad(y)", "dual(nowhere)"} {
		if _, err := s.Enter("bad", bad); err == nil {
			t.Errorf("%s has a value", bad)
		}
	}
	enter("let F = 7")
	value("F", 7) // the model's own goes first
	kept("a let called F", true, true)

	enter("param c: real = 2.01")
	kept("a number", false, true)
	enter("let shift = c + 1.02")
	kept("a definition", false, false)
	supply("c=2.03")
	kept("a number supplied", false, true)
	enter("minimize sumsq(y - x) + 0.1 * sumsq(y)")
	kept("the follower's goal", false, false)
}

// An assignment without its word is answered with the word that the name has, and a solution without rows with that.
func TestSessionFixes(t *testing.T) {
	s := &session.Session{Seed: 1}
	for _, text := range []string{"param n: int = 2", "data c: vector[2] = [1, 2]", "upper { var x: real in box(0, 1); minimize x }", "lower { var y: real; minimize (y - x)^2 }"} {
		if _, err := s.Enter(text, text); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := s.Solve(t.Context(), runtime.BindOptions{}, runtime.Options{}); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"n = 3": "write `param n = ...`", "c = [1, 3]": "write `data c = ...`", "q = 3": "write `let q = ...`", "dual(cap)": "it has none"} {
		_, err := s.Enter(text, text)
		if list, _ := errors.AsType[diag.List](err); len(list) != 1 || !strings.Contains(list[0].Detail+list[0].Fix, want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
