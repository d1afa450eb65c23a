package main

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"bilevelc/bench/campaign/truth"
	"bilevelc/internal/each"
	"bilevelc/runtime"
)

// automatic is how many programs there are to one whose number of starts is left open.
const automatic = 5

// question is one text of a seed's program and how it is run.
type question struct {
	*system
	opts runtime.Options
}

func (q question) byDefault() bool { return q.opts.Method+q.opts.Oracle+q.opts.Solver == "" }

// questions draws the program of a seed and what is asked about it: the plain
// text first, then perhaps one in other units.
func questions(seed uint64) []question {
	g := newGenerator(seed, 0x9e3779b97f4a7c15, 6)
	g.model()
	s := g.finish()
	s.tables, s.maxF, s.maxG, s.turned = g.chance(0.4), g.chance(0.2), g.chance(0.2), g.chance(0.2)
	defaults := runtime.Options{Seed: 1, TimeLimit: timeLimit}
	opts := defaults
	if g.chance(0.25) {
		g.oddOptions(&opts)
	}
	// Most have one start: several are several runs of the same kind.
	if seed%automatic != 0 {
		defaults.Starts, opts.Starts = 1, max(opts.Starts, 1)
	}
	qs := []question{{s, opts}}
	if g.chance(0.4) {
		t := s.clone()
		t.ux, t.uy = slices.Repeat([]int{g.exponent()}, s.Dx), slices.Repeat([]int{g.exponent()}, s.Dy)
		t.uf, t.ug = g.exponent(), g.exponent()
		t.ur = slices.Repeat([]int{g.exponent()}, max(len(s.Rows), len(s.Upper)))
		t.uu = t.ur
		qs = append(qs, question{t, defaults})
	}
	return qs
}

// examine asks the tool about the program of a seed.
func examine(seed uint64) *report {
	r := &report{Seed: seed}
	var plain *runtime.Result
	for _, q := range questions(seed) {
		r.Family = q.family
		if plain = r.examined(q, plain); !q.byDefault() {
			plain = nil // a copy that is run by default ends otherwise for that reason
		}
	}
	return r
}

// examined asks one question. plain is the result of the same program in other units, nil where there is none.
func (r *report) examined(q question, plain *runtime.Result) (result *runtime.Result) {
	r.asked(q.system, func(own *report, s *system) {
		e := newExamination(own, s)
		got := e.run(q.opts)
		if s != q.system {
			return
		}
		if result = got; plain != nil && q.byDefault() {
			e.compare(plain, result)
		}
	})
	return result
}

// examination is one program under the eyes of an evaluator: the follower's answers, the gradients of F and what is stationary.
type examination struct {
	*inquiry
	eval *truth.Evaluator
	size float64 // of the gradients of F over X
}

func newExamination(r *report, s *system) *examination {
	return &examination{inquiry: newInquiry(r, s, 7), eval: truth.NewEvaluator(s.System)}
}

// scaling are the units that a program is written in, as powers of ten: x' = 10^X x, and so on; every row is multiplied by 10^Rows.
type scaling struct{ X, Y, F, G, Rows int }

func (s *system) scale() scaling { return scaling{at(s.ux, 0), at(s.uy, 0), s.uf, s.ug, at(s.ur, 0)} }

// exponent draws the unit of one kind of number.
func (g *generator) exponent() int {
	if g.chance(0.4) {
		return 0
	}
	return g.IntN(17) - 8
}

// run evaluates the program at a few points and solves it.
func (e *examination) run(opts runtime.Options) *runtime.Result {
	joint := e.eval.JointInfeasibility()
	if !e.bind(func(said string) string {
		switch {
		case joint > 0:
			return ", and infeasible"
		case strings.Contains(said, "E0704") && e.entropic():
			// u log u has no derivative at 0, and the box of y includes 0: where
			// rows force y there, that is the truth.
			return ": entropy at 0"
		}
		return ""
	}) {
		return nil
	}
	e.proofs()
	e.points()
	return e.solve(opts, joint)
}

func (e *examination) entropic() bool {
	return slices.ContainsFunc(e.LowerTerms, func(t truth.Term) bool { return t.Kind == truth.Entropy })
}

// proofs compares the proved modulus with second derivatives at points.
func (e *examination) proofs() {
	p, s := e.problem, e.scale()
	mu := p.Proof.Facts().StrongConvexity
	if p.Units() == nil { // else that of Numeric is about another y
		mu = math.Max(mu, p.Numeric.Facts.StrongConvexity)
	}
	mu *= math.Pow10(2*s.Y - s.G)
	for range 3 {
		x := e.draw()
		if !e.eval.Contains(x) { // what is proved is so for x in X
			continue
		}
		pt, ok := e.eval.At(x)
		if !ok || pt.Violation > 1e-6 {
			continue
		}
		if least := e.eval.LeastCurvature(pt, p.Proof.Convexity.Scope.String() == "along the equality rows"); mu > least*(1+1e-9) {
			e.false("proof", "modulus %.6g proved, the Hessian has %.6g at x = %v", mu, least, x)
			return
		}
	}
}

// draw is a point of the box of x, often on a grid where rows meet.
func (e *examination) draw() []float64 {
	grid := e.rng.IntN(2) == 0
	return each.Below(e.Dx, func(j int) float64 {
		lo, hi := e.side(j)
		if grid {
			return lo + (hi-lo)*float64(e.rng.IntN(5))/4
		}
		return lo + (hi-lo)*e.rng.Float64()
	})
}

// unlimited reports that x is free.
func (e *examination) unlimited() bool { return math.IsInf(e.Lo[0], -1) }

// side is one of the box of x, or of one around the origin where x is free.
func (e *examination) side(j int) (lo, hi float64) {
	if e.unlimited() {
		return -3, 3
	}
	return e.Lo[j], e.Hi[j]
}

// unmet is the size of F's gradients, in the units of the truth, where numbers are about 1,
// before one was met.
const unmet = 1e-9

// points asks for F at a few points and measures the size of its gradients.
func (e *examination) points() {
	e.size = unmet
	for k := range 6 {
		x := e.draw()
		pt, ok := e.eval.At(x)
		if ok && pt.Violation <= 1e-6 {
			e.size = math.Max(e.size, largest(pt.Grad))
		}
		if k >= 3 {
			continue
		}
		r, err := e.evaluate(x)
		if err != nil {
			e.false("eval error", "%v at x = %v", firstLine(err), x)
			continue
		}
		e.outcome("eval %s", r.Status)
		switch r.Status {
		case runtime.Solved:
			e.statements(r, "eval")
		case runtime.Infeasible:
			if t := e.eval.Infeasibility(x); t <= 1e-13 {
				e.false("eval infeasible", "a y satisfies all rows up to %.3g at x = %v: %s", t, x, r.Reason)
			}
		case runtime.Unbounded:
			e.false("eval unbounded", "g is strongly convex: %s", r.Reason)
		default:
			e.soft("eval "+r.Status.String(), "", "%s at x = %v", r.Reason, x)
		}
	}
}

// exactPoint is x of a result in the units of the truth, without rounding.
func (e *examination) exactPoint(r *runtime.Result) []*big.Rat {
	v, _ := r.Upper.Variables.Get("x")
	return each.Of(v.Data, func(t float64) *big.Rat {
		unit, _ := new(big.Rat).SetString(fmt.Sprintf("1e%d", -e.scale().X))
		return unit.Mul(unit, new(big.Rat).SetFloat64(t))
	})
}
