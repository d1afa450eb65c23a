package report

import (
	"fmt"
	"math"
	"strings"

	"bilevelc/lang/diag"
	"bilevelc/runtime"
	"bilevelc/runtime/chart"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// answer says in sentences what a result is and what it is worth.
func answer(r *runtime.Result) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	switch {
	case !r.HasPoint():
		say("The run ended without a point of F: %s.", r.Status)
		if r.Reason != "" {
			say("The reason given: %s.", r.Reason)
		}
		return append(out, meanings[r.Status])
	case r.Method == "":
		say("This is an evaluation at a given upper point; the upper level was not solved. There F = %s (the leader wants to %s it), and the follower's objective is %s (to %s).",
			r.Upper.Objective.Text(), r.Upper.Sense, r.Lower.Objective.Text(), r.Lower.Sense)
	case r.Status == runtime.Solved:
		say("The leader %ss F. The point below has F = %s; the follower's objective there is %s (to %s).",
			r.Upper.Sense, r.Upper.Objective.Text(), r.Lower.Objective.Text(), r.Lower.Sense)
	default:
		say("The run did not come to a solution: %s. The best point that it found has F = %s (to %s).", r.Status, r.Upper.Objective.Text(), r.Upper.Sense)
		if r.Reason != "" {
			say("The reason given: %s.", r.Reason)
		}
		out = append(out, meanings[r.Status])
	}
	s := r.Stationarity
	if s.Measure != "" && s.Measure != "none" && !math.IsNaN(float64(s.Value)) {
		where := "at the point"
		if s.Delta > 0 {
			where = fmt.Sprintf("over all points within %s of it", s.Delta.Brief())
		}
		say("Its stationarity is %s (%s), measured %s.", s.Value.Brief(), s.Measure, where)
		switch g := r.Global; {
		case g != nil && g.Proved:
			say("It is a global optimum: branch and bound has shown that no other point has an F better by more than %s of it.", g.Within.Brief())
		case g != nil && !math.IsInf(float64(g.Bound), 0):
			say("Stationarity is a local statement: F may be better elsewhere, but not beyond %s, which branch and bound has shown.", g.Bound.Text())
		default:
			say("That is a local statement: F may be better elsewhere.")
		}
	}
	if !s.Strict {
		say("F may have a kink at this point: rows of the lower level meet it with neither slack nor multiplier beyond their errors.")
	}
	if n := len(r.Upper.AtBounds); n > 0 {
		say("%s of the leader's variables %s at a bound.", diag.Count(n, "entry", "entries"), are(n))
	}
	if n := len(r.Upper.Free); n > 0 {
		say("Nothing depends on %s of them: any value within its bounds serves.", diag.Count(n, "entry", "entries"))
	}
	if r.Lower.Status == "solved" {
		bound := ""
		if e := float64(r.Lower.ErrorBound); !math.IsInf(e, 0) && !math.IsNaN(e) {
			bound = fmt.Sprintf(" and is within %s of the exact answer, by a bound that was proved", chart.Number(e, 3))
			if e <= tolerance.FewRoundings*linalg.NormInf(r.Lower.Variables.Entries()) {
				bound = " and is within rounding of the exact answer, by a bound that was proved"
			}
		}
		to := "to " + worst(r.Residuals).Brief()
		if worst(r.Residuals) == 0 {
			to = "to the last digit of double precision"
		}
		say("The follower's answer satisfies its optimality conditions %s%s.", to, bound)
	} else {
		say("The follower's problem ended with the status %q: its answer is to be taken with care.", r.Lower.Status)
	}
	return out
}

// meanings say what a status other than solved means for the reader.
var meanings = map[runtime.Status]string{
	runtime.Infeasible:       "Infeasible means that no choice of the leader was found for which all constraints hold, or that there is none; the reason names the rows that contradict each other.",
	runtime.Unbounded:        "Unbounded means that an objective improves without end where the constraints allow it: a bound or a term of the model is missing.",
	runtime.LimitReached:     "A limit on iterations or time ended the run before its target was met: with a larger one, or --resume, it goes on.",
	runtime.BudgetSpent:      "The method used up the budget that its theorem sets; what the theorem promises is about a point drawn at random from the run.",
	runtime.NumericalFailure: "A numerical failure means that the run could not go on, or could not show what it was to show: the point is not to be relied on without a look at the reason.",
	runtime.Interrupted:      "The run was interrupted; --resume goes on from its checkpoint.",
}

// worst is the largest KKT residual.
func worst(r runtime.Residuals) runtime.Number {
	return max(0, r.Stationarity, r.Primal, r.Dual, r.Complementarity)
}

func are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// shellWord quotes a word of a command where a shell asks for it.
func shellWord(s string) string {
	plain := strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,+@%", r))
	}) < 0
	if s != "" && plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
