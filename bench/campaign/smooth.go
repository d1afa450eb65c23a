package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"bilevelc/runtime"
)

// smooth is a program whose follower is separable and not quadratic, with answers in closed form:
//
//	y_j = clip(phi_j'^-1(a_j x + b_j), lo, hi) minimizes phi_j(y_j) - (a_j x + b_j) y_j over [lo, hi],
//
// and whose F is c x + d'y + (x - e)^2 / 2 over an interval.
type smooth struct {
	kind         []int
	a, b         []float64
	lo, hi       float64 // of each y
	xlo, xhi     float64
	c, e, weight float64
	d            []float64
}

// phis are strictly convex functions and the inverses of their derivatives.
var phis = []struct {
	text    string
	inverse func(t float64) float64
}{
	{"exp(%s)", func(t float64) float64 { return math.Log(math.Max(t, 1e-300)) }},
	{"(0.5 * %[1]s^2 + 0.25 * %[1]s^4)", func(t float64) float64 { // y + y^3 = t, by Cardano
		r := math.Sqrt(t*t/4 + 1./27)
		return math.Cbrt(t/2+r) + math.Cbrt(t/2-r)
	}},
	{"(0.5 * %[1]s^2 + sqrt(1 + %[1]s^2))", func(t float64) float64 { return bisect(func(y float64) float64 { return y + y/math.Sqrt(1+y*y) - t }) }},
	{"(0.1 * %[1]s^2 + log1pexp(%[1]s))", func(t float64) float64 {
		return bisect(func(y float64) float64 { return 0.2*y + 1/(1+math.Exp(-y)) - t })
	}},
}

// bisect is the root of a rising function.
func bisect(f func(float64) float64) float64 {
	lo, hi := -1e4, 1e4
	for range 200 {
		if m := (lo + hi) / 2; f(m) < 0 {
			lo = m
		} else {
			hi = m
		}
	}
	return (lo + hi) / 2
}

func drawSmooth(seed uint64) *smooth {
	g := newGenerator(seed, 0x736d6f6f, 8)
	s := &smooth{lo: -g.positive(3), hi: g.positive(3), xlo: -g.positive(4), xhi: g.positive(4), c: g.number(3), e: g.number(3), weight: g.positive(2)}
	for range 1 + g.IntN(3) {
		s.kind = append(s.kind, g.IntN(len(phis)))
		s.a, s.b, s.d = append(s.a, g.positive(2)*g.sign()), append(s.b, g.number(3)), append(s.d, g.number(4))
	}
	return s
}

// value is F at x.
func (s *smooth) value(x float64) float64 {
	f := s.c*x + s.weight*(x-s.e)*(x-s.e)/2
	for j, k := range s.kind {
		f += s.d[j] * math.Min(math.Max(phis[k].inverse(s.a[j]*x+s.b[j]), s.lo), s.hi)
	}
	return f
}

func (s *smooth) text() string {
	f, g, vars := &sumText{}, &sumText{}, ""
	f.add(s.c, 0, "x")
	f.add(s.weight/2, 0, fmt.Sprintf("(x - (%s))^2", decimalLiteral(s.e, 0)))
	for j, k := range s.kind {
		y := fmt.Sprintf("y%d", j+1)
		vars += fmt.Sprintf("  var %s: real%s\n", y, (&system{}).interval(s.lo, s.hi, 0))
		f.add(s.d[j], 0, y)
		g.add(1, 0, fmt.Sprintf(phis[k].text, y))
		g.add(-s.a[j], 0, "x * "+y)
		g.add(-s.b[j], 0, y)
	}
	return fmt.Sprintf("model m\nupper {\n  var x: real%s\n  minimize %s\n}\nlower {\n%s  minimize %s\n}\n", (&system{}).interval(s.xlo, s.xhi, 0), f.text(), vars, g.text())
}

// examineSmooth asks about the program of a seed: F at the x that is returned, that F falls to neither side of it, and what is said of all x.
func examineSmooth(seed uint64) *report {
	s := drawSmooth(seed)
	r := &report{Seed: seed, Family: "smooth g", Text: s.text()}
	problem := r.bind(func(string) string { return "" })
	if problem == nil {
		return r
	}
	began := time.Now()
	result, err := problem.Solve(context.Background(), runtime.Options{Seed: 1, TimeLimit: timeLimit})
	r.Seconds = time.Since(began).Seconds()
	if err != nil {
		r.false("solve error", "%v", firstLine(err))
		return r
	}
	r.outcome("solve %s", result.Status)
	if result.Status != runtime.Solved {
		r.soft("no answer", result.Reason, "%s", result.Reason)
		return r
	}
	v, _ := result.Upper.Variables.Get("x")
	x, claimed := v.Data[0], float64(result.Upper.Objective)
	f := s.value(x)
	// The first-order solvers promise 1e-8 of the KKT conditions; answers and F follow by the curvature, of 0.05 and more.
	if math.Abs(claimed-f) > 1e-6*(1+math.Abs(f)) {
		r.false("F", "%v, truly %v at x = %v", claimed, f, x)
	}
	least, at := f, x
	for k := range 4001 {
		z := s.xlo + (s.xhi-s.xlo)*float64(k)/4000
		if t := s.value(z); t < least {
			least, at = t, z
		}
	}
	for _, h := range []float64{1e-3, -1e-3} {
		near, nearer := s.value(math.Min(math.Max(x+h, s.xlo), s.xhi)), s.value(math.Min(math.Max(x+h/10, s.xlo), s.xhi))
		if f-near > 1e-2*1e-3*(1+math.Abs(f)) && f-nearer > 1e-2*1e-4*(1+math.Abs(f)) {
			r.false("not stationary", "F = %v at x = %v, %v within %v", f, x, near, h)
		}
	}
	if g := result.Global; g != nil && float64(g.Bound) > least+1e-6*(1+math.Abs(least)) {
		r.false("bound", "%v, F is %v at x = %v", g.Bound, least, at)
	}
	if f-least > 1e-4*(1+math.Abs(f)) {
		r.outcome("a better point is known")
	} else {
		r.outcome("the optimum")
	}
	if report, err := problem.Verify(result); err != nil || !report.OK() {
		r.false("verify rejects", "%v %v", err, report.Failures())
	}
	lie := *result
	lie.Upper.Objective += runtime.Number(1e-3 * (1 + math.Abs(f)))
	if report, err := problem.Verify(&lie); err == nil && report.OK() {
		r.false("forgery passes: F", "F = %v at x = %v", f, x)
	}
	return r
}
