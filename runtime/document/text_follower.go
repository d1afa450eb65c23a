package document

import (
	"fmt"
	"math"
	"strings"

	"bilevelc/internal/each"
	"bilevelc/lang/diag"
)

// ties says what was done to a follower that is not strongly convex.
func (t *textReport) ties() {
	lines := t.r.TieLines()
	if s := t.r.Lower.Ties; s != nil && s.Safe != nil && len(lines) > 0 {
		x := diag.Join(s.Safe.Variables, ", ", func(v Value) string { return v.Name + " = " + t.list(v.Rounded().Data, func(int) string { return "" }) })
		lines = append(lines, fmt.Sprintf("if ties may go against you: %s, F = %s (moved by %s)", x, s.Safe.Objective.Text(), s.Safe.Distance.Brief()))
	}
	if len(lines) > 0 {
		fmt.Fprintf(&t.b, "follower: %s\n", strings.Join(lines, "\n  "))
	}
}

// TieLines say how ties of the follower are broken, and what F is where they are broken otherwise; none where it has none.
func (r *Result) TieLines() []string {
	ties := r.Lower.Ties
	if ties == nil {
		return nil
	}
	if ties.Tau == 0 && ties.Exact {
		return ties.exactLines()
	}
	word := "at least"
	if ties.Exact {
		word = "exactly"
	}
	unique := "no other answer as good was found"
	if !ties.Unique {
		unique = "it may have other answers as good"
	}
	lines := []string{fmt.Sprintf("ties are broken %s, tau %s; it loses %s %s against its optimum; %s",
		map[string]string{Optimistic: "in the leader's favour", LeastNorm: "by the least norm"}[ties.Rule],
		ties.Tau.Brief(), word, ties.Loss.Brief(), unique)}
	f := float64(r.Upper.Objective)
	for _, end := range []struct {
		which string
		value float64
	}{{"best", float64(ties.Optimistic)}, {"worst", float64(ties.Pessimistic)}} {
		if !math.IsNaN(end.value) && !ties.same(end.value, f) {
			lines = append(lines, fmt.Sprintf("F is %s with the answer %s for the leader", Number(end.value).Text(), end.which))
		}
	}
	return lines
}

// exactLines say what the follower may do otherwise, where nothing was added to its objective.
func (ties *Ties) exactLines() []string {
	if ties.Unique {
		if ties.UniqueMultipliers != nil {
			return []string{"its answer is unique, and so are the multipliers that the upper level reads"}
		}
		return []string{"its answer is unique"}
	}
	how, other, end := "in the leader's favour", float64(ties.Pessimistic), "worst"
	if ties.Rule == Pessimistic {
		how, other, end = "against the leader", float64(ties.Optimistic), "best"
	}
	if ties.Rule == LeastNorm {
		return []string{fmt.Sprintf("ties are broken by the least norm; F is %s with the answer best for the leader, %s with the worst", ties.Optimistic.Text(), ties.Pessimistic.Text())}
	}
	what, of := "ties are broken", "answer"
	switch m := ties.UniqueMultipliers; {
	case m == nil || *m:
	case *ties.UniqueAnswer:
		what, of = "its answer is unique; the multipliers that the upper level reads are not, and are chosen", "values"
	default:
		what, of = "ties are broken, and multipliers that are not unique chosen,", "answer and multipliers"
	}
	if !ties.Decided() {
		better := map[string]string{Optimistic: "better", Pessimistic: "worse"}[ties.Rule]
		how = "one way of several; whether another is " + better + " for the leader is not known"
	}
	lines := []string{what + " " + how}
	if !math.IsNaN(other) {
		lines[0] += fmt.Sprintf("; F is %s with the %s %s for the leader", Number(other).Text(), of, end)
	}
	if ties.Loss > 0 {
		lines = append(lines, fmt.Sprintf("these are ties to rounding, not exactly: the follower loses up to %s of g by them against its best answer", ties.Loss.Brief()))
	}
	return lines
}

// Decided reports that what was taken is known to be what the rule picks: of optimistic and pessimistic ties that F is known with the answer best, or worst, for the leader.
func (ties *Ties) Decided() bool {
	picked := map[string]Number{Optimistic: ties.Optimistic, Pessimistic: ties.Pessimistic}[ties.Rule]
	return ties.Unique || !math.IsNaN(float64(picked))
}

// same reports that two values of F differ by no more than ties do.
func (ties *Ties) same(a, b float64) bool {
	return math.Abs(a-b) <= 10*float64(ties.Tau)*math.Max(math.Abs(a), math.Abs(b))
}

// constraints writes rows with their residuals and multipliers.
func (t *textReport) constraints(title string, rows []ConstraintRow) {
	if len(rows) == 0 {
		return
	}
	t.b.WriteString(title + "\n")
	t.table(func(row func(cells ...string)) {
		row("  ", "residual", "multiplier")
		for i, r := range rows {
			if t.cut(i) {
				row("  ...", fmt.Sprintf("%d rows in all", len(rows)))
				break
			}
			multiplier, state := "", ""
			if !math.IsNaN(r.Multiplier) {
				multiplier = Number(r.Multiplier).Text()
			}
			if r.Active() {
				state = "active"
			}
			row("  "+r.Name, Number(r.Residual).Brief(), multiplier, state)
		}
	})
}

// activeFirst are rows in their order, but for active ones, which no cut takes away.
func activeFirst(rows []ConstraintRow) []ConstraintRow {
	return append(each.Where(rows, func(r ConstraintRow) bool { return r.Active() }), each.Where(rows, func(r ConstraintRow) bool { return !r.Active() })...)
}
