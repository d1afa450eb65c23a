package curvature

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/directed"
	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/expr"
	"bilevelc/ir/facts"
)

// prover works through the claims about one problem.
type prover struct {
	*ir.Problem
	opts       Options
	everywhere domain // x in the box around X, y unrestricted
	feasible   domain // y in the box that the rows imply
	bounded    bool   // feasible says more than everywhere
	shares     map[*expr.Node]float64
	studies    map[studied]*study
	near       effort // of moduli
	loose      effort // of other constants
}

func newProver(p *ir.Problem, opts Options) *prover {
	pr := &prover{Problem: p, opts: opts, studies: map[studied]*study{}}
	pr.everywhere, pr.feasible, pr.bounded = domains(p)
	pr.shares = shares(p, pr.everywhere.x)
	return pr
}

// Prove derives what can be shown about p and stores the constants in p.Facts.
func Prove(p *ir.Problem, opts Options) *Proof {
	pr := newProver(p, opts)
	out := &Proof{Model: p.Name, objective: p.Lower.Span, maximize: p.Lower.Maximize}
	declared := each.Where(p.Lower.Vars, func(v ir.Variable) bool { return !v.Hidden })
	out.variables = each.Of(declared, func(v ir.Variable) string { return v.Name })
	earlier := opts.Earlier
	out.folded = p.X.Folded
	if p.Restated != nil { // the weight of the hidden variables' terms follows from the whole
		out.kinks, earlier = p.Restated.Kinks, nil
	}
	e := pr.compare(earlier)
	pr.loose.give = boundSlack
	if e.Earlier != nil {
		pr.near = effort{again: e.Proof.Convexity.Outcome == proved, before: e.Proof.end}
		pr.loose.again = true
	}
	pr.strengthen(out)
	f, g := p.Upper.Objective, p.Lower.Objective
	for _, claim := range []func(){
		func() { out.SmoothF = pr.smoothness(f) },
		func() { out.roots = pr.roots(f) },
		func() { out.SmoothG = pr.smoothness(g) },
		func() { out.Quadratic = pr.quadratic() },
		func() {
			if out.Convexity = e.convexity(); out.Convexity.Outcome != proved {
				out.Convexity = pr.convexity(out)
			}
		},
		func() {
			out.SmoothnessG = e.bound(e.g, e.hessianY, func(p *Proof) Bound { return p.SmoothnessG }, func() Bound { return pr.hessianBound(g, expr.DependsY) })
		},
		func() {
			out.SmoothnessF = e.bound(e.f, e.hessianF, func(p *Proof) Bound { return p.SmoothnessF }, func() Bound { return pr.hessianBound(f, expr.DependsX|expr.DependsY) })
		},
		func() {
			out.LipschitzF = e.bound(e.f, false, func(p *Proof) Bound { return p.LipschitzF }, func() Bound { return pr.gradientBound(f) })
		},
		func() {
			if e.rows {
				out.Qualification = e.Proof.Qualification
			} else {
				out.Qualification = pr.qualify()
			}
		},
		func() {
			if e.hessianY && e.Proof.pattern != nil {
				out.pattern = e.Proof.pattern
			} else {
				out.pattern = facts.HessianPattern(opts.Context, p.Graph, g, p.Lower.Dim)
			}
		},
	} {
		if !pr.budget().ended() {
			claim()
		}
	}
	out.JointG = &Later{find: func() Bound {
		opts.Context, opts.Earlier = nil, nil // that of Prove may have ended
		return newProver(p, opts).hessianBound(g, expr.DependsX|expr.DependsY)
	}}
	p.Facts = out.Facts()
	return out
}

func (pr *prover) budget() *budget { return &budget{left: pr.opts.MaxWork, ctx: pr.opts.Context} }

// study begins to study n, or goes on with what studies of it over the same
// region have found.
func (pr *prover) study(n *expr.Node, wrt expr.Deps, dom domain, work *budget) *study {
	key := studied{n, wrt, dom.same(pr.feasible)}
	lasting := key.feasible || dom.same(pr.everywhere)
	if known := pr.studies[key]; lasting && known != nil {
		s := *known
		s.work, s.coarse = work, false
		return &s
	}
	if n == pr.Upper.Objective {
		dom = pr.withMultipliers(dom)
	}
	s := newStudy(pr.Graph, n, wrt, dom, work)
	if s.shares = pr.shares; key.feasible {
		s.inside = pr.Inside
	}
	s.own, s.foreign = pr.Lower.Span, pr.Upper.Span
	if n == pr.Upper.Objective {
		s.own, s.foreign = s.foreign, s.own
	}
	if lasting {
		pr.studies[key] = s
	}
	return s
}

// studied says what a study is of: the region is all y or the feasible box.
type studied struct {
	root     *expr.Node
	wrt      expr.Deps
	feasible bool
}

// quadratic reads off the degrees of g in y and in both.
func (pr *prover) quadratic() Quadratic {
	g := pr.Lower.Objective
	d := pr.degree(g, expr.DependsY)
	return Quadratic{InY: d.Deg <= 2, FixedHessian: d.Deg <= 2 && !d.Square, Jointly: pr.degree(g, expr.DependsX|expr.DependsY).Deg <= 2}
}

// degree is that of n in y, or in both. Up to 2 its Hessian does not depend on the variables that the
// regions restrict.
func (pr *prover) degree(n *expr.Node, wrt expr.Deps) facts.Degree {
	return pr.study(n, wrt, pr.everywhere, &budget{}).degrees.Of(n)
}

// regions lists the domains on which a claim is tried, weakest claim last.
func (pr *prover) regions() []region {
	out := []region{{everywhere, pr.everywhere}}
	if pr.bounded {
		out = append(out, region{withinBounds, pr.feasible})
	}
	return out
}

type region struct {
	scope  Scope
	domain domain
}

// convexity proves a modulus, or looks for a witness where it can not.
func (pr *prover) convexity(out *Proof) Convexity {
	if re := pr.Restated; re != nil && re.Modulus > 0 {
		return pr.restatedConvexity(out)
	}
	a, last := pr.proveConvex(pr.Lower.Objective)
	if a != nil {
		out.end = a.extreme
		return Convexity{Outcome: proved, Modulus: a.modulus, Scope: a.scope, Derivation: a.derivation(pr)}
	}
	if w := pr.refute(); w != nil {
		return Convexity{Outcome: refuted, Witness: w, Linear: pr.degree(pr.Lower.Objective, expr.DependsY).Deg <= 1, Convex: last.convex}
	}
	return Convexity{Convex: last.convex, Blame: last.blame(pr), Derivation: last.derivation(pr)}
}

// proveConvex tries the scopes from the strongest on. a is nil where none is proved.
func (pr *prover) proveConvex(g *expr.Node) (a, last *attempt) {
	convex := false
	for _, r := range pr.regions() {
		for _, coarse := range []bool{true, false} {
			next := pr.attempt(g, r, coarse)
			convex = convex || next.modulus >= 0
			last = better(next, last)
			last.convex = convex
		}
		if last.modulus > 0 {
			return last, last
		}
		if pr.quadratic().InY {
			break // the ranges of y do not matter
		}
	}
	return pr.alongEqualities(last), last
}

// attempt is one trial at a modulus.
type attempt struct {
	*study
	region
	terms   []term
	form    *form
	extreme extreme
	modulus float64 // a lower bound of the Hessian's eigenvalues
	convex  bool    // that, or that of an attempt before it, is at least 0
}

func (pr *prover) attempt(g *expr.Node, r region, coarse bool) *attempt {
	s := pr.study(g, expr.DependsY, r.domain, pr.budget())
	s.coarse = coarse
	a := &attempt{study: s, region: r, terms: s.differentiate(false).terms}
	a.form = s.below(a.terms, false)
	if e := s.escapeOf(); e != nil {
		a.form.fail(&term{node: e.node})
	}
	a.extreme = a.form.least(s.work, pr.near)
	if a.modulus = a.extreme.bound; pr.Lower.Dim == 0 {
		a.modulus = 1 // as any other: there is no direction
	}
	return a
}

// better is the attempt with the larger modulus, the earlier one if equal.
func better(a, before *attempt) *attempt {
	if before != nil && before.modulus >= a.modulus && before.modulus > 0 {
		return before
	}
	return a
}

// finslerWeights are the multiples of the Hessian's size at which the equality
// rows are added: larger ones lose nothing but rounding.
var finslerWeights = []float64{1, 1e2, 1e4}

// alongEqualities tries to prove that the Hessian is positive definite along
// the equality rows B_= v = 0. If H + rho B_=' B_= >= mu I then v' H v >= mu
// |v|^2 for each such v (Finsler's lemma), whatever the rank of B_=.
func (pr *prover) alongEqualities(a *attempt) *attempt {
	rows := &jacobian{cols: pr.Lower.Dim, ptr: []int{0}}
	for i, row := range pr.Rows {
		if !row.Equal {
			continue
		}
		cols, vals := pr.B.Row(i)
		size := math.Sqrt(floats.Dot(vals, vals))
		if size == 0 {
			continue
		}
		// Scaling by a power of two is exact.
		_, e := math.Frexp(size)
		rows.col = append(rows.col, cols...)
		for _, v := range vals {
			rows.mid = append(rows.mid, math.Ldexp(v, -e))
		}
		rows.ptr = append(rows.ptr, len(rows.mid))
		rows.rows++
	}
	if rows.rows == 0 || a.form.failed != nil {
		return nil
	}
	scale := each.LargestBelow(a.form.n, func(c int) float64 { return math.Abs(a.form.diag[c]) + a.form.mass[c] })
	if scale == 0 {
		return nil
	}
	best := *a
	best.modulus = 0
	for _, m := range finslerWeights {
		work := pr.budget()
		s := *a.study
		s.work = work
		f := s.below(a.terms, false, signedTerm{term: &term{w: []Interval{point(m * scale)}}, a: rows, sign: 1})
		if e := f.least(work, pr.near); e.bound > best.modulus {
			best.form, best.extreme, best.modulus = f, e, e.bound
		}
	}
	if best.modulus <= 0 {
		return nil
	}
	best.scope = alongEqualities
	return &best
}

// boundSlack is what an upper bound on a constant may lose for speed: C_g sets
// step lengths, which a thousandth does not change.
const boundSlack = 1e-3

// hessianBound bounds the norm of the Hessian of n.
func (pr *prover) hessianBound(n *expr.Node, wrt expr.Deps) Bound {
	var out Bound
	for _, r := range pr.regions() {
		s := pr.study(n, wrt, r.domain, pr.budget())
		if e := s.escapeOf(); e != nil {
			out = Bound{Blame: s.blameNode(e.node, e.reason)}
			continue
		}
		terms := s.differentiate(false).terms
		upper := s.below(terms, true)
		value := max(0, -upper.least(s.work, pr.loose).bound)
		// The other end is often settled without a matrix.
		c := pr.study(n, wrt, r.domain, pr.budget())
		c.coarse = true
		lower := c.below(c.differentiate(false).terms, false)
		if least := -lower.least(c.work, effort{}).bound; least > value {
			lower = s.below(terms, false)
			value = max(value, min(least, -lower.least(s.work, pr.loose).bound))
		}
		if !math.IsInf(value, 1) {
			return Bound{Known: true, Value: value, Scope: r.scope, Derivation: s.boundStep(terms, value)}
		}
		failed := lower.failed
		if failed == nil {
			failed = upper.failed
		}
		if failed != nil {
			out = Bound{Blame: s.blameTerm(failed, "its second derivative is not bounded "+r.scope.String())}
		}
		if pr.degree(n, wrt).Deg <= 2 {
			break
		}
	}
	return out
}

// gradientBound bounds the norm of the gradient of n in x and y.
func (pr *prover) gradientBound(n *expr.Node) Bound {
	var out Bound
	for _, r := range pr.regions() {
		s := pr.study(n, expr.DependsX|expr.DependsY, r.domain, pr.budget())
		if e := s.escapeOf(); e != nil {
			out = Bound{Blame: s.blameNode(e.node, e.reason)}
			continue
		}
		total, open := 0.0, -1
		gradient := s.differentiate(true).gradient
		if s.work.ended() {
			return Bound{} // the gradient is not complete
		}
		for c, g := range gradient {
			if total = directed.AddUp(total, directed.MulUp(g.mag(), g.mag())); math.IsInf(total, 1) {
				open = c
				break
			}
		}
		if open < 0 {
			value := directed.SqrtUp(total)
			return Bound{Known: true, Value: value, Scope: r.scope, Derivation: s.gradientStep(value)}
		}
		out = Bound{Blame: &Blame{Expr: pr.entryName(open), Reason: "the objective's slope in it is not bounded over the ranges of x and y"}}
	}
	return out
}
