package runtime

import (
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/named"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/system"
	"bilevelc/runtime/tolerance"
)

// claims checks what a document says beyond the numeric problem: everything that
// follows from the model, the data and the document's own numbers. What does not
// is listed in underived.
type claims struct {
	p      *Problem
	r      *Result
	read   *Result // r as it was read: where it was written by place, before rows had labels, it stays so
	doc    *certify.Document
	h      []float64 // residuals of the rows at the document's point
	report *certify.Report
}

// underived are the parts of a document that nothing here can derive, with the
// reason. Changes to them are noticed by the seal alone. Besides, a document that
// does not say solved may have parts of its certificate, or its hypergradient,
// left out.
var underived = []struct{ Path, Reason string }{
	{"reason", "words of the run"},
	{"seed", "any seed may lead here"},
	{"method", "that a method with such a certificate was run cannot be seen; its name, and what it may claim, are checked"},
	{"oracle", "that it was used cannot be seen; that it exists and applies is checked"},
	{"settings", "that they were used cannot be seen; their names and ranges are checked"},
	{"parameters", "constants that a method estimated on its way; C_F is checked"},
	{"budget", "a prediction made before the run; its signs are checked"},
	{"upper.penalty", "weights that a run chose; that they cover the multipliers is checked"},
	{"calls", "how many a run took; signs, and what one point takes, are checked"},
	{"verification", "what the run's own verification took"},
	{"iterations", "how many a run took; its sign is checked"},
	{"trace", "the course of a run; that it goes forward is checked"},
	{"starts", "runs that left no certificate; the returned one is checked against them"},
	{"notes", "words of the run"},
	{"time", "a measurement; that its phases fit into it is checked"},
	{"phases", "measurements; that they fit into the time is checked"},
	{"version", "any version may have written it"},
	{"inputs", "names of files; what is in them is checked by the digest"},
	{"status", "why a run stopped short cannot be seen; that what it excludes does not hold is checked"},
	{"lower.solver", "that it was used cannot be seen; that it exists and applies is checked"},
	{"lower.weak", "which nearly active rows a solver left open; that they are nearly active is checked"},
	{"lower.dependent", "which of dependent rows a solver left out; that they hold with equality is checked"},
	{"stationarity.gradient_error", "the oracle's estimate; that it covers the error found, and is not larger than gradients, is checked"},
	{"stationarity.strict_complementarity", "that it fails may be said for caution; that it holds is checked"},
	{"sensitivity", "differences of lower solves; their shapes are checked, and that those of F are the hypergradient where it has one"},
	{"gradient_check", "differences of F with steps of their own; that they are near the gradient they are compared with is checked"},
	{"certificate.goldstein.normal", "one that is zero may be left out"},
}

// check notes a claim, with what is wrong where it does not hold.
func (c *claims) check(claim string, ok bool, format string, args ...any) {
	detail := ""
	if format != "" && !ok {
		detail = fmt.Sprintf(format, args...)
	}
	c.report.Check(claim, ok, detail)
}

// derived reports that what a claim is compared with could be derived; where it could not the claim does not hold.
func (c *claims) derived(claim string, err error) bool {
	if err != nil {
		c.check(claim, false, "%v", err)
	}
	return err == nil
}

// near checks that two numbers agree to a tolerance; infinities and NaN agree
// with themselves.
func (c *claims) near(claim string, claimed, found, tolerance float64) {
	ok := math.Abs(claimed-found) <= tolerance && !math.IsInf(found, 0) || claimed == found || math.IsNaN(claimed) && math.IsNaN(found)
	c.report.Check(claim, ok, fmt.Sprintf("claimed %.3g, found %.3g", claimed, found))
}

func (c *claims) all() {
	c.identity()
	c.methods()
	c.status()
	c.residuals()
	c.rows()
	c.kinks()
	c.stationarity()
	c.spent()
	c.starts()
	c.values()
	c.sensitivity()
	for _, u := range underived {
		c.report.Unchecked = append(c.report.Unchecked, fmt.Sprintf("%s (%s)", u.Path, u.Reason))
	}
}

func (c *claims) identity() {
	c.check("the document is about this model and data", c.r.Digest == c.p.Digest(), "")
	c.check("name of the model", c.r.Model == c.p.IR.Name, "it is %s", c.p.IR.Name)
	if c.read.Stored() {
		err := c.read.Intact()
		c.check("the document is as it was written", err == nil, "%v", err)
	}
	for _, level := range []struct {
		name, claim string
		of          *ir.Level
	}{{"upper", c.r.Upper.Sense, &c.p.IR.Upper}, {"lower", c.r.Lower.Sense, &c.p.IR.Lower}} {
		word, _ := sense(level.of)
		c.check("sense of the "+level.name+" level", level.claim == word, "the model says %s", word)
	}
}

// methods checks that the methods exist and apply, and that their settings are
// theirs and in range.
func (c *claims) methods() {
	r := c.r
	if r.onSystem() {
		cert := r.Certificate
		c.check("the certificate is one that the method makes", cert == nil || cert.Goldstein == nil && cert.GradientMapping == nil, "it is not")
		why, _ := c.p.systemOf()
		c.check("method, oracle, lower solver and settings exist and apply", (r.Method == SystemMethod || r.Method == "") && r.Oracle == system.Oracle &&
			len(r.Settings) == 0 && r.Lower.Curvature == "" && why == "", "they are not those of the KKT system, or it is not solved on: %s", why)
		return
	}
	if cert := r.Certificate; r.Method != "" && cert != nil {
		// Methods for smooth F measure a gradient mapping, and no method but that on the KKT system has its certificate.
		spec, err := outer.Lookup(r.Method)
		smooth := err == nil && slices.Contains(spec.Assumes, problem.SmoothF)
		c.check("the certificate is one that the method makes", err == nil && cert.Strong == nil && cert.Gradient == nil && (smooth || cert.GradientMapping == nil), "it is not")
	}
	opts := Options{Method: r.Method, Oracle: r.Oracle, Solver: r.Lower.Solver, Settings: r.Settings}
	if r.Method == "" {
		plain := r.Stationarity.Measure == "" && r.Iterations == 0 && len(r.Starts) == 0 && r.Budget == nil && len(r.Parameters) == 0 &&
			(r.Certificate == nil || r.Certificate.Goldstein == nil && r.Certificate.GradientMapping == nil)
		c.check("an evaluation has no method, and nothing that one leaves", plain, "")
		opts.Method = outer.Default(c.p.Numeric, c.p.smoothF())
	}
	chosen, err := opts.split(r.Settings)
	if err == nil {
		_, err = chosen.hyperobjective(c.p, 1)
	}
	c.check("method, oracle, lower solver and settings exist and apply", err == nil, "%v", orNothing(err))
	kept := c.p.curvatureKept(opts)
	c.check("curvature kept between lower solves", kept == r.Lower.Curvature, "it would be %q", kept)
}

func orNothing(err error) any {
	if err == nil {
		return ""
	}
	return err
}

// status checks that nothing contradicts the status.
func (c *claims) status() {
	r := c.r
	solved := r.Lower.Status == lower.Solved.String()
	c.check("status of the lower level", solved || r.Lower.Status == lower.Inaccurate.String() && r.Status != Solved,
		"%q, where a point of F comes with a solved one", r.Lower.Status)
	c.check("infeasible", c.r.Status != Infeasible, "the document holds a point, and nothing at a point shows that no other one satisfies the constraints")
	if r.Status == BudgetSpent {
		c.check("budget spent", r.Budget != nil, "there is no budget")
	}
	ray := r.Certificate != nil && r.Certificate.Ray != nil
	c.check("a ray comes with an unbounded F alone", !ray || r.Status == Unbounded, "")
}

// residuals checks the KKT residuals in the max norm, x in X, and each row.
func (c *claims) residuals() {
	found, sizes := c.report.Residuals, c.rowSizes()
	top := linalg.NormInf(sizes)
	// Residuals are what is left of cancelling terms: rounding of those.
	c.check("residuals are at least 0", min(c.r.Residuals.Stationarity, c.r.Residuals.Primal, c.r.Residuals.Dual, c.r.Residuals.Complementarity, c.r.Residuals.Upper) >= 0 ||
		math.IsNaN(float64(c.r.Residuals.Stationarity)), "one is negative")
	c.near("residual: stationarity", float64(c.r.Residuals.Stationarity), found.Stationarity, tolerance.Rounded*c.report.Forces)
	c.near("residual: primal", float64(c.r.Residuals.Primal), found.Primal, tolerance.Rounded*top)
	c.near("residual: dual", float64(c.r.Residuals.Dual), found.Dual, 0)
	c.near("residual: complementarity", float64(c.r.Residuals.Complementarity), found.Complementarity, tolerance.Rounded*top*linalg.NormInf(c.doc.Lambda))
	upper := c.p.upperViolation(c.doc.X)
	c.near("residual: upper", float64(c.r.Residuals.Upper), upper, tolerance.Rounded*linalg.NormInf(c.doc.X))
	claimed, err := named.ReadResiduals(c.p.IR.Rows, c.r.Residuals.Constraints, tolerance.SolveAccuracy)
	if !c.derived("residuals by constraint", err) {
		return
	}
	of, y := c.p.ownRows(c.doc.Y)
	h := make([]float64, len(claimed))
	of.Residual(h, c.doc.X, y)
	for i, v := range claimed {
		if !hidden(c.p.IR.Rows, i) && math.Abs(v-h[i]) > tolerance.Rounded*termsOfRow(of, i, c.doc.X, y) || math.IsNaN(v) {
			c.check("residuals by constraint", false, "%s is %.10g", c.p.IR.Rows[i].Name, h[i])
			return
		}
	}
	c.check("residuals by constraint", true, "")
}

// rowSizes are the sizes of the terms of each row.
func (c *claims) rowSizes() []float64 {
	return each.Below(len(c.h), func(i int) float64 { return termsOfRow(c.p.Numeric.Rows, i, c.doc.X, c.doc.Y) })
}

// termsOfRow is the size of the terms of a row at (x, y).
func termsOfRow(rows *problem.Rows, row int, x, y []float64) float64 {
	return rows.B.AddTerms(rows.A.AddTerms(math.Abs(rows.Rhs[row]), row, x), row, y)
}

// lengthInY is the norm of a row's coefficients of y.
func (c *claims) lengthInY(row int) float64 {
	return linalg.RowNorm(c.p.Numeric.Rows.B, row)
}

// rows checks the lists of rows and the margins that follow from them.
func (c *claims) rows() {
	l := c.r.Lower
	if cert := c.r.Certificate; cert != nil && cert.Lower != nil {
		beyond := func(i int) bool { return i < 0 || i >= len(c.p.IR.Rows) }
		c.check("active rows by name", !slices.ContainsFunc(cert.Lower.Active, beyond) && slices.Equal(l.Active, named.RowNames(c.p.IR.Rows, cert.Lower.Active)), "")
		bound := math.Inf(1)
		if b := cert.Lower.Bound; b != nil {
			bound = b.Distance
		}
		c.near("lower.error_bound, by the certificate", float64(l.ErrorBound), bound, 0)
	} else {
		c.check("lower.error_bound", math.IsInf(float64(l.ErrorBound), 1) || math.IsNaN(float64(l.ErrorBound)), "it has no certificate")
	}
	index := make(map[string]int, len(c.p.IR.Rows))
	for i, row := range c.p.IR.Rows {
		index[row.Name] = i
		if row.Opposite != nil {
			index[row.Opposite.Name] = i
		}
	}
	listed := map[int]bool{}
	multiplier, slack := math.Inf(1), math.Inf(1)
	sizes := c.rowSizes()
	typical := math.Max(linalg.NormInf(sizes), linalg.NormInf(c.doc.Y))
	known := 0.0 // to what y is: at 0 that is all there is to tell a row's size by
	if bound := float64(l.ErrorBound); bound > 0 && bound < math.Inf(1) {
		known = bound
	}
	for _, list := range []struct {
		name string
		rows []string
	}{{"active", l.Active}, {"weak", l.Weak}, {"dependent", l.Dependent}} {
		seen := map[string]bool{}
		flaw := ""
		for _, name := range list.rows {
			i, ok := index[name]
			switch {
			case !ok:
				flaw = "there is no row " + name
			case seen[name]:
				flaw = name + " is listed twice"
			case math.Abs(c.h[i]) > math.Max(math.Max(typical, sizes[i])/tolerance.Hiding, known*c.lengthInY(i)):
				flaw = name + " is slack"
			case list.name == "weak" && (c.p.Numeric.Rows.Kind[i] == problem.Equal || !c.r.rough() && c.pushes(i)):
				flaw = name + " has a multiplier"
			}
			if flaw != "" {
				break
			}
			seen[name], listed[i] = true, true
			if list.name == "active" && c.p.Numeric.Rows.Kind[i] == problem.AtMost {
				multiplier = math.Min(multiplier, c.doc.Lambda[i])
			}
		}
		c.check(list.name+" rows", flaw == "", "%s", flaw)
	}
	for i, kind := range c.p.Numeric.Rows.Kind {
		// Conditions on x alone are no part of y's complementarity.
		if j, _ := c.p.Numeric.Rows.B.Row(i); kind == problem.AtMost && !hidden(c.p.IR.Rows, i) && !listed[i] && len(j) > 0 {
			slack = math.Min(slack, -c.h[i])
		}
	}
	c.near("lower.min_multiplier", float64(l.MinMultiplier), multiplier, 0)
	c.near("lower.min_slack", float64(l.MinSlack), slack, tolerance.Rounded*typical)
}

// pushes reports that the multiplier of a row is beyond doubt: the largest does not hide it (tolerance.Hiding), and its force is more
// than rounding of the forces over X leaves. An x at 1e-33 in a box of width 1 has no digits, nor has a multiplier that is x.
func (c *claims) pushes(row int) bool {
	lambda := c.doc.Lambda[row]
	return lambda*tolerance.Hiding > linalg.NormInf(c.doc.Lambda) && lambda*c.lengthInY(row) > tolerance.Rounded*c.report.Force
}

// stationarity checks the measure against the certificate.
func (c *claims) stationarity() {
	s, cert := c.r.Stationarity, c.r.Certificate
	if cert == nil {
		cert = &certify.Certificate{}
	}
	var norm, delta float64
	var words string
	switch {
	case c.r.Method == "":
		c.check("stationarity", math.IsNaN(float64(s.Value)) && s.Measure == "", "an evaluation measures none")
		return
	case cert.Strong != nil:
		norm, words = cert.Strong.Residual, system.Measure
	case cert.Goldstein != nil:
		norm, delta, words = cert.Goldstein.Norm, cert.Goldstein.Delta, outer.GoldsteinMeasure
	case cert.GradientMapping != nil:
		norm, words = cert.GradientMapping.Norm, outer.MappingMeasure
		c.near("parameter C_F, by the certificate", float64(c.r.Parameters["C_F"]), cert.GradientMapping.Smoothness, 0)
		c.near("error of the gradient, by the certificate", float64(s.GradientError), cert.GradientMapping.GradientError, 0)
	default:
		c.check("stationarity measure", math.IsNaN(float64(s.Value)), "it has no certificate")
		c.check("stationarity: what is measured", slices.Contains([]string{"", noMeasure, outer.GoldsteinMeasure, outer.MappingMeasure}, s.Measure), "nothing")
		return
	}
	if cert.Strong == nil && len(c.r.Upper.Hypergradient) == 0 { // nothing tells the error of one
		e := float64(s.GradientError)
		c.check("error of the gradient", math.IsNaN(e) || e >= 0 && e <= c.report.Gradient, "there is no gradient, or none as large")
	}
	// A norm of a combination is cancellation, of the gradients.
	size := math.Max(norm, linalg.NormInf(c.doc.Hypergradient))
	if cert.Goldstein != nil {
		size = math.Max(size, cert.Goldstein.Size())
	}
	c.near("stationarity measure, by the certificate", float64(s.Value), norm, tolerance.Sign*size)
	c.check("stationarity: a measure is at least 0", !(s.Value < 0) && norm >= 0, "")
	c.near("stationarity: delta, by the certificate", float64(s.Delta), delta, 0)
	c.check("stationarity: what is measured", s.Measure == words, "it is the %s", words)
}

// course checks that a trace goes forward: iterations, calls and times rise, and the
// best F seen does not get worse.
func (c *claims) course() {
	if len(c.r.Trace) == 0 {
		return
	}
	_, sign := sense(&c.p.IR.Upper)
	forward, last := true, TracePoint{Iteration: -1, Best: Number(sign * math.Inf(1))}
	for _, t := range c.r.Trace {
		worse := sign*float64(t.Best) > sign*float64(last.Best) || sign*float64(t.Objective) < sign*float64(t.Best)
		forward = forward && t.Iteration > last.Iteration && t.Calls >= last.Calls && !worse && !(t.Step < 0) && !(t.Measure < 0)
		last = t
	}
	c.check("trace", forward && last.Iteration <= c.r.Iterations && c.r.Method != "", "it does not go forward to iteration %d", c.r.Iterations)
	if times := c.r.Phases.Trace; len(times) > 0 { // a document may leave out what was measured
		c.check("times of the trace", len(times) == len(c.r.Trace) && slices.IsSorted(times) && times[0] >= 0, "")
	}
}

// spent checks what a run says it took.
func (c *claims) spent() {
	calls := c.r.Calls
	// A point of F takes a value of f, and a gradient of g where there is a y.
	enough := calls.F >= 1 && calls.GradF >= 0 && calls.G >= 0 && (calls.GradG >= 1 || c.p.Numeric.Dy == 0)
	c.check("calls", enough, "fewer than one point of F takes")
	if own := c.r.Verification; own != nil {
		c.check("calls of the run's verification", own.F >= 0 && own.GradF >= 0 && own.G >= 0 && own.GradG >= 0, "some are negative")
	}
	c.check("iterations", c.r.Iterations >= 0, "")
	c.course()
	if b := c.r.Budget; b != nil {
		c.check("budget", float64(b.Iterations) > 0 && float64(b.Evaluations) > 0 && b.Actual >= 0, "")
	}
	phases := c.r.Phases
	if !c.r.Stored() {
		return // a run is confirmed before it has ended
	}
	positive := min(phases.Read, phases.Compile, phases.Bind, phases.Prove, phases.Solve, phases.Certify) >= 0
	c.check("times", positive && phases.Total() <= c.r.Time*(1+1e-9) && !math.IsInf(c.r.Time, 1), "")
}
