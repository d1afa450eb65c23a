package main

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"bilevelc/bench/campaign/truth"
	"bilevelc/internal/each"
	"bilevelc/runtime"
)

// finding is one statement of the tool that is not true, or (soft) one that
// does not say what a user would want without being false.
type finding struct {
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
	Soft   bool   `json:"soft,omitempty"`
	Reason string `json:"reason,omitempty"` // of an end that is no answer, without its numbers
}

// report is what one case came to.
type report struct {
	Seed     uint64    `json:"seed"`
	Family   string    `json:"family"`
	Outcomes []string  `json:"outcomes"`
	Seconds  float64   `json:"seconds,omitempty"` // of the solve of a system
	Findings []finding `json:"findings,omitempty"`
	Text     string    `json:"text,omitempty"`  // the last model asked about
	Wrong    string    `json:"wrong,omitempty"` // the model of a false statement
	// Small is the same with everything taken away that is not needed.
	Small         string    `json:"small,omitempty"`
	SmallFindings []finding `json:"small_findings,omitempty"`

	about string // what details begin with
}

func (r *report) false(kind, format string, args ...any) {
	r.Findings = append(r.Findings, finding{Kind: kind, Detail: r.about + fmt.Sprintf(format, args...)})
}

func (r *report) soft(kind, reason, format string, args ...any) {
	r.Findings = append(r.Findings, finding{Kind: kind, Detail: r.about + fmt.Sprintf(format, args...), Soft: true, Reason: generic(reason)})
}

func (r *report) outcome(format string, args ...any) {
	r.Outcomes = append(r.Outcomes, fmt.Sprintf(format, args...))
}

// caught is deferred by functions whose result is named r: a panic is a finding.
func (r *report) caught() {
	if err := recover(); err != nil {
		r.false("panic", "%v\n%s", err, debug.Stack())
	}
}

// lies counts what was found to be false so far.
func (r *report) lies() (n int) {
	for _, f := range r.Findings {
		if !f.Soft {
			n++
		}
	}
	return n
}

// examination is one model under the eyes of the truth.
type examination struct {
	*report
	model *truth.Model
	eval  *truth.Evaluator
	rng   *rand.Rand
	style style
	size  float64 // of the gradients of F over X
	text  string
}

// timeLimit is what a run of these small programs is given. Most take
// milliseconds; one that reaches it is counted as such.
const timeLimit = 10 * time.Second

// automatic is how many programs there are to one whose number of starts is left open.
const automatic = 5

// question is one text of a seed's program and how it is run.
type question struct {
	style style
	opts  runtime.Options
}

// questions draws the program of a seed and what is asked about it: the plain
// text first, then perhaps one in other units.
func questions(seed uint64) (m *truth.Model, family string, qs []question) {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))}
	m = g.model()
	s := style{matrices: g.chance(0.4), maxUpper: g.chance(0.2), maxLower: g.chance(0.2), turned: g.chance(0.2)}
	defaults := runtime.Options{Seed: 1, TimeLimit: timeLimit}
	opts := defaults
	if g.chance(0.25) {
		g.oddOptions(&opts)
	}
	// Most have one start: several are several runs of the same kind.
	if seed%automatic != 0 {
		defaults.Starts, opts.Starts = 1, max(opts.Starts, 1)
	}
	qs = []question{{s, opts}}
	if g.chance(0.4) {
		s.scale = scaling{X: g.unit(), Y: g.unit(), F: g.unit(), G: g.unit(), Rows: g.unit()}
		qs = append(qs, question{s, defaults})
	}
	return m, g.family, qs
}

// texts are the models of a seed.
func texts(seed uint64) (out []string) {
	m, _, qs := questions(seed)
	for _, q := range qs {
		out = append(out, write(m, q.style))
	}
	return out
}

// examine asks the tool about the program of a seed.
func examine(seed uint64) (r *report) {
	r = &report{Seed: seed}
	defer r.caught()
	m, family, qs := questions(seed)
	r.Family = family
	var plain *runtime.Result
	for _, q := range qs {
		plain = r.ask(m, q.style, q.opts, plain)
		if q.opts.Method+q.opts.Oracle+q.opts.Solver != "" {
			plain = nil // a copy that is run by default ends otherwise for that reason
		}
	}
	return r
}

// ask examines one text of the program and adds what it finds. plain is the
// result of the same program in other units, nil where there is none.
func (r *report) ask(m *truth.Model, s style, opts runtime.Options, plain *runtime.Result) *runtime.Result {
	e := newExamination(m, s, r.Seed)
	r.Text = e.text // what a panic is about
	result := e.run(opts)
	if plain != nil && opts.Method+opts.Oracle+opts.Solver == "" {
		e.compare(plain, result)
	}
	r.Outcomes = append(r.Outcomes, e.Outcomes...)
	r.Findings = append(r.Findings, e.Findings...)
	for _, f := range e.Findings {
		if f.Soft {
			continue
		}
		r.Wrong = e.text
		text, found := shrink(m, s, opts, f.Kind, r.Seed)
		if text != "" {
			r.Small, r.SmallFindings = text, found
		}
		break
	}
	return result
}

func (g *generator) unit() int {
	if g.chance(0.4) {
		return 0
	}
	return g.IntN(17) - 8
}

// run compiles the text, evaluates it at a few points and solves it.
func (e *examination) run(opts runtime.Options) *runtime.Result {
	model, err := runtime.Compile("model.blv", e.text)
	if err != nil {
		e.false("refused", "compile: %v", mainError(err))
		return nil
	}
	joint := e.model.JointInfeasibility()
	problem, err := model.Bind(nil, runtime.BindOptions{})
	if err != nil {
		switch said := mainError(err); {
		case joint > 0:
			e.outcome("refused at bind, and infeasible")
		case strings.Contains(said, "E0704") && e.entropic():
			// u log u has no derivative at 0, and the box of y includes 0: where
			// rows force y there, that is the truth.
			e.outcome("refused at bind: entropy at 0")
		default:
			e.false("refused", "bind: %s", said)
		}
		return nil
	}
	e.proofs(problem)
	e.points(problem)
	return e.solve(problem, opts, joint)
}

// mainError is the first error of a list, past its warnings.
func mainError(err error) string {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if strings.Contains(line, "error") {
			return line
		}
	}
	return firstLine(err)
}

func (e *examination) entropic() bool {
	return slices.ContainsFunc(e.model.G.Terms, func(t truth.Term) bool { return t.Kind == truth.Entropy })
}

func firstLine(err error) string {
	s, _, _ := strings.Cut(err.Error(), "\n")
	return s
}

// proofs compares the proved modulus with second derivatives at points.
func (e *examination) proofs(p *runtime.Problem) {
	mu := p.Proof.Facts().StrongConvexity
	if p.Units() == nil { // else that of Numeric is about another y
		mu = math.Max(mu, p.Numeric.Facts.StrongConvexity)
	}
	mu *= e.unitOf(-2*e.style.scale.Y+e.style.scale.G, -1)
	for range 3 {
		x := e.draw()
		if !e.model.Contains(x) { // what is proved is so for x in X
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

// unitOf is 10^(sign * exponent).
func (e *examination) unitOf(exponent, sign int) float64 { return math.Pow(10, float64(sign*exponent)) }

// draw is a point of the box of x, often on a grid where rows meet.
func (e *examination) draw() []float64 {
	x := make([]float64, e.model.Dx)
	grid := e.rng.IntN(2) == 0
	lo, hi := e.box()
	for j := range x {
		if grid {
			x[j] = lo[j] + (hi[j]-lo[j])*float64(e.rng.IntN(5))/4
		} else {
			x[j] = lo[j] + (hi[j]-lo[j])*e.rng.Float64()
		}
	}
	return x
}

// box is the box of x, or one around the origin where x is free.
func (e *examination) box() (lo, hi []float64) {
	lo, hi = make([]float64, e.model.Dx), make([]float64, e.model.Dx)
	for j := range lo {
		lo[j], hi[j] = -3, 3
		if e.model.XLo[j] != nil {
			lo[j], hi[j] = truth.Float(e.model.XLo[j]), truth.Float(e.model.XHi[j])
		}
	}
	return lo, hi
}

// unmet is the size of F's gradients, in the units of the truth, where numbers are about 1,
// before one was met.
const unmet = 1e-9

// points asks for F at a few points and measures the size of its gradients.
func (e *examination) points(p *runtime.Problem) {
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
		scaled := e.times(x, e.style.scale.X)
		ctx, cancel := context.WithTimeout(context.Background(), timeLimit)
		r, err := p.Eval(ctx, runtime.Values{{Name: "x", Shape: []int{len(x)}, Data: scaled}}, runtime.Options{})
		cancel()
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

// upperPoint reads x of a result in the units of the truth.
func (e *examination) upperPoint(r *runtime.Result) []float64 {
	v, _ := r.Upper.Variables.Get("x")
	return e.times(v.Data, -e.style.scale.X)
}

// exactPoint is upperPoint without rounding.
func (e *examination) exactPoint(r *runtime.Result) []*big.Rat {
	v, _ := r.Upper.Variables.Get("x")
	return each.Of(v.Data, func(t float64) *big.Rat {
		unit, _ := new(big.Rat).SetString(fmt.Sprintf("1e%d", -e.style.scale.X))
		return unit.Mul(unit, new(big.Rat).SetFloat64(t))
	})
}

func (e *examination) times(v []float64, exponent int) []float64 {
	return each.Of(v, func(t float64) float64 { return t * e.unitOf(exponent, 1) })
}
