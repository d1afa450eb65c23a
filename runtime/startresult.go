package runtime

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"bilevelc/runtime/outer"
	"bilevelc/runtime/status"
	"bilevelc/runtime/tolerance"
)

// describeStarts says how each start ended and what that is worth: how many failed
// and why, how the values of the others differ, whether the first one was moved.
func (p *Problem) describeStarts(r *Result, runs *startRuns, start []float64, given bool, k *coupling) {
	if first := runs.Runs[0].Result; first != nil && given {
		if note := p.moved(start, first.Start); note != "" {
			r.Notes = append(r.Notes, note)
		}
	}
	_, sign := sense(&p.IR.Upper)
	if len(runs.Runs) == 1 {
		return
	}
	for _, each := range runs.Runs {
		s := StartResult{Objective: Number(math.NaN()), Status: Interrupted, Reason: "not begun"}
		if each.Result != nil {
			s.Status, s.Reason = each.Result.Status, each.Result.Reason
			if s.Status == Unbounded { // no start has a ray that shows it
				s.Status = NumericalFailure
			}
			if each.Result.Best != nil {
				s.Objective = Number(sign * (each.Result.Best.F - each.Result.Best.Penalty))
				s.Penalty = Number(each.Result.Best.Penalty)
				if k != nil && each.Result.Best.Penalty > k.allowed() {
					s.Objective, s.Status, s.Reason = Number(math.NaN()), NumericalFailure, "the upper constraints do not hold where it ended"
				}
			}
		}
		r.Starts = append(r.Starts, s)
	}
	r.Notes = append(r.Notes, startNotes(r.Starts, sign)...)
}

// moved says where a start that was given lies outside X, or leaves the lower level
// without a feasible y, and where the run began instead; "" where it does not.
func (p *Problem) moved(from, to []float64) string {
	if len(to) != len(from) {
		return "" // the run never began
	}
	// A projection leaves a point of the set where it is, up to a few roundings.
	count, entry := 0, ""
	for j, a := range from {
		b := to[j]
		if math.Abs(a-b) <= tolerance.SumRounding*(math.Abs(a)+math.Abs(b)) {
			continue
		}
		if count++; count == 1 {
			entry = fmt.Sprintf("%s from %s to %s", p.IR.Upper.EntryName(j), Number(a).Text(), Number(b).Text())
		}
	}
	switch count {
	case 0:
		return ""
	case 1:
		return "the start is not feasible, or F is not defined there, and was moved: " + entry
	}
	return fmt.Sprintf("the start is not feasible, or F is not defined there, and was moved in %d entries: %s, ...", count, entry)
}

// OfStarts is the result as the best of starts that were runs of their own, to be shown: with
// how they ended and what they show together. It is no document: its seal is the one run's.
func (r *Result) OfStarts(starts []StartResult) *Result {
	out := *r
	out.Starts = starts
	out.Notes = append(slices.Clone(r.Notes), startNotes(starts, r.sign())...)
	return &out
}

// startNotes are what the starts show together. F is in the user's sense.
func startNotes(starts []StartResult, sign float64) []string {
	var notes []string
	ends := map[status.Status]int{}
	why := map[status.Status]map[string]int{}
	var values []float64
	for _, s := range starts {
		ends[s.Status]++
		if why[s.Status] == nil {
			why[s.Status] = map[string]int{}
		}
		why[s.Status][s.Reason]++
		if s.Status == Solved || s.Status == BudgetSpent {
			values = append(values, sign*float64(s.Objective))
		}
	}
	var failed []string
	for _, s := range status.All() {
		if s != Solved && s != BudgetSpent && ends[s] > 0 {
			failed = append(failed, fmt.Sprintf("%d %s (%s)", ends[s], s, mostCommon(why[s])))
		}
	}
	if n := len(starts) - len(values); n > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d starts did not come to a solution: %s", n, len(starts), strings.Join(failed, ", ")))
	}
	if len(values) > 1 {
		slices.Sort(values)
		best, worst := values[0], values[len(values)-1]
		at, different := 0, 0
		for i, v := range values {
			if v-best <= tolerance.Target*math.Max(math.Abs(v), math.Abs(best)) {
				at++
			}
			if i == 0 || v-values[i-1] > tolerance.Target*math.Max(math.Abs(v), math.Abs(values[i-1])) {
				different++
			}
		}
		what := fmt.Sprintf("%d starts", len(values))
		if len(values) < len(starts) {
			what = fmt.Sprintf("the %d starts that did", len(values))
		}
		note := fmt.Sprintf("%s ended at one value of F, %s", what, Number(sign*best).Text())
		if different > 1 {
			note = fmt.Sprintf("%s ended at %d values of F, from %s to %s, %d of them at the best", what, different, Number(sign*best).Text(), Number(sign*worst).Text(), at)
		}
		switch all := math.Round(outer.Expected(len(values), different)); {
		case all == 1:
			note += fmt.Sprintf("; if they are random draws of all starts, another value that %.0f %% of starts lead to would have been met with a probability of 95 %%", 100*outer.Missed(len(values)))
		case !math.IsNaN(all):
			note += fmt.Sprintf("; if they are random draws of all starts, about %.0f values are to be expected in all, and with a probability of 95 %% no more than %d", all, outer.AtMost(len(values), different))
		case different > 1:
			note += "; nearly each ended at another one, so that further ones are likely"
		}
		notes = append(notes, note)
	}
	return notes
}

// mostCommon is the reason given most often, the first by name of several.
func mostCommon(reasons map[string]int) string {
	most := ""
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		if most == "" || reasons[why] > reasons[most] {
			most = why
		}
	}
	if len(reasons) > 1 {
		return fmt.Sprintf("%d: %s; ...", reasons[most], most)
	}
	return most
}
