package runtime

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"bilevelc/internal/must"
	"bilevelc/ir"
	"bilevelc/lang/diag"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/method"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/tolerance"
)

// Options are the choices of a run. The zero value solves with the model's
// own `solve` block and the defaults of its class.
type Options struct {
	Method string // outer method; "": the model's, else by class (outer.Default)
	Oracle string // hypergradient oracle; "": the model's, else oracle.Default
	Solver string // lower solver; "": the model's, else lower.Choose
	// Settings of the outer method, the oracle and the lower solver by name.
	// A name that two of them have goes to the first in that order unless it
	// is written with its owner, "alm.tolerance". They override the model's.
	Settings method.Values

	Start Values // upper variables to start from; nil: the model's, else chosen in X
	// Starts is the number of starts, the first from Start. 0: the model's, or else one
	// where a start or a method is given, or where the problem has a path along the
	// central path; and for all others as many as the stopping rule of Boender and
	// Rinnooy Kan asks for, at most outer.MostStarts(). On the KKT system there are that many
	// where they are a quarter of a second's work, whatever the size, as far as nothing bounds F.
	Starts int
	// FirstStart is the number of the first start, from 1, as a part of a run with more
	// of them: each start is what it is there. 0: the first.
	FirstStart int
	Seed       uint64        // of all randomness of the run
	MaxIter    int           // outer iterations of each start; 0: the method's default
	TimeLimit  time.Duration // 0: none
	// Gap is the relative gap of objective and bound at which the search for the global optimum ends; 0: tolerance.Target. Nodes is the most relaxations that it
	// solves; 0: as many as Search says. Both are of problems that are solved on the KKT system.
	Gap     float64
	Nodes   int64
	Search  Search
	Threads int // starts, or independent followers, solved at once; results do not depend on it; 0: one
	// Near, where not nil, is a result on a problem like this one: other numbers, the
	// same upper variables. The run follows that solution to where it has moved, which
	// is cheap, and does not look elsewhere: it starts there, and ends at the first point that has a certificate. Where that does
	// not fit (ties, several starts, other shapes) the run is as without it.
	Near *Result
	// Resume is where to go on; Start, Seed and Gap are then the checkpoint's, and so are Search and Nodes where neither is set: a search that met a limit goes on to another.
	Resume *Checkpoint
	// CheckGradient compares the hypergradient at the result with finite
	// differences of F.
	CheckGradient bool
	// Sensitivity adds the derivatives of F, y* and its multipliers in every entry of x
	// to an evaluation.
	Sensitivity bool
	Observer    Observer // nil: none
	// Announce, where not nil, is told what the method's theorem asks of the first
	// start before that runs, where it asks for anything.
	Announce func(Budget)
	// Keep, where not nil, is given the state of a run that goes on every KeepEvery
	// (0: 30 s), between two iterations, one call at a time. It runs on a solver's
	// goroutine and changes nothing of the run.
	Keep      func(*Checkpoint)
	KeepEvery time.Duration

	offSystem bool    // solve as where the KKT system is not of linear rows and pairs, for tests of the methods that then serve
	automatic bool    // Starts is the most of them
	open      bool    // nobody has said how many starts there are to be
	gain      float64 // outer.Limits.Gain
}

// searching sets how many starts a run has that nobody has said anything of.
func (p *Problem) searching(opts Options) Options {
	if opts.Resume != nil {
		opts.automatic, opts.open = opts.Resume.Automatic, opts.Resume.Open
		return opts
	}
	// A point that somebody has chosen is where the search is to be.
	open := opts.Starts == 0 && opts.FirstStart == 0 && opts.Start == nil && p.IR.Start == nil && opts.Method == "" &&
		!slices.ContainsFunc(p.IR.Settings, func(s ir.Setting) bool { return s.Name == "method" || s.Name == "starts" })
	opts.automatic, opts.open = (p.small() || p.newton()) && open, open
	return opts
}

// smoothF reports that f is proved to be smooth.
func (p *Problem) smoothF() bool { return p.Proof.SmoothF.Outcome.String() == "proved" }

// small reports that a search in full costs little.
func (p *Problem) small() bool { return p.IR.Upper.Dim+p.IR.Lower.Dim < tolerance.LeastSparse }

// newton reports that F is smooth and has Newton's method (method bfgs of package outer): a start costs little there, however many variables there are.
func (p *Problem) newton() bool {
	return p.smoothF() && outer.Newton(p.Numeric)
}

// MaxStarts bounds the starts of a run, each of which keeps a result.
const MaxStarts = 1_000_000

// validate reports a choice out of its range.
func (o *Options) validate() (err error) {
	defer func() { err = usage(err) }()
	defer must.Catch(&err)
	for _, c := range []struct {
		name  string
		value int
	}{{"Starts", o.Starts}, {"FirstStart", o.FirstStart}, {"MaxIter", o.MaxIter}, {"Threads", o.Threads}} {
		must.Be(c.value >= 0, "%s is %d; it is at least 1, or 0 for the default", c.name, c.value)
	}
	must.Be(o.FirstStart <= MaxStarts && (o.FirstStart <= 1 || o.Resume == nil), "start %d is not one of at most %d of a run from its beginning", o.FirstStart, MaxStarts)
	must.Be(o.Starts <= MaxStarts, "%d starts are more than the %d that a run may have", o.Starts, MaxStarts)
	must.Be(o.Gap >= 0 && !math.IsInf(o.Gap, 1) && o.Nodes >= 0 && o.Search <= SearchFully, "a gap of %v, %d nodes: they are positive, or 0 for the default", o.Gap, o.Nodes)
	must.Be(o.Search != SearchNone || o.Gap == 0 && o.Nodes == 0, "a local solution only leaves out the search that a gap and nodes are about")
	must.Be(o.TimeLimit >= 0 && o.KeepEvery >= 0, "a time limit of %v, a state kept every %v: times are positive, or 0 for the default", o.TimeLimit, o.KeepEvery)
	return nil
}

// general are the names of the `solve` block that are not settings of a
// method.
var general = []string{"method", "oracle", "solver", "starts", "max_iter", "time_limit", "gap", "nodes", "ties", "tau"}

// resolve fills what the options leave open from the model's `solve` block
// and from the defaults. A fault of the block is a diag.List that points at
// its entry.
func (p *Problem) resolve(opts Options) (_ Options, err error) {
	defer must.Catch(&err)
	if opts.Resume != nil {
		opts = opts.Resume.completeOptions(opts)
	}
	must.Do(opts.validate())
	settings := method.Values{}
	for _, s := range p.IR.Settings {
		must.Do(located(s.Span, opts.fill(s, settings)))
	}
	if opts.Method == "" {
		opts.Method = outer.Default(p.Numeric, p.smoothF())
	}
	open := opts.Solver == ""
	opts.Oracle, opts.Solver = cmp.Or(opts.Oracle, oracle.Default), cmp.Or(opts.Solver, lower.Default)
	for _, s := range p.IR.Settings {
		must.Do(located(s.Span, lookup(s)))
	}
	// The block's settings are checked on their own first, so that a fault in
	// one is not taken for a fault of the caller's.
	for _, s := range p.IR.Settings {
		if value, isSetting := settings[s.Name]; isSetting {
			_, err := opts.split(method.Values{s.Name: value})
			must.Do(located(s.Span, err))
		}
	}
	maps.Copy(settings, opts.Settings)
	opts.Settings = settings
	if open {
		// Settings that only the default solver has ask for it.
		best := opts
		best.Solver = lower.Choose(p.Numeric)
		if _, err := best.split(settings); err == nil {
			opts.Solver = best.Solver
		}
	}
	if opts.Starts > 0 {
		opts.automatic = opts.automatic && opts.Resume != nil
	} else if opts.automatic {
		opts.Starts = outer.MostStarts()
	}
	opts.Starts = max(opts.Starts, 1)
	opts.Threads = max(opts.Threads, 1)
	return opts, nil
}

// lookup reports a method of the `solve` block that does not exist.
func lookup(s ir.Setting) (err error) {
	switch s.Name {
	case "method":
		if s.Word != SystemMethod {
			_, err = outer.Lookup(s.Word)
		}
	case "oracle":
		_, err = oracle.Lookup(s.Word)
	case "solver":
		_, err = lower.Lookup(s.Word)
	}
	return err
}

// fill takes one entry of the `solve` block where the options leave it open.
func (o *Options) fill(s ir.Setting, settings method.Values) error {
	if slices.Contains([]string{"method", "oracle", "solver", "ties"}, s.Name) != s.IsWord && slices.Contains(general, s.Name) {
		return fmt.Errorf("%s takes %s", s.Name, map[bool]string{true: "a number, not a word", false: "the name of a method"}[s.IsWord])
	}
	switch s.Name {
	case "method":
		o.Method = cmp.Or(o.Method, s.Word)
	case "oracle":
		o.Oracle = cmp.Or(o.Oracle, s.Word)
	case "solver":
		o.Solver = cmp.Or(o.Solver, s.Word)
	case "ties", "tau": // part of the problem, see ties.go
	case "starts", "max_iter", "nodes":
		if s.Value != math.Trunc(s.Value) || s.Value < 1 || s.Value >= 1<<53 {
			return fmt.Errorf("%s is a whole number of at least 1, not %v", s.Name, s.Value)
		}
		if s.Name == "starts" && s.Value > MaxStarts {
			return fmt.Errorf("%.0f starts are more than the %d that a run may have", s.Value, MaxStarts)
		}
		switch {
		case s.Name == "starts":
			o.Starts = cmp.Or(o.Starts, int(s.Value))
		case s.Name == "max_iter":
			o.MaxIter = cmp.Or(o.MaxIter, int(s.Value))
		case o.Search == SearchBudget: // other ways say themselves how long they search
			o.Nodes = cmp.Or(o.Nodes, int64(s.Value))
		}
	case "gap":
		if !(s.Value > 0) || math.IsInf(s.Value, 1) {
			return fmt.Errorf("gap is a positive number, not %v", s.Value)
		}
		if o.Search != SearchNone {
			o.Gap = cmp.Or(o.Gap, s.Value)
		}
	case "time_limit":
		// A Duration holds some 292 years.
		if !(s.Value > 0 && s.Value*float64(time.Second) < math.MaxInt64) {
			return fmt.Errorf("time_limit is a positive number of seconds that a clock can measure, not %v", s.Value)
		}
		o.TimeLimit = cmp.Or(o.TimeLimit, time.Duration(s.Value*float64(time.Second)))
	default:
		if s.IsWord {
			settings[s.Name] = s.Word
		} else {
			settings[s.Name] = s.Value
		}
	}
	return nil
}

// UsageError is a choice of the caller that does not fit: a method that does
// not exist or does not apply, a setting out of its range, a point of the
// wrong shape.
type UsageError struct {
	Err   error
	Point bool // the point that was given is at fault
}

func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *UsageError) Unwrap() error { return e.Err }

// usage is an error, where there is one, as a choice of the caller's.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &UsageError{Err: err}
}

// located turns an error of the `solve` block, where there is one, into a diagnostic.
func located(at diag.Span, err error) error {
	if err == nil {
		return nil
	}
	var diags diag.List
	diags.Errorf(diag.RunSetting, at, "%v", err)
	return diags
}
