package main

import (
	"flag"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"bilevelc/internal/members"
	"bilevelc/runtime"
	"bilevelc/runtime/outer"
)

// early is how many programs TestEndedEarly asks about in full:
//
//	BILEVELC_MEMBERS=full go test ./bench/campaign -run TestEndedEarly -early 4000 -timeout 60m
var early = flag.Int("early", 300, "programs of TestEndedEarly, in full")

// limits are those of a seed's run, which end it early: of time or iterations, the method's own too.
func limits(seed uint64, opts runtime.Options) runtime.Options {
	rng := rand.New(rand.NewPCG(seed, 5))
	opts.TimeLimit = timeLimit
	opts.Method, opts.Oracle, opts.Solver, opts.MaxIter = "", "", "", 0
	switch methods := outer.All(); rng.IntN(4) {
	case 0:
		opts.TimeLimit = time.Duration(rng.ExpFloat64() * float64(3*time.Millisecond))
	case 1:
		opts.MaxIter = 1 + rng.IntN(5)
	case 2:
		opts.MaxIter, opts.Method = 1+rng.IntN(5), methods[rng.IntN(len(methods))].Name
	default:
		opts.MaxIter = 6 + rng.IntN(30)
	}
	if rng.IntN(4) == 0 {
		opts.Starts = 2 + rng.IntN(3)
	}
	return opts
}

// TestEndedEarly asks about programs of which a limit ends the run early: what a document says
// then holds, and verify finds it so.
func TestEndedEarly(t *testing.T) {
	t.Parallel()
	ended, count := 0, members.Count(*early)
	ask := func(seed uint64, limited func(uint64, runtime.Options) runtime.Options) {
		qs := questions(seed)
		q := qs[len(qs)-1]
		r := &report{Seed: seed, Family: q.family}
		r.examined(question{q.system, limited(seed, q.opts)}, nil)
		for _, f := range r.Findings {
			if !f.Soft {
				t.Errorf("seed %d (%s): %s: %s\n%s", seed, r.Family, f.Kind, f.Detail, r.Small)
			}
		}
		for _, o := range r.Outcomes {
			if strings.HasSuffix(o, runtime.LimitReached.String()) || strings.HasSuffix(o, runtime.BudgetSpent.String()) {
				ended++
			}
		}
	}
	for seed := range members.Seeds(t, *early) {
		ask(100000+seed, limits)
	}
	// Where x is free and y goes to the edge of an entropy, 1e-292 and less.
	for _, most := range []int{5, 11, 15} {
		ask(13013404, func(_ uint64, opts runtime.Options) runtime.Options {
			opts.MaxIter = most
			return opts
		})
	}
	t.Logf("a limit ended %d of %d", ended, count)
	if count-ended > members.Misses(count, 2./3) {
		t.Errorf("a limit ended %d of %d", ended, count)
	}
}
