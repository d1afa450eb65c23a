package session_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"bilevelc/runtime"
	"bilevelc/runtime/session"
)

// TestEntriesByLabel: what a session shows of rows goes by their labels, as results do, and texts are shown as
// texts.
func TestEntriesByLabel(t *testing.T) {
	s := &session.Session{Seed: 1}
	for _, text := range []string{
		`set hour = 5..7`, `set T = {"a", "b"}`, `data split: text[hour] = ["train", "7", "train"]`,
		`upper { var x: real in box(0, 1); minimize x + sum(y) }`,
		"lower {\nvar y: [hour]\nvar z: [T]\nminimize sumsq(y - x) + sumsq(z)\nsubject to\nodd: forall k in hour if k > 5: y[k] <= k\ncap: forall t in T if t != \"a\": z[t] <= 4\n}",
		"report { twice = 2 * x }",
	} {
		if _, err := s.Enter("test", text); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]string{"split": `[5]  "train" [6]  "7" [7]  "train"`, "split[6]": `"7"`, "T": `[1]  "a" [2]  "b"`, "hour": "[1]  5 [2]  6 [3]  7"} {
		reply, err := s.Enter("test", text)
		if err != nil || strings.Join(reply.Texts, " ") != want {
			t.Errorf("%s is %v (%v), not %s", text, reply, err, want)
		}
	}
	if _, _, err := s.Solve(context.Background(), runtime.BindOptions{}, runtime.Options{}); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]float64{
		"residual(odd)": {-6, -7}, "residual(odd)[6]": {-6}, "residual(odd)[7] + 1": {-6}, `residual(cap)["b"]`: {-4}, "sum(residual(odd))": {-13}, "max(residual(cap))": {-4},
	} {
		reply, err := s.Enter("test", text)
		switch {
		case err != nil || !slices.Equal(reply.Value.Data, want):
			t.Errorf("%s is %v (%v), not %v", text, reply, err, want)
		case text == "residual(odd)" && reply.Value.Axes[0].Text(1) != "7":
			t.Errorf("%s goes by %v", text, reply.Value.Axes)
		}
	}
	for _, bad := range []string{"residual(odd)[5]", `residual(cap)["a"]`, "residual(cap)[1]", "card(twice)", `card(T["c"])`} {
		if reply, err := s.Enter("test", bad); err == nil {
			t.Errorf("%s is %v", bad, reply)
		}
	}
}
