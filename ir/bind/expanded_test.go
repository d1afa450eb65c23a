package bind

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"bilevelc/lang/diag"
)

// TestExpandedTerms: functions that call each other, sums within sums and sums over
// many indices are refused exactly where they expand to more than the limit, counted
// here by the recursion of their sizes, in memory for what the limit allows.
func TestExpandedTerms(t *testing.T) {
	const (
		steps  = 1 << 19
		tuples = 1 << 22
	)
	rng := rand.New(rand.NewPCG(33, 10))
	refused, taken := 0, 0
	for trial := range 30 {
		var pre strings.Builder
		expression, size, limit := "x", 1.0, 0.0
		if trial%3 == 0 {
			limit = steps
			fmt.Fprintln(&pre, "fn f0(u) = u * u")
			size = 3 // expressions of the body
			for k := range 4 + rng.IntN(20) {
				k++ // f0 is there
				calls := 1 + rng.IntN(3)
				terms := make([]string, calls)
				for c := range terms {
					terms[c] = fmt.Sprintf("f%d(u + %d)", k-1, c)
				}
				fmt.Fprintf(&pre, "fn f%d(u) = %s\n", k, strings.Join(terms, " + "))
				size = float64(calls)*(size+1+3) + float64(calls-1) // the call, u, the number, their sum; the sums of the calls
				expression = fmt.Sprintf("f%d(x)", k)
			}
		} else {
			limit = tuples
			depth, all := 6+rng.IntN(18), 1.0
			size = 0
			between, open := ": sum(", depth
			if trial%3 == 2 {
				between, open = ", ", 1
			}
			var binders []string
			for k := range depth {
				n := 1 + rng.IntN(4)
				all *= float64(n)
				size += all
				binders = append(binders, fmt.Sprintf("i%d in 1..%d", k, n))
			}
			expression = "sum(" + strings.Join(binders, between) + ": x" + strings.Repeat(")", open)
		}
		text := fmt.Sprintf("model m\n%supper {\n var x: real in box(0, 1)\n minimize %s\n}\nlower {\n var y: real\n minimize (y - x)^2\n}\n",
			pre.String(), expression)
		p := compile(t, "m.blv", text)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, errs := Bind(p, nil, Options{Abstract: true})
		runtime.ReadMemStats(&after)
		if mb := float64(after.TotalAlloc-before.TotalAlloc) / 1e6; mb > 200 && errs.HasErrors() {
			t.Errorf("%.0f MB allocated in all for a model that is refused\n%s", mb, text)
		}
		switch beyond := errs.HasErrors(); {
		case beyond && (errs[0].Code != diag.BindTooLarge || errs[0].Subject.IsZero()):
			t.Errorf("%v\n%s", errs, text)
		case size > limit+20 && !beyond: // what the rest of the model has
			t.Errorf("%v expressions or tuples, and no error\n%s", size, text)
		case size < limit-40 && beyond:
			t.Errorf("%v expressions or tuples, and %v\n%s", size, errs, text)
		case beyond:
			refused++
		default:
			taken++
		}
	}
	if refused < 5 || taken < 5 {
		t.Errorf("%d refused, %d taken: this decides little", refused, taken)
	}
}
