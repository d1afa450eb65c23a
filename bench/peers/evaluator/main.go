// Command evaluator answers hypergradients of a model over standard input and
// output, so that a program in another language can drive it as it drives its
// other contestants.
//
//	evaluator [-oracle NAME] [-alpha A] [-solver NAME] MODEL DATA
//	evaluator -solve [-limit SECONDS] MODEL DATA
//
// Each line of input is {"x": [...], "warm": bool}; without "warm" what was
// learned before is forgotten. Each line of output is {"f", "gradient",
// "seconds", "gradients"}: F, its gradient, the processor time of all threads
// that the evaluation took, and the gradients of g. The first line of output,
// before any input, is {"bind": seconds}.
//
// With -solve it reads nothing: it solves by the defaults, writes a line
// {"f", "seconds"} for each iteration, and last {"status", "f", "x", "seconds"}.
// Seconds of both count the processor time of all threads from the bound
// problem on; after -limit of them the solve ends with the best point it has.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"io"
	"os"
	"time"

	"bilevelc/bench/asis"
	"bilevelc/bench/clock"
	"bilevelc/internal/must"
	"bilevelc/runtime"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/method"
	"bilevelc/runtime/oracle"
)

type question struct {
	X    []float64 `json:"x"`
	Warm bool      `json:"warm"`
}

type answer struct {
	F         float64   `json:"f"`
	Gradient  []float64 `json:"gradient"`
	Seconds   float64   `json:"seconds"`
	Gradients int64     `json:"gradients"`
}

func main() {
	must.Exit("evaluator", 1, must.Try(func() { command(os.Args[1:], os.Stdin, os.Stdout) }))
}

func command(args []string, in io.Reader, out io.Writer) {
	flags := flag.NewFlagSet("evaluator", flag.ContinueOnError)
	name := flags.String("oracle", oracle.Default, "how the hypergradient is made")
	alpha := flags.Float64("alpha", 0, "accuracy of the penalty oracle; 0: its default")
	solver := flags.String("solver", "", "lower solver; empty: as solve chooses")
	whole := flags.Bool("solve", false, "solve instead of answering")
	limit := flags.Float64("limit", 0, "processor seconds after which a solve ends; 0: none")
	must.Do(flags.Parse(args))
	must.Be(flags.NArg() == 2, "want MODEL and DATA, got %d arguments", flags.NArg())
	began := clock.Process()
	p := must.Get(must.Get(runtime.CompileFile(flags.Arg(0))).BindSet(asis.Numbers(flags.Arg(1)), runtime.BindOptions{}))
	encoder := json.NewEncoder(out)
	must.Do(encoder.Encode(map[string]float64{"bind": (clock.Process() - began).Seconds()}))
	if *whole {
		solve(p, *limit, encoder)
		return
	}
	values := method.Values{}
	if *alpha > 0 {
		values["alpha"] = *alpha
	}
	if *solver == "" {
		*solver = lower.Choose(p.Numeric)
	}
	fresh := func() *oracle.Hyper {
		return oracle.New(p.Numeric, must.Get(lower.New(*solver, nil, p.Numeric, 1)), must.Get(must.Get(oracle.Lookup(*name)).New(values)))
	}
	h := fresh()
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return
		}
		if err != io.EOF {
			must.Do(err)
		}
		var q question
		must.Do(json.Unmarshal(line, &q))
		must.Be(len(q.X) == p.Numeric.Dx, "x has %d entries, the model %d", len(q.X), p.Numeric.Dx)
		if !q.Warm {
			h = fresh()
		}
		before, began := h.Calls().GradG, clock.Process()
		pt := must.Get(h.Gradient(context.Background(), q.X))
		took := clock.Process() - began
		must.Do(encoder.Encode(answer{pt.F, pt.Grad, took.Seconds(), h.Calls().GradG - before}))
	}
}

// ending is the last line of a solve.
type ending struct {
	Status  string          `json:"status"`
	F       runtime.Number  `json:"f"`
	X       json.RawMessage `json:"x"`
	Seconds float64         `json:"seconds"`
}

// solve solves by the defaults and writes F against processor time.
func solve(p *runtime.Problem, limit float64, encoder *json.Encoder) {
	began := clock.Process()
	seconds := func() float64 { return (clock.Process() - began).Seconds() }
	ctx, end := clock.Limit(time.Duration(limit*float64(time.Second)), runtime.ErrTimeLimit)
	defer end()
	r := must.Get(p.Solve(ctx, runtime.Options{Observer: func(at runtime.Progress) {
		// A line that cannot be written is missed at the end, by who reads.
		_ = encoder.Encode(map[string]float64{"f": at.Best, "seconds": seconds()})
	}}))
	x := must.Get(json.Marshal(r.Upper.Variables))
	must.Do(encoder.Encode(ending{r.Status.String(), r.Upper.Objective, x, seconds()}))
}
