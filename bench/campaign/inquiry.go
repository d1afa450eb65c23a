package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"bilevelc/bench/campaign/truth"
	"bilevelc/bench/clock"
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

// asked asks about a program, and where something is false takes away from it what that does not need.
func (r *report) asked(s *system, ask func(*report, *system)) {
	try := func(s *system) (own *report) {
		own = &report{Seed: r.Seed, Family: r.Family, Text: s.text()}
		defer own.caught()
		ask(own, s)
		return own
	}
	own := try(s)
	r.Outcomes, r.Findings = append(r.Outcomes, own.Outcomes...), append(r.Findings, own.Findings...)
	r.Text, r.Seconds = own.Text, own.Seconds
	k := slices.IndexFunc(own.Findings, func(f finding) bool { return !f.Soft })
	if k < 0 {
		return
	}
	r.Wrong = own.Text
	small, found := reduce(s, func(t *system) []finding {
		again := try(t).Findings
		if slices.ContainsFunc(again, func(f finding) bool { return f.Kind == own.Findings[k].Kind && !f.Soft }) {
			return again
		}
		return nil
	})
	if found != nil {
		r.Small, r.SmallFindings = small.text(), found
	}
}

// timeLimit is what a run of these small programs is given. Most take
// milliseconds; one that reaches it is counted as such.
const timeLimit = 10 * time.Second

// slow is what a run may take beyond its limit.
const slow = 5 * time.Second

// within starts a run that has a limit; what it returns is called at its end. On a machine that does other work a limit is met late: what counts
// is the time that this process had, and of a run that waits, ten times the limit.
func (r *report) within(limit time.Duration) (ended func(what string)) {
	began, worked := time.Now(), clock.Process()
	return func(what string) {
		if took, late := time.Since(began), limit+slow; took > late && (clock.Process()-worked > late || took > 10*late) {
			r.false("beyond the time limit", "%s: %v for a limit of %v", what, took, limit)
		}
	}
}

// inquiry is one program under the eyes of the truth.
type inquiry struct {
	*report
	*system
	rng     *rand.Rand
	problem *runtime.Problem
	best    *truth.Answer // F's least value, of what is enumerated
}

func newInquiry(r *report, s *system, stream uint64) *inquiry {
	return &inquiry{report: r, system: s, rng: rand.New(rand.NewPCG(r.Seed, stream))}
}

// bind compiles and binds the text. excuse says why that may be refused with an error, "" where it may not.
func (r *report) bind(excuse func(said string) string) *runtime.Problem {
	model, err := runtime.Compile("model.blv", r.Text)
	if err != nil {
		r.false("refused", "compile: %s", mainError(err))
		return nil
	}
	problem, err := model.Bind(nil, runtime.BindOptions{})
	if err == nil {
		return problem
	}
	said := mainError(err)
	if why := excuse(said); why != "" {
		r.outcome("refused at bind%s", why)
	} else {
		r.false("refused", "bind: %s", said)
	}
	return nil
}

func (q *inquiry) bind(excuse func(said string) string) bool {
	q.problem = q.report.bind(excuse)
	return q.problem != nil
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

func firstLine(err error) string {
	s, _, _ := strings.Cut(err.Error(), "\n")
	return s
}

// read gives entries by the names that the model has for them.
func (q *inquiry) read(vs runtime.Values, name string, n int, units []int) []float64 {
	out := make([]float64, n)
	for j := range out {
		if v, ok := vs.Get(name); ok {
			out[j] = v.Data[j]
		} else if v, ok := vs.Get(fmt.Sprintf("%s%d", name, j+1)); ok {
			out[j] = v.Data[0]
		} else {
			out[j] = math.NaN()
		}
		out[j] *= math.Pow10(-at(units, j))
	}
	return out
}

func (q *inquiry) upperOf(vs runtime.Values) []float64 { return q.read(vs, "x", q.Dx, q.ux) }
func (q *inquiry) lowerOf(r *runtime.Result) []float64 {
	return q.read(r.Lower.Variables, "y", q.Dy, q.uy)
}

// ofF is F in the truth's sense and units.
func (q *inquiry) ofF(v runtime.Number) float64 {
	if q.maxF {
		v = -v
	}
	return float64(v) * math.Pow10(-q.uf)
}

// multipliers are those of the rows that are not bounds, 0 for the others.
func (q *inquiry) multipliersOf(r *runtime.Result) []float64 {
	out := make([]float64, len(q.Rows))
	for i := range out {
		if v, ok := r.Lower.Multipliers.Get(fmt.Sprintf("r%d", i+1)); ok && q.bound[i] == 0 {
			out[i] = v.Data[0] * math.Pow10(at(q.ur, i)-q.ug)
		}
	}
	return out
}

// evaluate asks for F and the follower's answers at x.
func (q *inquiry) evaluate(x []float64) (*runtime.Result, error) {
	values := runtime.Values{}
	if q.vector {
		values = runtime.Values{{Name: "x", Shape: []int{q.Dx}}}
	}
	for j := range x {
		v := x[j] * math.Pow10(at(q.ux, j))
		if q.vector {
			values[0].Data = append(values[0].Data, v)
		} else {
			values = append(values, runtime.Value{Name: q.x(j), Data: []float64{v}})
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeLimit)
	defer cancel()
	return q.problem.Eval(ctx, values, runtime.Options{})
}

// verified asks the tool to check its own document, of which something was found to be
// wrong, or nothing.
func (q *inquiry) verified(r *runtime.Result, how string, wrong bool) {
	report, err := q.problem.Verify(r)
	if err != nil {
		q.false("verify error", "%s, %s: %v", how, r.Status, firstLine(err))
		return
	}
	failed := ""
	if f := report.Failures(); len(f) > 0 {
		failed = f[0].Claim + ": " + f[0].Detail
	}
	switch {
	case failed == "" && wrong:
		q.false("verify accepts", "%s, %s: a document with the false statement above", how, r.Status)
	case failed != "" && r.Status == runtime.NumericalFailure:
		q.soft("verify rejects a failed run", "", "%s: %s", how, failed)
	case failed != "" && !wrong:
		q.false("verify rejects", "%s, %s: %s", how, r.Status, failed)
	}
}
