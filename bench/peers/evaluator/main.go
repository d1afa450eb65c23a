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
	"fmt"
	"io"
	"os"
	"time"

	"bilevelc/bench/clock"
	"bilevelc/ir/datafile"
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
	if err := command(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "evaluator:", err)
		os.Exit(1)
	}
}

func command(args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("evaluator", flag.ContinueOnError)
	name := flags.String("oracle", oracle.Default, "how the hypergradient is made")
	alpha := flags.Float64("alpha", 0, "accuracy of the penalty oracle; 0: its default")
	solver := flags.String("solver", "", "lower solver; empty: as solve chooses")
	whole := flags.Bool("solve", false, "solve instead of answering")
	limit := flags.Float64("limit", 0, "processor seconds after which a solve ends; 0: none")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 2 {
		return fmt.Errorf("want MODEL and DATA, got %d arguments", flags.NArg())
	}
	began := clock.Process()
	p, err := bind(flags.Arg(0), flags.Arg(1))
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	if err := encoder.Encode(map[string]float64{"bind": (clock.Process() - began).Seconds()}); err != nil {
		return err
	}
	if *whole {
		return solve(p, *limit, encoder)
	}
	values := method.Values{}
	if *alpha > 0 {
		values["alpha"] = *alpha
	}
	if *solver == "" {
		*solver = lower.Choose(p.Numeric)
	}
	fresh := func() (*oracle.Hyper, error) {
		s, err := lower.New(*solver, nil, p.Numeric, 1)
		if err != nil {
			return nil, err
		}
		spec, err := oracle.Lookup(*name)
		if err != nil {
			return nil, err
		}
		o, err := spec.New(values)
		if err != nil {
			return nil, err
		}
		return oracle.New(p.Numeric, s, o), nil
	}
	h, err := fresh()
	if err != nil {
		return err
	}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		if err != nil && err != io.EOF {
			return err
		}
		var q question
		if err := json.Unmarshal(line, &q); err != nil {
			return err
		}
		if len(q.X) != p.Numeric.Dx {
			return fmt.Errorf("x has %d entries, the model %d", len(q.X), p.Numeric.Dx)
		}
		if !q.Warm {
			if h, err = fresh(); err != nil {
				return err
			}
		}
		before, began := h.Calls().GradG, clock.Process()
		pt, err := h.Gradient(context.Background(), q.X)
		took := clock.Process() - began
		if err != nil {
			return err
		}
		if err := encoder.Encode(answer{pt.F, pt.Grad, took.Seconds(), h.Calls().GradG - before}); err != nil {
			return err
		}
	}
}

// bind compiles a model with the numbers of one file.
func bind(file, numbers string) (*runtime.Problem, error) {
	model, err := runtime.CompileFile(file)
	if err != nil {
		return nil, err
	}
	set, faults := datafile.Load(numbers, nil)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return model.BindSet(set, runtime.BindOptions{})
}

// ending is the last line of a solve.
type ending struct {
	Status  string          `json:"status"`
	F       runtime.Number  `json:"f"`
	X       json.RawMessage `json:"x"`
	Seconds float64         `json:"seconds"`
}

// solve solves by the defaults and writes F against processor time.
func solve(p *runtime.Problem, limit float64, encoder *json.Encoder) error {
	began := clock.Process()
	seconds := func() float64 { return (clock.Process() - began).Seconds() }
	ctx, end := clock.Limit(time.Duration(limit*float64(time.Second)), runtime.ErrTimeLimit)
	defer end()
	r, err := p.Solve(ctx, runtime.Options{Observer: func(at runtime.Progress) {
		// A line that cannot be written is missed at the end, by who reads.
		_ = encoder.Encode(map[string]float64{"f": at.Best, "seconds": seconds()})
	}})
	if err != nil {
		return err
	}
	x, err := json.Marshal(r.Upper.Variables)
	if err != nil {
		return err
	}
	return encoder.Encode(ending{r.Status.String(), r.Upper.Objective, x, seconds()})
}
