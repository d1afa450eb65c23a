package runtime_test

import (
	"context"
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
