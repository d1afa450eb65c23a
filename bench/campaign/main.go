// Command campaign asks the tool about random bilevel programs whose truth it
// computes on its own (package truth), and reports every statement that is
// not true.
//
//	go run ./bench/campaign [--for 1h] [--seed 1] [--count N] [--json] [--out DIR]
//	go run ./bench/campaign --models DIR
//	go run ./bench/campaign --mutate DIR [--seed 1] [--count N] [--out DIR]
//
// A case is one seed: a program of 1 to 8 variables, a few evaluations of F, a
// solve, often a second one of a copy in other units. Cases run in child
// processes, so that a crash, a hang or a flood of memory is a finding and
// not the end. Every false statement is stored as a model in DIR with its
// seed; `--seed S --count 1` repeats it. With --models it runs every
// combination of method, oracle and solver over the models below DIR instead,
// and with --mutate one run of each of many mutants of them (mutants.go).
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"time"

	"bilevelc/internal/each"
)

type options struct {
	duration time.Duration
	seed     uint64
	count    uint64
	workers  int
	json     bool
	out      string
	models   string
	mutate   string
	systems  bool
}

func main() {
	var o options
	worker := flag.Bool("worker", false, "run the cases in this process and print one JSON report a line")
	flag.DurationVar(&o.duration, "for", time.Hour, "how long to go on")
	flag.Uint64Var(&o.seed, "seed", 1, "first seed; a case is one seed")
	flag.Uint64Var(&o.count, "count", 0, "number of cases; 0 for as many as the time allows")
	flag.IntVar(&o.workers, "workers", 1, "processes at a time")
	flag.BoolVar(&o.json, "json", false, "print the summary as JSON")
	flag.StringVar(&o.out, "out", "", "directory for the models of false statements; empty for none")
	flag.StringVar(&o.models, "models", "", "run all combinations over the models below this directory; in a worker, over this file")
	flag.StringVar(&o.mutate, "mutate", "", "run mutants of the models below this directory; a case is one seed")
	flag.BoolVar(&o.systems, "systems", false, "ask about systems: programs with a linear or convex quadratic follower, by enumeration of their pieces (system.go)")
	flag.Parse()
	if *worker {
		work(os.Stdout, o)
		return
	}
	s := newSummary()
	var stop atomic.Bool
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	go func() {
		<-signals
		stop.Store(true)
	}()
	if o.mutate != "" {
		mutated(o.mutate) // before workers, each of which would end
	}
	if err := campaign(o, s, &stop); err != nil {
		fmt.Fprintln(os.Stderr, "campaign:", err)
		os.Exit(2)
	}
	if o.json {
		json.NewEncoder(os.Stdout).Encode(s)
	} else {
		s.print(os.Stdout)
	}
	if s.False > 0 {
		os.Exit(1)
	}
}

// mutated are the models below a directory; without any the program ends.
func mutated(dir string) []string {
	texts, err := modelTexts(dir)
	if err == nil && len(texts) == 0 {
		err = errors.New("there is none")
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "campaign: models below %s: %v\n", dir, err)
		os.Exit(2)
	}
	return texts
}

// work runs cases, or combinations over a file, in this process.
func work(w io.Writer, o options) {
	enc := json.NewEncoder(w)
	about := o.subject()
	for k := o.seed; k < o.seed+o.count; k++ {
		enc.Encode(about.ask(k))
	}
}

// subject is what a campaign is about: how it asks about a case, and the model of one, "" where it has none of its own.
type subject struct {
	ask  func(k uint64) *report
	text func(k uint64) string
}

func (o options) subject() subject {
	switch {
	case o.mutate != "":
		files := mutated(o.mutate)
		return subject{func(k uint64) *report { return tryMutant(files, k) }, func(k uint64) string { return mutantOf(files, k) }}
	case o.models != "":
		return subject{func(k uint64) *report { return tryCombination(o.models, int(k)) }, func(uint64) string { return "" }}
	case o.systems:
		return subject{examineSystem, func(k uint64) string { return drawSystem(k).text() }}
	}
	return subject{examine, func(k uint64) string {
		return strings.Join(each.Of(questions(k), func(q question) string { return q.text() }), "// in other units:\n")
	}}
}
