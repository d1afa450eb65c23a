package runtime_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"bilevelc/runtime"
)

func TestSession(t *testing.T) {
	s := &runtime.Session{Seed: 1}
	inputs := 0 // each has a name of its own, as at the prompt
	send := func(text string) (*runtime.Reply, error) {
		inputs++
		return s.Enter(fmt.Sprintf("input %d", inputs), text)
	}
	enter := func(text string) *runtime.Reply {
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
		if v := enter(text).Value; v == nil || len(v.Data) != 1 || abs(v.Data[0]-want) > 1e-6 {
			t.Errorf("%s = %+v, not %v", text, v, want)
		}
	}
	refuse("var x: real") // no level yet
	enter("upper { var x: real in box(0, 2); minimize (y - 1)^2 + x }")
	enter("lower { var y: real; minimize (y - x)^2 }")
	refuse("x + 1") // not solved yet
	result, err := s.Solve(context.Background(), runtime.Options{})
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
	if _, err = s.Solve(context.Background(), runtime.Options{}); err != nil {
		t.Fatal(err)
	}
	value("k * x", 1-1.0/6) // minimize (3x - 1)^2 + x

	// A level that no longer fits the other is told, and hinders nothing else.
	if reply := enter("lower { var y: vector[2]; minimize sumsq(y - x) }"); len(reply.Warnings) == 0 {
		t.Error("a break of the upper level is not told")
	}
	value("k^2", 9)
	refuse("y")
	if _, err := s.Solve(context.Background(), runtime.Options{}); err == nil {
		t.Error("a broken model is solved")
	}
	enter("upper { var x: real in box(0, 2); minimize sumsq(y - 1) + x }")
	if _, err = s.Solve(context.Background(), runtime.Options{}); err != nil {
		t.Fatal(err)
	}
	value("x", 0.75) // 4 (x - 1) + 1 = 0

	for text, want := range map[string]bool{"let a = (": true, "upper {": true, "let a = 1 +": true, "let a = 1": false, "a)": false, "": false} {
		if runtime.Incomplete(text) != want {
			t.Errorf("Incomplete(%q) is not %v", text, want)
		}
	}
}

// TestSessionPart: an expression is bound with what it reads, and nothing else of the
// model has to be there or to be right.
func TestSessionPart(t *testing.T) {
	s := &runtime.Session{Seed: 1}
	enter := func(text string) (*runtime.Reply, error) { return s.Enter(text, text) }
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
	if _, err := s.Solve(context.Background(), runtime.Options{}); err == nil {
		t.Error("solved without the data")
	}
	if _, err := enter("data never: vector[7] = [1, 1, 1, 1, 1, 1, 1]"); err != nil {
		t.Fatal(err)
	}
	result, err := s.Solve(context.Background(), runtime.Options{})
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
	if err != nil || abs(reply.Value.Data[0]-want) > 1e-12 {
		t.Errorf("%+v is not %g: %v", reply, want, err)
	}
}

func abs(v float64) float64 {
	if v < 0 {
		return -v
	}
	return v
}
