// Package tree solves mathematical programs with complementarity constraints globally, by branch and bound on their
// pairs (Bard and Moore 1990; Hansen, Jaumard and Savard 1992). A node of the tree fixes one side of some pairs
// at zero, and its relaxation drops the products of the others: a convex quadratic program over a polyhedron, with no
// constant that bounds a multiplier. Integer entries of x are branched on in the same tree.
//
// Input is a kkt.System whose Objective is quadratic: convex, as f or after strong duality, or else split into a convex part and squares along directions, which
// are branched on as well (concave). Output is the best point found, a lower
// bound, and the tree itself, from which WriteProof makes a proof that package certify reads.
//
// A system that falls into parts has a tree for each of them, and bounds and points add up (forest).
//
// A search goes in rounds. A round takes the nodes with the lowest bounds, searches below each depth first for a while, and adds
// what it found in their order. The number of nodes a round takes depends on the tree alone, and
// everything that rounds share is read at their start: results do not depend on the number of threads, and a search that is
// resumed from a State is the one that was not interrupted, bit for bit.
package tree

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"bilevelc/internal/each"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/status"
	"bilevelc/runtime/tolerance"
)

// Options of a search. The zero value searches to tolerance.Target without a limit.
type Options struct {
	Gap float64 // relative to |f| (and to rounding of f where that is more); 0 for tolerance.Target
	// Limits, looked at between rounds; 0 for none.
	Nodes int64 // relaxations of nodes
	Work  int64 // numbers that linear algebra reads or writes, a billion about a second
	First int64 // as much more until there is a point
	More  int64 // as much more where the search ends within it, as far as what it has done tells (forest.ahead)
	Plain bool  // one relaxation is all there is time for: it has no more rows than it needs, and none of its children is tried
	// Incumbents are points to begin with. Only their branches count: the best point of each is found anew.
	Incumbents []*kkt.Point
	// Held, one entry a pair, are sides that the search begins with; nil: all are open. Bounds are then those of the branches that are left, and nothing is decided without branches (path).
	Held []kkt.Fix
	// Threads that search at a time; 0 for one.
	Threads int
	// Observe is called once before the first round and after each; nil for nobody.
	Observe func(Progress)
	// Keep is given the state of the search, made when asked for, at the same times; nil for nobody. It must be done with the state before it returns.
	Keep func(state func() *State)
	// Resume is where an earlier search of the same system with the same Gap stopped; Later says that the incumbents were found since then.
	Resume *State
	Later  bool
}

// Progress of a search.
type Progress struct {
	Nodes, Open int64
	Bound       float64 // -Inf where nothing is known yet
	Incumbent   float64 // +Inf without one
	Gap         float64
	Work        int64
}

// Outcome is how a search ended.
type Outcome uint8

// The outcomes. Only Proved says that the best point is optimal, within the gap.
const (
	Proved Outcome = iota
	Infeasible
	Unbounded
	LimitReached
	Interrupted
	NoBound // the method has no relaxation for f
)

func (o Outcome) String() string {
	return [...]string{"proved", "infeasible", "unbounded", "limit reached", "interrupted", "no bound"}[o]
}

// Result of a search.
type Result struct {
	Outcome Outcome
	Proved  bool
	// Bound is at most the least value of f, up to the accuracy of relaxations (tolerance.Sign); -Inf where nothing is known, +Inf where
	// nothing is feasible.
	Bound float64
	Gap   float64 // (Best.F - Bound) / Scale; +Inf where one of them is not known
	Scale float64 // GapScale of Best.F and its Terms
	// Terms is the sum of the absolute terms of what relaxations minimize at z (model's units), with variables of a unit at least; nil where nothing was begun.
	Terms func(z []float64) float64
	Nodes int64 // relaxations solved for nodes
	Tried int64 // and others: for the choice of branches, and of branches for incumbents
	Work  int64
	Why   string // in words, where nothing is proved
	Best  *kkt.Point
	// Ray is a direction from Best along which f falls without end, where the outcome is Unbounded. Model's units.
	Ray   []float64
	Trace []Progress // nodes, bound and incumbent along the way; the last one is the end
	State *State     // to resume from, and for WriteProof; nil where nothing was begun

	open float64 // what relaxations leave open of Bound
}

// Solve searches for the least value of f over the system.
func Solve(ctx context.Context, sys *kkt.System, opts Options) (*Result, error) {
	nothing := &Result{Bound: math.Inf(-1), Gap: math.Inf(1)}
	if nothing.Why = Applies(sys); nothing.Why != "" {
		nothing.Outcome = NoBound
		return nothing, nil
	}
	parts := sys.Parts()
	for _, p := range parts {
		if n := p.Relaxation.Condensed(); n*n/2 > tolerance.MostNumbers { // where a tableau has to take a basis's place, as beside a curved f
			nothing.Outcome, nothing.Why = LimitReached, fmt.Sprintf("a relaxation has %d unknowns and rows that others join, too many for dense factors", n)
			return nothing, nil
		}
	}
	work := each.Sum(parts, func(p kkt.Part) float64 { return p.Program().Work() }) // of the parts' relaxations, from nothing
	if opts.Work > 0 && work > float64(opts.Work) {
		nothing.Outcome, nothing.Why = LimitReached, "relaxations take more than the budget"
		if len(parts) == 1 {
			nothing.Why = "one relaxation takes more than the budget"
		}
		return nothing, nil
	}
	f, why, err := newForest(ctx, sys, parts, opts)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil && opts.Resume == nil { // ranges that it was to find may be missing: it begins anew
		nothing.Outcome, nothing.Why = Interrupted, ended(ctx)
		return nothing, nil
	}
	if why != "" {
		nothing.Outcome, nothing.Why, nothing.Work = NoBound, why, f.work()
		return nothing, nil
	}
	return f.run(ctx)
}

// ended says what ended a context: a limit, or somebody who interrupted it.
func ended(ctx context.Context) string { return cmp.Or(string(status.LimitOf(ctx)), "interrupted") }

// FactorWork is what a factor of a program with n rows and columns in a dense matrix takes, a pivot each.
func FactorWork(n float64) float64 { return n * n * n / 2 }

// Applies says, in words, why the method has no bound for a system; "" where it has.
func Applies(sys *kkt.System) string {
	switch o := sys.Objective; {
	case !o.Known:
		return "the upper objective is not quadratic"
	}
	for j, whole := range sys.P.Integer {
		if whole && (math.IsInf(sys.P.X.Lo[j], 0) || math.IsInf(sys.P.X.Hi[j], 0)) {
			return fmt.Sprintf("integer entry %d of x has no finite box", j)
		}
	}
	return ""
}
