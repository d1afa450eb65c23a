// Command global measures branch and bound on bilevel programs with linear rows: programs of a folder, or random ones of the classes that users
// bring. It prints one line a program: the value, the bound, nodes and processor time, and, where optima are given, whether it is the optimum.
//
//	go run ./bench/global ../shared/global           programs NAME.json (with NAME.blv), optima in optima.json
//	go run ./bench/global -make 1 DIR                writes 94 random programs to DIR
//	go run ./bench/global -make 1 -discrete DIR      40 whose leader decides on whole numbers
//	go run ./bench/global -make 1 -blocks DIR        24 of independent blocks, some with a budget for all
//	go run ./bench/global -scip DIR                  their optima by SCIP on the system with SOS1 pairs (bench/global/scip.py)
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bilevelc/bench/asis"
	"bilevelc/bench/clock"
	"bilevelc/internal/must"
	"bilevelc/runtime"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
	"bilevelc/runtime/tree"
)

func main() {
	make := flag.Uint64("make", 0, "write random programs of this seed instead")
	big := flag.Bool("large", false, "with -make: larger programs")
	whole := flag.Bool("discrete", false, "with -make: programs with whole numbers")
	apart := flag.Bool("blocks", false, "with -make: programs of independent blocks")
	nodes := flag.Int64("nodes", 200000, "node limit")
	only := flag.String("only", "", "programs whose names begin so, several apart by commas")
	proof := flag.Bool("proof", false, "write and verify the proof of each")
	threads := flag.Int("threads", 1, "threads of a search")
	flag.Parse()
	dir := flag.Arg(0)
	if dir == "" {
		flag.Usage()
		os.Exit(2)
	}
	must.Exit("global", 1, must.Try(func() {
		if *make != 0 {
			all := classes
			if *big {
				all = large
			}
			if *whole {
				all = discrete
			}
			if *apart {
				all = blocks
			}
			generate(dir, *make, all)
		} else {
			measure(dir, *only, *nodes, *threads, *proof)
		}
	}))
}

// bind is the problem of a model and the numbers beside it, with the follower as it stands, ties and all.
func bind(stem string) *problem.Problem {
	return asis.Problem(must.Get(runtime.CompileFile(stem+".blv")), asis.Numbers(stem+".json"))
}

// optima reads optima.json or truth.json where there is one: a value, or an object with F, a program.
func optima(dir string) map[string]float64 {
	out := map[string]float64{}
	for _, name := range []string{"optima.json", "truth.json"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); !os.IsNotExist(err) {
			must.Do(err)
			must.Do(json.Unmarshal(text, &out))
			break
		}
	}
	return out
}

func measure(dir, only string, limit int64, threads int, proof bool) {
	truth := optima(dir)
	var total, worst time.Duration
	proved, wrong, count := 0, 0, 0
	for _, model := range must.Get(filepath.Glob(filepath.Join(dir, "*.blv"))) {
		stem := strings.TrimSuffix(model, ".blv")
		name := filepath.Base(stem)
		if !slices.ContainsFunc(strings.Split(only, ","), func(w string) bool { return strings.HasPrefix(name, w) }) {
			continue
		}
		problem := bind(stem)
		start := clock.Process()
		sys := must.Get(kkt.New(problem))
		if why := tree.Applies(sys); why != "" {
			fmt.Printf("%-10s %s\n", name, why)
			continue
		}
		r := must.Get(tree.Solve(context.Background(), sys, tree.Options{Nodes: limit, Threads: threads}))
		took := clock.Process() - start
		total, worst, count = total+took, max(worst, took), count+1
		f := math.Inf(1)
		if r.Best != nil {
			f = r.Best.F
		}
		verdict := ""
		if want, ok := truth[name]; ok {
			switch {
			case f > want+tolerance.Target*math.Abs(want):
				verdict = fmt.Sprintf("  NOT THE OPTIMUM %.9g", want)
			case r.Bound > want+tolerance.Target*math.Abs(want):
				verdict = fmt.Sprintf("  FALSE BOUND, optimum %.9g", want)
			case f < want-1e-5*math.Abs(want):
				verdict = fmt.Sprintf("  better than %.9g", want)
			}
			if verdict != "" {
				wrong++
			}
		}
		if r.Outcome == tree.Proved {
			proved++
		}
		if proof && !math.IsInf(r.Claim(), -1) {
			verdict = prove(sys, r, verdict)
		}
		fmt.Printf("%-10s F %.9g bound %.9g %s, %d nodes and %d tried, work %.2g, %.3f s%s\n", name, f, r.Bound, r.Outcome, r.Nodes, r.Tried, float64(r.Work), took.Seconds(), verdict)
	}
	fmt.Printf("%d programs, %d proved, %d differ from the truth, %.2f s, the longest %.2f s\n", count, proved, wrong, total.Seconds(), worst.Seconds())
}

// prove writes the proof of a result and verifies it.
func prove(sys *kkt.System, r *tree.Result, verdict string) string {
	var text bytes.Buffer
	start := clock.Process()
	must.Do(tree.WriteProof(context.Background(), &text, sys, r.State, tree.Statement{Bound: r.Claim(), Accepts: certify.NewTreeVerifier(sys.P, "").Take}))
	written := clock.Process()
	report, err := certify.VerifyTree(sys.P, bytes.NewReader(text.Bytes()), "")
	verified := clock.Process() - written
	switch {
	case err != nil:
		return verdict + "  PROOF REFUSED: " + err.Error()
	case report.Bound < r.Claim():
		return verdict + fmt.Sprintf("  PROOF OF %.17g, CLAIM %.17g", report.Bound, r.Claim())
	}
	return verdict + fmt.Sprintf("  proof: %d leaves, %.1f kB, written in %.3f s, verified in %.3f s", report.Leaves+report.Empty,
		float64(text.Len())/1e3, (written-start).Seconds(), verified.Seconds())
}
