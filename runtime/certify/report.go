package certify

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// Check is one claim of a document, evaluated again.
type Check struct {
	Claim string // what is claimed, in words
	// Claimed is the document's number and Found what it was found to be;
	// they agree, or Found is small enough, where their difference (or excess)
	// is at most Tolerance. NaN where a claim has no number.
	Claimed, Found, Tolerance float64
	Limit                     bool // Claimed may be anything up to Found
	OK                        bool
	Detail                    string // the worst place, or why it could not be checked
}

// String says what failed and by how much.
func (c Check) String() string {
	word := "ok  "
	if !c.OK {
		word = "FAIL"
	}
	s := fmt.Sprintf("%s  %s", word, c.Claim)
	switch {
	case math.IsNaN(c.Found):
	case c.Limit:
		s += fmt.Sprintf(": %.10g, may be %.10g at the most", c.Claimed, c.Found)
	default:
		s += fmt.Sprintf(": claimed %.10g, found %.10g", c.Claimed, c.Found)
		if !c.OK {
			s += fmt.Sprintf(", off by %.3g (tolerance %.1g)", math.Abs(c.Claimed-c.Found), c.Tolerance)
		}
	}
	if c.Detail != "" {
		s += " (" + c.Detail + ")"
	}
	return s
}

// Problem is a failed check as part of a sentence.
func (c Check) Problem() string { return strings.TrimPrefix(c.String(), "FAIL  ") }

// Report is the outcome of a verification: every check, in the order made, and
// what could not be checked, with the reason.
type Report struct {
	Checks    []Check
	Unchecked []string
	// Force is the size of the terms of grad_y g, of which a residual of stationarity
	// is what is left when they cancel; 0 where the document's shape was wrong.
	Force float64
	// Gradient is the size of the terms of grad F, which no error of one exceeds; 0 as above.
	Gradient float64
	// Residuals are those of the KKT conditions as they were found at the document's point, and Forces the size of the terms of that of stationarity there.
	Residuals problem.Residuals
	Forces    float64
	// Calls are what the verification itself asked of f and g.
	Calls problem.Calls
}

// OK reports whether every claim holds.
func (r *Report) OK() bool { return len(r.Failures()) == 0 }

// Failures are the claims that do not hold.
func (r *Report) Failures() []Check {
	return slices.DeleteFunc(slices.Clone(r.Checks), func(c Check) bool { return c.OK })
}

// equal checks that two numbers agree as values of the same expressions do, of terms of the given size.
func (r *Report) equal(claim string, claimed, found, size float64) {
	t := tolerance.SolveAccuracy * size
	r.Checks = append(r.Checks, Check{Claim: claim, Claimed: claimed, Found: found, Tolerance: t,
		OK: math.Abs(claimed-found) <= t}) // false on a NaN
}

// atMost checks that found is no more than claimed, to a tolerance, and returns whether it is.
func (r *Report) atMost(claim string, claimed, found, tolerance float64, detail string) bool {
	ok := found <= claimed+tolerance
	r.Checks = append(r.Checks, Check{Claim: claim, Claimed: claimed, Found: found, Tolerance: tolerance, OK: ok, Detail: detail})
	return ok
}

// fail records a claim that cannot hold, or cannot be checked.
func (r *Report) fail(claim, format string, args ...any) {
	r.Check(claim, false, fmt.Sprintf(format, args...))
}

// Check records a claim without a number.
func (r *Report) Check(claim string, ok bool, detail string) {
	r.Checks = append(r.Checks, Check{Claim: claim, Claimed: math.NaN(), Found: math.NaN(), Tolerance: math.NaN(), OK: ok, Detail: detail})
}

// within checks that a number, of the document or found, is no more than it may be.
func (r *Report) within(claim string, claimed, most float64) {
	r.Checks = append(r.Checks, Check{Claim: claim, Claimed: claimed, Found: most, Limit: true, OK: claimed <= most})
}

// vector checks that two vectors of one length agree in the 2-norm; the
// detail names the worst entry.
func (r *Report) vector(claim string, claimed, found []float64, tolerance float64) {
	worst := 0
	for j := range claimed {
		if math.Abs(claimed[j]-found[j]) > math.Abs(claimed[worst]-found[worst]) {
			worst = j
		}
	}
	c := Check{Claim: claim, Claimed: norm(claimed), Found: norm(found), Tolerance: tolerance, OK: distance(claimed, found) <= tolerance}
	if len(claimed) > 0 {
		c.Claim += fmt.Sprintf(", entry %d the worst", worst)
		c.Claimed, c.Found = claimed[worst], found[worst]
	}
	r.Checks = append(r.Checks, c)
}
