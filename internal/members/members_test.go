package members

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A number chooses the same members again, and two plain runs ask about different ones.
func TestChoice(t *testing.T) {
	if c := parse("31415"); c.full || c.first != 31415 || c.err != nil {
		t.Errorf("a number: %+v", c)
	}
	if c := parse("full"); !c.full || c.first != 0 || c.err != nil {
		t.Errorf("full: %+v", c)
	}
	if c := parse("all"); c.err == nil {
		t.Error("any word passes")
	}
	if a, b, c := parse(""), parse(""), parse(""); a.first == b.first && b.first == c.first { // by chance once in 1e18
		t.Errorf("the same seeds three times: %+v", a)
	}
	want := Count(100)
	if full := Full(); full && want != 100 || !full && want != Few {
		t.Errorf("%d members", want)
	}
	if Count(5) != 5 {
		t.Error("a small family is not whole")
	}
	seeds := slices.Collect(Seeds(t, 100))
	if len(seeds) != want || seeds[len(seeds)-1]-seeds[0] != uint64(want-1) {
		t.Errorf("seeds %v", seeds)
	}
	seen := 0
	for range SeedsUntil(t, 100, func() bool { return seen >= 27 }) {
		seen++
	}
	if seen != max(want, 27) {
		t.Errorf("%d members until there are 27", seen)
	}
	list := make([]int, 50)
	for i := range list {
		list[i] = i
	}
	some := Some(t, list, 7)
	if !slices.IsSorted(some) || len(slices.Compact(slices.Clone(some))) != len(some) || len(some) != 7 && !Full() {
		t.Errorf("some: %v", some)
	}
	if !slices.Equal(some, Some(t, list, 7)) {
		t.Error("a run's choice changes")
	}
}

// The count of misses is the quantile of the binomial distribution, here by drawing from it.
func TestMisses(t *testing.T) {
	if Full() {
		if m := Misses(100, 0.05); m != 5 {
			t.Errorf("%d of 100", m)
		}
		return
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		n     int
		share float64
	}{{20, 0.02}, {20, 0.05}, {40, 0.1}, {20, 0.25}, {5, 0.5}} {
		const draws = 100_000
		above := map[int]int{}
		for range draws {
			misses := 0
			for range c.n {
				if rng.Float64() < c.share {
					misses++
				}
			}
			for m := range misses {
				above[m]++
			}
		}
		m := Misses(c.n, c.share)
		// 1e-4 of the draws are 10, with a standard deviation of 3.2.
		if above[m] > 30 {
			t.Errorf("%d of %d at %g: exceeded %d times of %d", m, c.n, c.share, above[m], draws)
		}
		if m > 0 && above[m-1] == 0 {
			t.Errorf("%d of %d at %g: one less is never exceeded either", m, c.n, c.share)
		}
	}
	if Misses(20, 0) != 0 {
		t.Error("misses of a share of 0")
	}
}
