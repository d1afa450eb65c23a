package runtime

import (
	"fmt"
	"math"
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
	unique := "its answer is unique"
	if !ties.Unique {
		unique = "it has other answers as good"
	}
	fmt.Fprintf(&t.b, "follower: ties are broken %s, tau %s; it loses %s %s against its optimum; %s\n",
		map[string]string{optimistic: "in the leader's favour", leastNorm: "by the least norm"}[ties.Rule],
		brief(float64(ties.Tau)), word, brief(float64(ties.Loss)), unique)
	f := float64(t.r.Upper.Objective)
	for _, end := range []struct {
		which string
		value float64
	}{{"best", float64(ties.Optimistic)}, {"worst", float64(ties.Pessimistic)}} {
		if !math.IsNaN(end.value) && !t.same(end.value, f) {
			fmt.Fprintf(&t.b, "  F is %s with the answer %s for the leader\n", number(end.value), end.which)
		}
	}
}

// exactTies says what the follower may do otherwise, where nothing was added to its objective.
func (t *textReport) exactTies(ties *Ties) {
	if ties.Unique {
		t.b.WriteString("follower: its answer is unique\n")
		return
	}
	how, other, end := "in the leader's favour", float64(ties.Pessimistic), "worst"
	if ties.Rule == pessimistic {
		how, other, end = "against the leader", float64(ties.Optimistic), "best"
	}
	fmt.Fprintf(&t.b, "follower: ties are broken %s", how)
	if !math.IsNaN(other) {
		fmt.Fprintf(&t.b, "; F is %s with the answer %s for the leader", number(other), end)
	}
	t.b.WriteByte('\n')
	if s := ties.Safe; s != nil {
		var parts []string
		for _, v := range s.Variables {
			parts = append(parts, v.Name+" = "+t.list(v.Rounded().Data, func(int) string { return "" }))
		}
		fmt.Fprintf(&t.b, "  if ties may go against you: %s, F = %s (moved by %s)\n", strings.Join(parts, ", "), number(float64(s.Objective)), brief(float64(s.Distance)))
	}
}

// same reports that two values of F differ by no more than ties do.
func (t *textReport) same(a, b float64) bool {
	return math.Abs(a-b) <= 10*float64(t.r.Lower.Ties.Tau)*math.Max(math.Abs(a), math.Abs(b))
}

// coupled lists the constraints of the upper level that are not part of X.
func (t *textReport) coupled() {
	if len(t.r.Upper.Residuals) == 0 {
		return
	}
	t.b.WriteString("upper constraints\n")
	t.table(func(row func(cells ...string)) {
		row("  ", "residual", "multiplier")
		for _, family := range t.r.Upper.Residuals {
			multipliers, known := t.r.Upper.Multipliers.Get(family.Name)
			for i, c := range family.Data {
				if t.cut(i) {
					row("  ...", fmt.Sprintf("%d rows in all", len(family.Data)), "")
					break
				}
				multiplier := ""
				if known {
					multiplier = number(multipliers.Data[i])
				}
				row("  "+EntryName(family, i), brief(c), multiplier)
			}
		}
	})
}

// constraints lists each row of the lower level with its residual and
// multiplier, active rows first where the table is cut.
func (t *textReport) constraints() {
	type line struct {
		name      string
		h, lambda float64
		active    bool
	}
	active := map[string]bool{}
	for _, name := range t.r.Lower.Active {
		active[name] = true
	}
	var first, rest []line
	for _, family := range t.r.Lower.Multipliers {
		residual, _ := t.r.Residuals.Constraints.Get(family.Name)
		for i, lambda := range family.Data {
			name := EntryName(family, i)
			l := line{name: name, lambda: lambda, active: active[name], h: math.NaN()}
			if i < len(residual.Data) {
				l.h = residual.Data[i]
			}
			if l.active {
				first = append(first, l)
			} else {
				rest = append(rest, l)
			}
		}
	}
	if len(first)+len(rest) == 0 {
		return
	}
	t.b.WriteString("constraints\n")
	t.table(func(row func(cells ...string)) {
		row("  ", "residual", "multiplier", "")
		for i, l := range append(first, rest...) {
			if t.cut(i) {
				row("  ...", fmt.Sprintf("%d rows in all", len(first)+len(rest)), "", "")
				break
			}
			state := ""
			if l.active {
				state = "active"
			}
			row("  "+l.name, brief(l.h), number(l.lambda), state)
		}
	})
}
