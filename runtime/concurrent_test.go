package runtime_test

import (
	"context"
	"encoding/json"
	"os"
	"sync"
	"testing"

	"bilevelc/runtime"
)

// Models are compiled, bound and solved at the same time, from the first one on, and
// give what each gives alone. With -race this finds state that is shared and not
// guarded; without, what crashes.
func TestConcurrentModels(t *testing.T) {
	var texts []string
	for _, name := range []string{"toll/toll.blv", "quota/quota.blv", "shop/shop.blv", "bard1988/bard1988.blv"} {
		text, err := os.ReadFile("../examples/" + name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	const rounds = 3
	found := make([]float64, rounds*len(texts))
	var wait sync.WaitGroup
	for i := range found {
		wait.Go(func() {
			model, err := runtime.Compile("m.blv", texts[i%len(texts)])
			if err != nil {
				t.Error(err)
				return
			}
			p, err := model.Bind(nil, runtime.BindOptions{Seed: 1})
			if err != nil {
				t.Error(err)
				return
			}
			r, err := p.Solve(context.Background(), runtime.Options{Seed: 1, Starts: 2, Threads: 2})
			if err != nil {
				t.Error(err)
				return
			}
			found[i] = float64(r.Upper.Objective)
		})
	}
	wait.Wait()
	for i, f := range found {
		if f != found[i%len(texts)] {
			t.Errorf("model %d gives %v and %v", i%len(texts), found[i%len(texts)], f)
		}
	}
}

// One problem is evaluated, solved and verified by many goroutines at a time, each of
// which gives what it gives alone, to the last bit.
func TestSharedProblem(t *testing.T) {
	for _, name := range []string{"toll/toll.blv", "market/market.blv", "lineartoll/lineartoll.blv", "revenue/revenue.blv", "auction/auction.blv"} {
		p := bindFile(t, "../examples/"+name)
		ctx := context.Background()
		seal := func(r *runtime.Result, err error) string {
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return ""
			}
			text, err := json.Marshal(r)
			var doc struct{ Seal string }
			if err == nil {
				err = json.Unmarshal(text, &doc)
			}
			if err != nil || doc.Seal == "" {
				t.Errorf("%s: %v", name, err)
			}
			return doc.Seal
		}
		at := runtime.Values{}
		for _, v := range p.IR.Upper.Vars {
			value := runtime.Value{Name: v.Name, Data: make([]float64, v.Shape.Len())}
			if v.Shape.Rank > 0 {
				value.Shape = []int{v.Shape.Rows}
			}
			for k := range value.Data {
				value.Data[k] = 1
			}
			at = append(at, value)
		}
		calls := []func() string{
			func() string { return seal(p.Solve(ctx, runtime.Options{Seed: 1, MaxIter: 3})) },
			func() string { return seal(p.Eval(ctx, at, runtime.Options{})) },
			func() string { return seal(p.Solve(ctx, runtime.Options{Seed: 2, Starts: 2, Threads: 2, MaxIter: 2})) },
			func() string {
				r, err := p.Eval(ctx, at, runtime.Options{})
				if err != nil || !r.HasPoint() {
					return ""
				}
				report, err := p.Verify(r)
				if err != nil || !report.OK() {
					t.Errorf("%s: %v", name, err)
				}
				return ""
			},
		}
		alone := make([]string, len(calls))
		for k, call := range calls {
			alone[k] = call()
		}
		const rounds = 3
		var wait sync.WaitGroup
		for i := range rounds * len(calls) {
			wait.Go(func() {
				if got := calls[i%len(calls)](); got != alone[i%len(calls)] {
					t.Errorf("%s: call %d gives another document beside others", name, i%len(calls))
				}
			})
		}
		wait.Wait()
	}
}
