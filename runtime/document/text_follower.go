package document

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// ties says what was done to a follower that is not strongly convex.
func (t *textReport) ties() {
	ties := t.r.Lower.Ties
	if ties == nil {
		return
	}
	if ties.Tau == 0 && ties.Exact {
		t.exactTies(ties)
		return
	}
	word := "at least"
	if ties.Exact {
		word = "exactly"
	}
	unique := "no other answer as good was found"
	if !ties.Unique {
		unique = "it may have other answers as good"
	}
	fmt.Fprintf(&t.b, "follower: ties are broken %s, tau %s; it loses %s %s against its optimum; %s\n",
		map[string]string{Optimistic: "in the leader's favour", LeastNorm: "by the least norm"}[ties.Rule],
		ties.Tau.Brief(), word, ties.Loss.Brief(), unique)
	f := float64(t.r.Upper.Objective)
	for _, end := range []struct {
		which string
		value float64
	}{{"best", float64(ties.Optimistic)}, {"worst", float64(ties.Pessimistic)}} {
		if !math.IsNaN(end.value) && !t.same(end.value, f) {
			fmt.Fprintf(&t.b, "  F is %s with the answer %s for the leader\n", Number(end.value).Text(), end.which)
		}
	}
}

// exactTies says what the follower may do otherwise, where nothing was added to its objective.
func (t *textReport) exactTies(ties *Ties) {
	if ties.Unique {
		t.b.WriteString("follower: its answer is unique")
		if ties.UniqueMultipliers != nil {
			t.b.WriteString(", and so are the multipliers that the upper level reads")
		}
		t.b.WriteByte('\n')
		return
	}
	how, other, end := "in the leader's favour", float64(ties.Pessimistic), "worst"
	if ties.Rule == Pessimistic {
		how, other, end = "against the leader", float64(ties.Optimistic), "best"
	}
	if ties.Rule == LeastNorm {
		fmt.Fprintf(&t.b, "follower: ties are broken by the least norm; F is %s with the answer best for the leader, %s with the worst\n", ties.Optimistic.Text(), ties.Pessimistic.Text())
		return
	}
	what, of := "ties are broken", "answer"
	switch m := ties.UniqueMultipliers; {
	case m == nil || *m:
	case *ties.UniqueAnswer:
		what, of = "its answer is unique; the multipliers that the upper level reads are not, and are chosen", "values"
	default:
		what, of = "ties are broken, and multipliers that are not unique chosen,", "answer and multipliers"
	}
	fmt.Fprintf(&t.b, "follower: %s %s", what, how)
	if !math.IsNaN(other) {
		fmt.Fprintf(&t.b, "; F is %s with the %s %s for the leader", Number(other).Text(), of, end)
	}
	t.b.WriteByte('\n')
	if ties.Loss > 0 {
		fmt.Fprintf(&t.b, "  these are ties to rounding, not exactly: the follower loses up to %s of g by them against its best answer\n", ties.Loss.Brief())
	}
	if s := ties.Safe; s != nil {
		var parts []string
		for _, v := range s.Variables {
			parts = append(parts, v.Name+" = "+t.list(v.Rounded().Data, func(int) string { return "" }))
		}
		fmt.Fprintf(&t.b, "  if ties may go against you: %s, F = %s (moved by %s)\n", strings.Join(parts, ", "), s.Objective.Text(), s.Distance.Brief())
	}
}

// same reports that two values of F differ by no more than ties do.
func (t *textReport) same(a, b float64) bool {
	return math.Abs(a-b) <= 10*float64(t.r.Lower.Ties.Tau)*math.Max(math.Abs(a), math.Abs(b))
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
	slices.SortStableFunc(rows, func(a, b ConstraintRow) int {
		switch {
		case a.Active() && !b.Active():
			return -1
		case b.Active() && !a.Active():
			return 1
		}
		return 0
	})
	return rows
}
