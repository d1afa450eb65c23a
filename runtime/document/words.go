package document

import (
	"fmt"
	"math"
	"strings"

	"bilevelc/runtime/status"
)

// Words says what "solved", "proved", "biactive", "tie" and "safe point" mean for this
// result, a sentence each, with the section of the documentation.
func (r *Result) Words() []string {
	f := r.Upper.Objective.Text()
	return []string{
		r.solvedWords(f) + " (docs/results.md#what-solved-means-and-does-not)",
		r.provedWords(f) + " (docs/results.md#proved)",
		r.biactiveWords() + " (docs/results.md#biactive)",
		r.tieWords(f) + " (docs/results.md#ties)",
		r.safeWords() + " (docs/results.md#safe-point)",
	}
}

func (r *Result) solvedWords(f string) string {
	better := "lowers"
	if r.Upper.Sense == "maximize" {
		better = "raises"
	}
	switch {
	case !r.HasPoint():
		return fmt.Sprintf("Solved: no; the run ended as %s and has no point.", r.Status)
	case r.Method == "":
		return "Solved: nothing was; F = " + f + " is an evaluation at the x that was given."
	case r.Status != status.Solved:
		return fmt.Sprintf("Solved: no; the run ended as %s, and F = %s is the best that it found.", r.Status, f)
	}
	within := ""
	if r.Stationarity.Delta > 0 {
		within = fmt.Sprintf(" seen over the points within %s of it", r.Stationarity.Delta.Brief())
	}
	return fmt.Sprintf("Solved: at this x, where F = %s, no small move %s F to first order (the measure%s is %s), which says nothing of x far away.",
		f, better, within, r.Stationarity.Value.Brief())
}

func (r *Result) provedWords(f string) string {
	better := "lower"
	if r.Upper.Sense == "maximize" {
		better = "higher"
	}
	g := r.Global
	switch {
	case g == nil:
		return "Proved: no; nobody has looked for a bound on F over all x, so F may be " + better + " elsewhere."
	case g.Proved:
		return fmt.Sprintf("Proved: yes; no x that the constraints allow has F %s than %s, which is within %s of %s, relative to it, after %d nodes.",
			better, g.Bound.Text(), g.Gap.Brief(), f, g.Nodes)
	}
	why := ""
	if g.Why != "" {
		why = " because " + strings.TrimSuffix(g.Why, ".")
	}
	if b := float64(g.Bound); math.IsInf(b, 0) || math.IsNaN(b) {
		return fmt.Sprintf("Proved: no%s; after %d nodes there is no bound on F.", why, g.Nodes)
	}
	return fmt.Sprintf("Proved: no%s; after %d nodes no x has F %s than %s, so that a gap of %s remains, relative to F.",
		why, g.Nodes, better, g.Bound.Text(), g.Gap.Brief())
}

func (r *Result) biactiveWords() string {
	n := len(r.Lower.Weak)
	if !r.HasPoint() {
		return "Biactive: there is no point at which rows could be."
	}
	if n == 0 {
		return "Biactive: no row of the follower has both slack and multiplier 0, so that F is smooth at this x where its objectives are."
	}
	rows := (&textReport{r: r}).names(r.Lower.Weak)
	if n == 1 {
		return "Biactive: the row " + rows + " holds with multiplier 0, so that two branches of F meet at this x, which may be a kink."
	}
	return fmt.Sprintf("Biactive: %d rows hold with multiplier 0 (%s), so that branches of F meet at this x, which may be a kink.", n, rows)
}

func (r *Result) tieWords(f string) string {
	t := r.Lower.Ties
	switch {
	case !r.HasPoint():
		return "Tie: there is no answer of the follower."
	case t == nil:
		return "Tie: no; the follower's objective is taken to curve in all of its variables, so that it has one answer to each x."
	case t.Unique && t.UniqueMultipliers != nil:
		return "Tie: no; the follower has one answer at this x, and the multipliers that the upper level reads take one value."
	case t.Unique:
		return "Tie: no; the follower may have several answers that are as good for it, but has one at this x."
	}
	ends := ""
	value := func(v Number) string {
		if math.IsNaN(float64(v)) {
			return ""
		}
		return v.Text()
	}
	best, worst := value(t.Optimistic), value(t.Pessimistic)
	switch {
	case t.indifferent():
		ends = fmt.Sprintf(", with all of which F is %s", worst)
	case best != "" && worst != "":
		ends = fmt.Sprintf(", with which F goes from %s to %s", best, worst)
	case worst != "":
		ends = fmt.Sprintf(", with the worst of which F is %s", worst)
	}
	picked, one := fmt.Sprintf("those that the rule (%s) picks", t.Rule), fmt.Sprintf("the one that its rule (%s) picks", t.Rule)
	if !t.Decided() {
		picked = fmt.Sprintf("some of them, which need not be those that the rule (%s) picks", t.Rule)
		one = fmt.Sprintf("one of them, which need not be the one that its rule (%s) picks", t.Rule)
	}
	if t.UniqueMultipliers != nil && !*t.UniqueMultipliers {
		what := "the multipliers that the upper level reads are not unique at this x"
		if t.UniqueAnswer != nil && !*t.UniqueAnswer {
			what = "the follower has other answers at this x that are as good for it, and multipliers that the upper level reads are not unique"
		}
		return fmt.Sprintf("Tie: yes; %s%s, and F = %s takes %s.", what, ends, f, picked)
	}
	return fmt.Sprintf("Tie: yes; the follower has other answers at this x that are as good for it%s, and F = %s takes %s.", ends, f, one)
}

func (r *Result) safeWords() string {
	if r.Lower.Ties == nil || r.Lower.Ties.Unique {
		return "Safe point: this one is, as the follower has one answer here."
	}
	s := r.Lower.Ties.Safe
	switch {
	case s == nil && r.Lower.Ties.indifferent():
		return "Safe point: none is needed, as F is the same with the best and the worst of the follower's answers at this x."
	case s == nil:
		return "Safe point: none was found near by at which the follower has one answer, so that F is not safe from its choice."
	}
	return fmt.Sprintf("Safe point: moving x by %s at most leaves the follower one answer, and F is then %s whatever it prefers.",
		s.Distance.Brief(), s.Objective.Text())
}

// indifferent reports that F is the same, as it is shown, with the answers that are best and worst for the leader.
func (t *Ties) indifferent() bool {
	return !math.IsNaN(float64(t.Optimistic)) && t.Optimistic.Text() == t.Pessimistic.Text()
}
