package outer

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"

	"bilevelc/runtime/oracle"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/status"
)

// MultiStart is a run from several starts.
type MultiStart struct {
	Starts  int // 1 is the given start alone
	Threads int // starts that run at once; results do not depend on it
	Seed    uint64
	// New makes an independent hyperobjective and method for one start.
	New func() (oracle.Hyperobjective, Method, error)
	// Set bounds the sampled starts where it does; nil for no bounds.
	Set *problem.Set
	// Name is the method's; Options apply to each start, its Start being the
	// first, and its Limits to each. Start k has the seed of its own.
	Name    string
	Options Options
	// Observer, where not nil, gives each start an observer; it is called in
	// the order of starts, the observers concurrently.
	Observer func(start int) Observer
}

// StartResult is one start with its result, or the error that kept it from
// running.
type StartResult struct {
	Start  []float64
	Result *Result
}

// Solve runs every start and returns the results in their order, and the index
// of the best: the least F, of those that tie with it to rounding the first that is
// Solved, and -1 where no start gave a point. A context that ends interrupts the
// starts that run; the others are skipped and their Result is nil.
func (m *MultiStart) Solve(ctx context.Context) (results []StartResult, best int, err error) {
	n := max(1, m.Starts)
	results = make([]StartResult, n)
	starts := m.starts(n)
	observers := make([]Observer, n)
	for k := range observers {
		observers[k] = m.Options.Observer
		if m.Observer != nil {
			observers[k] = m.Observer(k)
		}
	}
	errs := make([]error, n)
	next := make(chan int)
	var wait sync.WaitGroup
	for range min(max(1, m.Threads), n) {
		wait.Go(func() {
			for k := range next {
				results[k].Start = starts[k]
				if ctx.Err() != nil && k > 0 {
					continue
				}
				opts := m.Options
				opts.Start, opts.Observer = starts[k], observers[k]
				// Seeds of different starts have nothing in common.
				opts.Seed = rand.NewPCG(m.Seed, uint64(k)).Uint64()
				if k == 0 {
					opts.Seed = m.Seed
				}
				h, method, err := m.New()
				if err == nil {
					results[k].Result, err = Solve(ctx, h, m.Name, method, opts)
				}
				errs[k] = err
			}
		})
	}
	for k := range n {
		next <- k
	}
	close(next)
	wait.Wait()
	for k := range results {
		if errs[k] != nil {
			return results, -1, errs[k]
		}
	}
	return results, bestOf(results), nil
}

// bestOf is the index that Solve returns.
func bestOf(results []StartResult) int {
	best := -1
	for k, r := range results {
		if r.Result == nil || r.Result.Best == nil {
			continue
		}
		if best < 0 || r.Result.Best.F < results[best].Result.Best.F {
			best = k
		}
	}
	if best < 0 || results[best].Result.Status == status.Solved {
		return best
	}
	least := results[best].Result.Best.F
	for k, r := range results {
		if r.Result != nil && r.Result.Best != nil && r.Result.Status == status.Solved && r.Result.Best.F <= least+10*noise(least) {
			return k
		}
	}
	return best
}

// starts are the given start and points sampled around it: uniform in a bounded
// interval; where one side is free, at a distance from the other (or the start)
// whose scale runs through powers of ten from 1 to 100 over the starts. Solve
// projects them onto X and D.
func (m *MultiStart) starts(n int) [][]float64 {
	out := make([][]float64, n)
	first := m.Options.Start
	out[0] = first
	rng := rand.New(rand.NewPCG(m.Seed, stream+1))
	for k := 1; k < n; k++ {
		x := make([]float64, len(first))
		scale := math.Pow(10, float64((k-1)%3))
		for j, center := range first {
			lo, hi := math.Inf(-1), math.Inf(1)
			if m.Set != nil && m.Set.Lo != nil {
				lo, hi = m.Set.Lo[j], m.Set.Hi[j]
			}
			u := rng.Float64()
			switch {
			case !math.IsInf(lo, -1) && !math.IsInf(hi, 1):
				x[j] = lo + u*(hi-lo)
			case !math.IsInf(lo, -1):
				x[j] = lo + u*2*scale*(1+math.Abs(center-lo))
			case !math.IsInf(hi, 1):
				x[j] = hi - u*2*scale*(1+math.Abs(hi-center))
			default:
				x[j] = center + (2*u-1)*scale*(1+math.Abs(center))
			}
		}
		out[k] = x
	}
	return out
}
