package runtime_test

import (
	"context"
	"strings"
	"testing"

	"bilevelc/runtime"
)

// TestCheckSaysWhatRunsFind holds that a check says of the method on the KKT system what a run that names it finds.
func TestCheckSaysWhatRunsFind(t *testing.T) {
	for f, applies := range map[string]bool{"(y - 1)^2 + 0.1 * x": true, "abs(y - 1) + 0.1 * x": true, "norm2([y - 1; x])": false} {
		for rule, kept := range map[string]bool{"optimistic": true, "least_norm": false} {
			model, err := runtime.Compile("m.blv", "model m\nupper {\n  var x: real in box(0, 4)\n  minimize "+f+"\n}\nlower {\n  var y: real in box(0, 3)\n  minimize (2 - x) * y\n}\nsolve { ties = "+rule+" }\n")
			if err != nil {
				t.Fatal(err)
			}
			checked, err := model.Check(nil, runtime.BindOptions{})
			if err != nil {
				t.Fatal(err)
			}
			problem, err := model.Bind(nil, runtime.BindOptions{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			_, refused := problem.Solve(context.Background(), runtime.Options{Method: runtime.SystemMethod, Seed: 1})
			says := ""
			for line := range strings.Lines(checked.Text(false)) {
				if strings.Contains(line, "method pieces ") {
					says = line
				}
			}
			if want := applies && kept; (refused == nil) != want || strings.Contains(says, "does not apply") == want {
				t.Errorf("%s, %s: a check says %q, a run %v", f, rule, says, refused)
			}
		}
	}
}
