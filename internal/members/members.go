// Package members chooses the random members of a family that a test asks about. A plain run
// asks about a few that no run before it has seen; the environment variable BILEVELC_MEMBERS
// chooses others:
//
//	BILEVELC_MEMBERS=full go test -timeout 90m ./...          # the full counts, of the seeds 0, 1, ...
//	BILEVELC_MEMBERS=31415 go test ./runtime -run TestKinks   # those of an earlier run, which printed the number
package members

import (
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"bilevelc/internal/each"
)

const (
	variable = "BILEVELC_MEMBERS"
	// Few is how many members of a family a plain run asks about.
	Few = 20
)

// choice is the run's: all members, or those from a first seed on.
type choice struct {
	full  bool
	first uint64
	err   error
}

var chosen = sync.OnceValue(func() choice { return parse(os.Getenv(variable)) })

func parse(text string) (c choice) {
	switch text {
	case "":
		c.first = rand.Uint64N(1e9) // nine digits, which can be typed
	case "full":
		c.full = true
	default:
		c.first, c.err = strconv.ParseUint(text, 10, 64)
	}
	return c
}

// of is the run's choice, which it prints, so that a failure tells how to repeat it.
func of(t testing.TB) choice {
	t.Helper()
	c := chosen()
	switch {
	case c.err != nil:
		t.Fatalf("%s is full or a number: %v", variable, c.err)
	case !c.full:
		t.Logf("again: %s=%d go test -run '^%s$'", variable, c.first, t.Name())
	}
	return c
}

// Full reports whether the run is one of the full counts.
func Full() bool { return chosen().full }

// Count is the number of members that this run asks about, of a family whose full count is full.
func Count(full int) int { return Of(Few, full) }

// Of is the number of members that a test asks about whose members take so little, or so much, that a
// plain run asks about another number than Few.
func Of(few, full int) int {
	if Full() {
		return full
	}
	return min(full, few)
}

// Seeds are those of Count(full) members: 0, 1, ... in a full run, else consecutive ones from a new first.
func Seeds(t testing.TB, full int) iter.Seq[uint64] {
	t.Helper()
	return SeedsOf(t, Few, full)
}

// SeedsOf are those of Of(few, full) members.
func SeedsOf(t testing.TB, few, full int) iter.Seq[uint64] {
	t.Helper()
	first := of(t).first
	return func(yield func(uint64) bool) {
		for k := range uint64(Of(few, full)) {
			if !yield(first + k) {
				return
			}
		}
	}
}

// SeedsUntil are Seeds(full), and in a plain run as many more, up to the full count, as it takes until
// enough reports that the members so far have shown what the test is about.
func SeedsUntil(t testing.TB, full int, enough func() bool) iter.Seq[uint64] {
	t.Helper()
	first := of(t).first
	return func(yield func(uint64) bool) {
		for k := range full {
			if k >= Count(full) && enough() || !yield(first+uint64(k)) {
				return
			}
		}
	}
}

// Some are all elements of a list in a full run, else a random choice of n of them, in their order.
func Some[E any](t testing.TB, list []E, n int) []E {
	t.Helper()
	c := of(t)
	if c.full || n >= len(list) {
		return list
	}
	places := rand.New(rand.NewPCG(c.first, 0)).Perm(len(list))[:n]
	slices.Sort(places)
	out := make([]E, n)
	for i, p := range places {
		out[i] = list[p]
	}
	return out
}

// Misses is how many of n members may miss what at most a share of the family misses: that share
// of them in a full run, whose members are always the same; else the least count that n new members
// exceed by chance less than once in 10,000 runs.
func Misses(n int, share float64) int {
	if Full() {
		return int(share * float64(n))
	}
	// Sum of the binomial distribution, from no miss on.
	p := math.Pow(1-share, float64(n))
	sum, m := p, 0
	for 1-sum >= 1e-4 && m < n {
		p *= float64(n-m) / float64(m+1) * share / (1 - share)
		sum += p
		m++
	}
	return m
}

// Least is how many of n members must show what at least a share of the family shows (see Misses).
func Least(n int, share float64) int { return n - Misses(n, 1-share) }

// Part is how often a run must meet what a full run of so many members meets needed times, so that its
// assertions say something: in a plain run half of what its members' share is, for it is random.
func Part(needed, full int) int {
	if Full() {
		return needed
	}
	return needed * Count(full) / (2 * full)
}

// Rand is the source of what a test draws besides members, of a stream of its own.
func Rand(t testing.TB, stream uint64) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(of(t).first, stream))
}

// Known are seeds of members that a full run has asked about, which is those below full: Count(full) of
// them, others each time. They are for claims of what is reached, of which new members may be exceptions.
func Known(t testing.TB, full int) iter.Seq[uint64] {
	t.Helper()
	return slices.Values(Some(t, each.Below(full, func(k int) uint64 { return uint64(k) }), Few))
}
