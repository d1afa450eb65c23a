package report

import (
	"fmt"
	"strconv"
	"strings"

	"bilevelc/internal/each"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/chart"
	"bilevelc/runtime/linalg"
)

func (v *view) proofs(p *runtime.Problem, r *runtime.Result) {
	for _, c := range p.Proof.Claims() {
		v.Claims = append(v.Claims, pair{c.Name, c.Finding})
	}
	for _, m := range runtime.Methods() {
		if m.Kind == "method" && m.Name != r.Method || m.Kind == "oracle" && m.Name != r.Oracle || m.Kind == "solver" && m.Name != r.Lower.Solver {
			continue
		}
		if standing := p.Standing(m); standing != "" {
			v.Assumed = append(v.Assumed, pair{m.Kind + " " + m.Name, standing})
		}
	}
}

func (v *view) certificate(r *runtime.Result, report *certify.Report) {
	add := func(name, value string) { v.Certificate = append(v.Certificate, pair{name, value}) }
	if r.HasPoint() {
		add("KKT residuals of the follower", r.Residuals.Text())
		add("x outside its set by", r.Residuals.Upper.Brief())
	}
	if c := r.Certificate; c != nil {
		if c.Lower != nil && c.Lower.Bound != nil {
			b := c.Lower.Bound
			add("distance of y to y*", fmt.Sprintf("at most %s: g is strongly convex with modulus %s, and its gap is at most %s", chart.Number(b.Distance, 3), chart.Number(b.Modulus, 6), chart.Number(b.Gap, 3)))
		}
		if s := c.Strong; s != nil {
			what, shown := "strong stationarity", "multipliers of the follower's KKT system"
			if len(s.Leaves) > 0 {
				what, shown = "B-stationarity", fmt.Sprintf("multipliers on %s of the branches that meet at the point", diag.Count(len(s.Leaves), "part", "parts"))
			}
			add(what, fmt.Sprintf("%s leave %s of the gradient of f, by its terms; %s biactive; second order: %s", shown, chart.Number(s.Residual, 3),
				diag.Count(len(s.Biactive), "row is", "rows are"), s.Curvature))
		}
		if g := c.Goldstein; g != nil {
			add("Goldstein certificate", fmt.Sprintf("a convex combination of %s of F within %s of the point, with a normal of the leader's set, has norm %s; the gradients' errors add at most %s",
				diag.Count(len(g.Samples), "gradient", "gradients"), chart.Number(g.Delta, 3), chart.Number(g.Norm, 3), chart.Number(g.GradientError, 3)))
			for k, s := range g.Samples[:min(len(g.Samples), mostRows)] {
				v.Samples = append(v.Samples, sampleView{strconv.Itoa(k + 1), chart.Number(s.Weight, 6), chart.Number(linalg.Distance(s.Point, r.Upper.Variables.Entries()), 3), chart.Number(linalg.Norm(s.Gradient), 6)})
			}
		}
		if m := c.GradientMapping; m != nil {
			add("gradient mapping", fmt.Sprintf("norm %s with steps of 1/%s; error of the gradient %s", chart.Number(m.Norm, 3), chart.Number(m.Smoothness, 6), chart.Number(m.GradientError, 3)))
		}
	}
	if g := r.Check; g != nil {
		add("gradient check", fmt.Sprintf("hypergradient and differences of F differ by %s, %s of its size", g.Error.Brief(), g.Relative.Brief()))
	}
	if b := r.Budget; b != nil {
		add("budget", fmt.Sprintf("the theorem predicts %s evaluations of F (%s); the run took %d", b.Evaluations.Brief(), b.Basis, b.Actual))
	}
	if report != nil {
		v.Checks = each.Of(report.Checks, func(c certify.Check) checkView { return checkView{c.OK, strings.TrimSpace(c.String())} })
		v.Unchecked = report.Unchecked
	}
}
