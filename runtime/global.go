package runtime

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"bilevelc/runtime/system"
	"bilevelc/runtime/tolerance"
)

// Search says how long the global optimum is searched for.
type Search = system.Search

// The three ways (package system says what each means).
const (
	SearchBudget = system.SearchBudget
	SearchNone   = system.SearchNone
	SearchFully  = system.SearchFully
)

// searches are the names of the three ways.
var searches = [...]string{SearchBudget: "budget", SearchNone: "local", SearchFully: "global"}

// ParseSearch is the way of a name; "" is the first one.
func ParseSearch(name string) (Search, error) {
	if name == "" {
		return SearchBudget, nil
	}
	if k := slices.Index(searches[:], name); k >= 0 {
		return Search(k), nil
	}
	return SearchBudget, &UsageError{Err: fmt.Errorf("a search is %s, not %q", strings.Join(searches[:], ", "), name)}
}

// keepBound gives a result with a point the bound that a run on the KKT system of the same problem has found, whose own point was refused; nil for none.
func (p *Problem) keepBound(r, of *Result) {
	if of == nil || of.Global == nil || of.tree == nil || !r.HasPoint() || r.Status == Unbounded || r.Global != nil {
		return
	}
	g, t, sign := *of.Global, *of.tree, r.sign()
	f := sign * float64(r.Upper.Objective)
	if t.Says.Bound > f { // the point refutes it: its curvatures are too far apart for the search
		return
	}
	bound, gap := t.Beside(f)
	g.Bound, g.Gap = Number(sign*bound), Number(gap)
	g.Proved, g.Why = false, cmp.Or(g.Why, fmt.Sprintf("the search's best point is none: %s", of.Reason))
	r.Global, r.tree, r.Phases.Bound = &g, &t, of.Phases.Bound
}

// noBound says of a result with a point that nothing is known of the global optimum, and why: the search takes the KKT system of linear rows and pairs only.
func (p *Problem) noBound(r *Result, opts Options, why string) {
	if r.Global != nil || opts.Search == SearchNone || opts.FirstStart > 0 || !r.HasPoint() || r.Status == Unbounded {
		return
	}
	_, sign := sense(&p.IR.Upper)
	if chosen, err := p.resolve(opts); err == nil {
		opts.Gap = chosen.Gap
	}
	r.Global = &Global{Bound: Number(math.Inf(-int(sign))), Gap: Number(math.Inf(1)), Within: Number(cmp.Or(opts.Gap, tolerance.Target)), Why: why}
}
