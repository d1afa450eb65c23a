package runtime_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"bilevelc/runtime"
)

// countedContext ends when it has been asked so many times whether it has.
type countedContext struct {
	context.Context
	left atomic.Int64
	once sync.Once
	done chan struct{}
}

func endsAfter(asked int64) *countedContext {
	c := &countedContext{Context: context.Background(), done: make(chan struct{})}
	c.left.Store(asked)
	return c
}

func (c *countedContext) Done() <-chan struct{} { return c.done }

func (c *countedContext) Err() error {
	if c.left.Add(-1) > 0 {
		return nil
	}
	c.once.Do(func() { close(c.done) })
	return runtime.ErrTimeLimit
}

// TestTiesAtLimits ends runs, by the limit of time, with a follower that is indifferent at every stage, also
// while the follower's other answers are looked for, which comes after the last step: none says
// solved without having found them, and every document passes its verification.
func TestTiesAtLimits(t *testing.T) {
	p := bindText(t, `model indifferent
upper {
  var price: vector[2] in box(0, 3)
  maximize price' * use
}
lower {
  var use: vector[2] in nonneg
  var other: vector[2] in nonneg
  minimize price' * use + [2, 1]' * other
  subject to
    need: use + other == [1, 2]
}
solve { ties = optimistic }
`)
	ends := map[runtime.Status]int{}
	try := func(asked int64) bool {
		r, err := p.Solve(endsAfter(asked), runtime.Options{Seed: 1, Starts: 4})
		if err != nil {
			t.Fatalf("asked %d times: %v", asked, err)
		}
		ends[r.Status]++
		if strings.Contains(r.Reason, "does not pass") {
			t.Errorf("asked %d times: %s", asked, r.Reason)
		}
		if r.HasPoint() {
			report, err := p.Verify(r)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range report.Failures() {
				t.Errorf("asked %d times: %s (%s): %s", asked, r.Status, r.Reason, c.Problem())
			}
		}
		return r.Status == runtime.Solved
	}
	high := int64(1)
	for !try(high) && high < 1<<30 {
		high *= 2
	}
	for asked := high; asked > high/8; asked -= 1 + asked/12 {
		try(asked)
	}
	if ends[runtime.Solved] == 0 || ends[runtime.LimitReached] < 5 {
		t.Errorf("ends: %v", ends)
	}
}
