package bind_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"bilevelc/ir/bind"
	"bilevelc/ir/check"
	"bilevelc/lang/diag"
	"bilevelc/parser"
)

// patience is a context that ends when it has been asked a number of times.
type patience struct {
	context.Context
	asked, most int
}

var errEnough = errors.New("enough")

func (p *patience) Err() error {
	if p.asked++; p.asked > p.most {
		return errEnough
	}
	return nil
}

// Checking and binding ask now and then whether they are to go on, in proportion to
// what they make, and end at once where they are not.
func TestBindingEnds(t *testing.T) {
	const head = "model m\nparam n: int = 2000\nupper {\n  var x: vector[2] in box(0, 1)\n  minimize sumsq(x) + sum(y)\n}\nlower {\n  var y: vector[n] in nonneg\n  minimize 0.5 * sumsq(y) - x[1] * sum(y)\n"
	for name, text := range map[string]string{
		"rows":     head + "  subject to\n    a: forall i in 1..n-1: y[i] - y[i+1] <= x[2]\n}\n",
		"tuples":   head + "  subject to\n    a: forall i in 1..n, j in 1..20 if j > 19: y[i] <= x[2]\n}\n",
		"unrolled": head + "  subject to\n    a: forall t in 1..500: sum(y[1..t]) <= 5\n}\n",
		"values":   head + "}\nlet a0 = 1\n" + chain(3000),
	} {
		file, diags := parser.ParseFile(diag.NewSource(name, text))
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		p, diags := check.Check(file)
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		whole := &patience{Context: context.Background(), most: 1 << 30}
		prob, diags, err := bind.BindContext(whole, p, nil, bind.Options{})
		if err != nil || prob == nil {
			t.Fatalf("%s: %v %v", name, err, diags.Err())
		}
		if whole.asked < 8 {
			t.Errorf("%s: asked %d times", name, whole.asked)
		}
		after := whole.asked
		if _, err := prob.Graph.Value(prob.Graph.Number(2)); err != nil || whole.asked != after {
			t.Errorf("%s: the problem still asks the context of its binding (%v)", name, err)
		}
		for _, most := range []int{0, 1, whole.asked / 2, whole.asked - 1} {
			part := &patience{Context: context.Background(), most: most}
			prob, diags, err := bind.BindContext(part, p, nil, bind.Options{})
			if prob != nil || diags != nil || err == nil || part.asked > most+2 {
				t.Errorf("%s: ended after %d questions, asked %d times (%v)", name, most, part.asked, err)
			}
		}
		checking := &patience{Context: context.Background()}
		if p, _, err := check.CheckContext(checking, file); p != nil || err == nil || checking.asked > 2 {
			t.Errorf("%s: checked after the end (%v)", name, err)
		}
	}
}

// chain is n lets, each of which reads the one before.
func chain(n int) string {
	var text []byte
	for i := 1; i <= n; i++ {
		text = fmt.Appendf(text, "let a%d = a%d + 1\n", i, i-1)
	}
	return string(text)
}
