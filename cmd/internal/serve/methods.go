package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"time"

	"bilevelc/internal/atomicfile"
	"bilevelc/internal/await"
	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/ir/data"
	"bilevelc/ir/datafile"
	"bilevelc/runtime"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/method"
)

// method carries out a request. What ends it (package must) is an *Error, or an error of the runtime.
type methodFunc func(s *server, t *task) any

// methods are all but cancel, which the reader carries out.
var methods map[string]methodFunc

func init() { // it refers to itself
	methods = map[string]methodFunc{"hello": (*server).hello, "compile": (*server).compile, "bind": (*server).bind,
		"update": (*server).update, "solve": (*server).solve, "evaluate": (*server).evaluate, "verify": (*server).verify, "close": (*server).close}
}

func methodNames() []string { return append(slices.Sorted(maps.Keys(methods)), "cancel") }

// model is a compiled model, and bound a problem of one.
type model struct {
	*runtime.Model
	name string
}

type bound struct {
	*runtime.Problem
	inputs runtime.Inputs
	last   *runtime.Result                // the last solution with a point; nil before one
	layers map[string]*runtime.Layer      // by the methods that were asked for
	points map[string]*runtime.Evaluation // the last of each layer
}

// name is the next name of a kind: m1, m2, ...
func (s *server) name(kind string) string {
	s.made[kind]++
	return fmt.Sprintf("%s%d", kind, s.made[kind])
}

// hold ends a request whose parameters are wrong.
func hold(so bool, format string, args ...any) {
	if !so {
		must.Do(failure(wrongParams, format, args...))
	}
}

// used is what a client gave that can be used.
func used[T any](v T, err error) T {
	if err != nil {
		must.Do(&runtime.UsageError{Err: err})
	}
	return v
}

func (s *server) hello(t *task) any {
	var p struct {
		Protocol *int `json:"protocol"`
	}
	must.Do(decode(t.Params, &p))
	if p.Protocol != nil {
		hold(*p.Protocol == protocol, "this version speaks protocol %d, not %d", protocol, *p.Protocol)
	}
	return map[string]any{"protocol": protocol, "version": s.version, "result_schema": runtime.SchemaVersion, "methods": methodNames()}
}

func (s *server) compile(t *task) any {
	var p struct {
		Path string  `json:"path"`
		Text *string `json:"text"`
		Name string  `json:"name"`
	}
	must.Do(decode(t.Params, &p))
	hold((p.Text == nil) != (p.Path == ""), `params: a model is given by its "path", or by its "text" with a "name" for messages`)
	name := p.Path
	if p.Text != nil {
		name = cmp.Or(p.Name, "model.blv")
	}
	compiled := must.Get(await.Do(t.ctx, func() (*runtime.Model, error) {
		text := p.Text
		if text == nil {
			read, err := datafile.ReadFile(p.Path, nil, maxModel)
			if err != nil {
				return nil, &runtime.UsageError{Err: err}
			}
			text = &read
		}
		return runtime.CompileContext(t.ctx, name, *text)
	}))
	handle := s.name("m")
	s.models[handle] = &model{compiled, name}
	return map[string]any{"model": handle, "name": compiled.Program.Name, "inputs": inputsOf(compiled.Program),
		"warnings": findings(compiled.Warnings), "warnings_text": textOf(compiled.Warnings)}
}

// maxModel bounds a model's file as the command line does: numbers belong into data.
const maxModel = 1 << 24

// supplied are the parameters of bind and update that give data.
type supplied struct {
	Data  map[string]json.RawMessage `json:"data"`
	Files []string                   `json:"files"`
	Set   []string                   `json:"set"`
}

func (s *server) bind(t *task) any {
	var p struct {
		Model string `json:"model"`
		supplied
		Seed   uint64 `json:"seed"`
		Strict bool   `json:"strict"`
		Ignore bool   `json:"ignore_undeclared"`
	}
	p.Seed = 1
	must.Do(decode(t.Params, &p))
	m, ok := s.models[p.Model]
	hold(ok, "params: there is no model %q", p.Model)
	problem := must.Get(await.Do(t.ctx, func() (*runtime.Problem, error) {
		set, err := p.read()
		if err != nil {
			return nil, err
		}
		return m.BindSet(set, runtime.BindOptions{Context: t.ctx, Seed: p.Seed, Strict: p.Strict, IgnoreUndeclared: p.Ignore})
	}))
	handle := s.name("p")
	s.problems[handle] = &bound{Problem: problem,
		inputs: runtime.Inputs{Model: m.name, Data: p.Files, Set: p.Set, DataSeed: p.Seed, Ignore: p.Ignore}}
	return describe(handle, problem)
}

func (s *server) update(t *task) any {
	var p struct {
		Problem string `json:"problem"`
		supplied
	}
	must.Do(decode(t.Params, &p))
	b := s.problem(p.Problem)
	next := must.Get(await.Do(t.ctx, func() (*runtime.Problem, error) {
		set, err := p.read()
		if err != nil {
			return nil, err
		}
		return b.UpdateSet(t.ctx, set)
	}))
	// The new problem has the old name, and what was learned of the old one.
	inputs := b.inputs
	inputs.Data, inputs.Set = append(slices.Clone(inputs.Data), p.Files...), append(slices.Clone(inputs.Set), p.Set...)
	s.problems[p.Problem] = &bound{Problem: next, inputs: inputs, last: b.last}
	return describe(p.Problem, next)
}

// read makes a set of what a client supplies. The error is a diag.List.
func (p *supplied) read() (*data.Set, error) {
	var all datafile.Sum
	for _, spec := range p.Files {
		all.Add(datafile.Load(spec, nil))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Data)) {
		all.Add(entry(name, p.Data[name]))
	}
	for _, spec := range p.Set {
		all.Add(datafile.ParseSet(spec))
	}
	return &all.Set, all.Diagnostics.Err()
}

func (s *server) problem(handle string) *bound {
	b, ok := s.problems[handle]
	hold(ok, "params: there is no problem %q", handle)
	return b
}

// redraw is how often a run tells of itself at most: as often as the command line draws
// its progress.
const redraw = 100 * time.Millisecond

func (s *server) solve(t *task) any {
	var p struct {
		Problem       string         `json:"problem"`
		Method        string         `json:"method"`
		Oracle        string         `json:"oracle"`
		Solver        string         `json:"solver"`
		Options       method.Values  `json:"options"`
		Start         runtime.Values `json:"start"`
		Starts        int            `json:"starts"`
		Seed          uint64         `json:"seed"`
		MaxIter       int            `json:"max_iter"`
		TimeLimit     float64        `json:"time_limit"`
		Threads       int            `json:"threads"`
		Search        string         `json:"search"`
		Gap           float64        `json:"gap"`
		Nodes         int64          `json:"nodes"`
		Proof         string         `json:"proof"`
		CheckGradient bool           `json:"check_gradient"`
		Warm          bool           `json:"warm"`
		Progress      bool           `json:"progress"`
	}
	p.Seed = 1
	must.Do(decode(t.Params, &p))
	b := s.problem(p.Problem)
	hold(p.TimeLimit >= 0 && p.TimeLimit*float64(time.Second) < math.MaxInt64, "params: time_limit is a positive number of seconds that a clock can measure, not %v", p.TimeLimit)
	search, err := runtime.ParseSearch(p.Search)
	hold(err == nil, "params: %v", err)
	hold(p.Proof == "" || search != runtime.SearchNone, "params: a local solution only leaves out the search that a proof is of")
	opts := runtime.Options{Method: p.Method, Oracle: p.Oracle, Solver: p.Solver, Settings: p.Options, Start: p.Start,
		Starts: p.Starts, Seed: p.Seed, MaxIter: p.MaxIter, TimeLimit: time.Duration(p.TimeLimit * float64(time.Second)),
		Threads: p.Threads, CheckGradient: p.CheckGradient, Search: search, Gap: p.Gap, Nodes: p.Nodes}
	if p.Warm {
		opts.Near = b.last
	}
	if p.Progress {
		began, told, searching := time.Now(), time.Time{}, false
		opts.Observer = func(now runtime.Progress) {
			if time.Since(told) < redraw && (now.Tree != nil) == searching {
				return
			}
			told, searching = time.Now(), now.Tree != nil
			params := map[string]any{"id": t.ID, "start": now.Start, "starts": now.Starts,
				"iteration": now.Iteration, "objective": runtime.Number(now.Objective), "best": runtime.Number(now.Best),
				"step": runtime.Number(now.Step), "measure": runtime.Number(now.Measure), "calls": now.Calls,
				"seconds": told.Sub(began).Seconds()}
			if n := now.Tree; n != nil {
				params["tree"] = map[string]any{"nodes": n.Nodes, "open": n.Open, "bound": runtime.Number(n.Bound), "gap": runtime.Number(n.Gap)}
			}
			s.write(response{Method: "progress", Params: params})
		}
	}
	r := must.Get(b.Solve(t.ctx, opts))
	if r.HasPoint() {
		b.last = r
	}
	inputs := b.inputs
	r.Inputs = &inputs
	answer := map[string]any{"result": r, "diagnostics": findings(r.Diagnostics), "diagnostics_text": textOf(r.Diagnostics)}
	if p.Proof != "" {
		if err := prove(t.ctx, r, p.Proof); err != nil {
			answer["no_proof"] = err.Error()
		}
	}
	return answer
}

// prove writes the proof of a result's global bound to a file, and has the result say so. A time limit is of the run alone.
func prove(ctx context.Context, r *runtime.Result, path string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := atomicfile.Stream(path, func(w io.Writer) error { return r.WriteProof(ctx, w) }); err != nil {
		return err
	}
	r.Global.Proof = path
	return nil
}

func (s *server) verify(t *task) any {
	var p struct {
		Problem string          `json:"problem"`
		Result  json.RawMessage `json:"result"`
		Proof   string          `json:"proof"`
	}
	must.Do(decode(t.Params, &p))
	b := s.problem(p.Problem)
	r := used(runtime.ReadResult(p.Result))
	check := func() (*certify.Report, error) { return b.Verify(r) }
	if p.Proof != "" { // by the client, not by the document
		f := used(os.Open(p.Proof))
		defer f.Close() // which ends what still reads it after a cancel
		check = func() (*certify.Report, error) { return b.VerifyProof(r, p.Proof, f) }
	}
	report, err := await.Do(t.ctx, check)
	if err != nil && !errors.Is(err, context.Cause(t.ctx)) {
		err = &runtime.UsageError{Err: err}
	}
	must.Do(err)
	checks := each.Of(report.Checks, func(c certify.Check) map[string]any {
		return map[string]any{"claim": c.Claim, "ok": c.OK, "claimed": runtime.Number(c.Claimed), "found": runtime.Number(c.Found),
			"tolerance": runtime.Number(c.Tolerance), "limit": c.Limit, "text": c.String()}
	})
	return map[string]any{"ok": report.OK(), "checks": checks, "unchecked": append([]string{}, report.Unchecked...)}
}

func (s *server) close(t *task) any {
	var p struct {
		Model   string `json:"model"`
		Problem string `json:"problem"`
	}
	must.Do(decode(t.Params, &p))
	_, isModel := s.models[p.Model]
	_, isProblem := s.problems[p.Problem]
	hold((p.Model == "" || isModel) && (p.Problem == "" || isProblem) && (isModel || isProblem), "params: there is no such model or problem")
	delete(s.models, p.Model)
	delete(s.problems, p.Problem)
	return map[string]any{}
}
