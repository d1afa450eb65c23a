// Command mutate breaks the project's code in one place at a time and tells
// which breaks no test notices.
//
//	go run ./bench/mutate [-only TEXT] [-own] [-workers N] [-list] [-show] [-o FILE] [-again FILE] [-keep DIR]
//
// The mutations are those of the list in named.go and a fixed draw from what
// the operators of operators.go can do to the files of targets.go. All of them
// are compiled into one set of test programs, asleep. Every test is run once by
// itself, to see which changed places it comes to and how long it takes; then
// each mutant is woken in turn by an environment variable, and the tests that
// come to its place are asked, the quickest first, until one of them notices.
// No file of the project is changed. A survivor is a gap in the tests, unless accepted.txt says why it is none; the
// command fails if there is another one.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bilevelc/internal/must"
)

type options struct {
	only, output, again, keep string
	workers                   int
	list, show, own           bool
	patience                  float64
}

func (o options) chosen(m *mutant) bool { return strings.Contains(m.id, o.only) }

func main() {
	var o options
	flag.StringVar(&o.only, "only", "", "only the mutations whose name contains this text")
	flag.StringVar(&o.output, "o", "", "file that receives one line a mutation as it is done")
	flag.IntVar(&o.workers, "workers", 1, "tests at a time")
	flag.BoolVar(&o.list, "list", false, "list the mutations and stop")
	flag.BoolVar(&o.show, "show", false, "list the mutations with the changed functions and stop")
	flag.BoolVar(&o.own, "own", false, "ask the tests of a mutation's own package only: quicker, and some survive that others notice")
	flag.StringVar(&o.again, "again", "", "an earlier -o file: what it says is killed is not tried again")
	flag.StringVar(&o.keep, "keep", "", "folder for the test programs and what they reach, for the next run (default a temporary one)")
	flag.Float64Var(&o.patience, "patience", 5, "how many times the processor time of a test is waited, beside ten seconds")
	flag.Parse()
	survivors, err := command(o)
	must.Exit("mutate", 2, err)
	if survivors > 0 {
		os.Exit(1)
	}
}

func command(o options) (survivors int, err error) {
	defer must.Catch(&err)
	root := projectRoot()
	mutants := all(root)
	done := killedBefore(o.again)
	var chosen []*mutant
	for _, m := range mutants {
		if o.chosen(m) && !done[m.id] {
			chosen = append(chosen, m)
		}
	}
	if o.list || o.show {
		for _, m := range chosen {
			fmt.Println(m.id)
			if o.show {
				fmt.Printf("\n%s\n\n", m.changed())
			}
		}
		fmt.Println(len(chosen), "mutations")
		return 0, nil
	}
	accepted := readAccepted(filepath.Join(root, "bench/mutate/accepted.txt"))
	dir := o.keep
	if dir == "" {
		dir = must.Get(os.MkdirTemp("", "mutate"))
		defer os.RemoveAll(dir)
	} else {
		dir = must.Get(filepath.Abs(dir))
		must.Do(os.MkdirAll(dir, 0o755))
	}
	began := time.Now()
	ov := &overlay{root: root, dir: dir, mutants: mutants}
	removed := ov.build(o.packages(chosen))
	fmt.Printf("%d mutations of %d (%d more are no programs), built in %.0f s\n", len(chosen), len(ov.mutants), removed, time.Since(began).Seconds())
	r := &runner{overlay: ov, options: o, accepted: accepted, done: done}
	return r.run(), nil
}

// all lists the mutations: the named ones, then those drawn for each target.
func all(root string) []*mutant {
	out := namedMutants(root)
	for i := range targets {
		out = append(out, draw(candidates(root, &targets[i]), targets[i].draw)...)
	}
	for i, m := range out {
		m.number = i + 1
	}
	return out
}

// asked are the packages whose tests are asked about a mutation.
func (o options) asked(m *mutant) []string {
	if o.own {
		return []string{m.target.dir}
	}
	return m.target.asked()
}

func (o options) packages(list []*mutant) (out []string) {
	seen := map[string]bool{}
	for _, m := range list {
		for _, p := range o.asked(m) {
			if !seen[p] {
				seen[p] = true
				out = append(out, p)
			}
		}
	}
	return out
}

// projectRoot is where the workspace of the project's modules is.
func projectRoot() string {
	dir := must.Get(os.Getwd())
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, "go.work")); err == nil {
			return d
		}
		must.Be(d != filepath.Dir(d), "no go.work above %s", dir)
	}
}

// killedBefore reads which mutations an earlier run killed, from its -o file.
func killedBefore(path string) map[string]bool {
	out := map[string]bool{}
	if path == "" {
		return out
	}
	for line := range strings.SplitSeq(string(must.Get(os.ReadFile(path))), "\n") {
		if fields := strings.Split(line, "  "); strings.HasPrefix(line, word(true, false)) {
			fields = slices.DeleteFunc(fields, func(s string) bool { return s == "" })
			if len(fields) >= 3 {
				out[fields[2]] = true
			}
		}
	}
	return out
}

// readAccepted reads the survivors that are no gaps: a mutation's name on one
// line, the reason on the next, indented.
func readAccepted(path string) map[string]string {
	out := map[string]string{}
	last, n := "", 0
	for line := range strings.Lines(string(must.Get(os.ReadFile(path)))) {
		line = strings.TrimSuffix(line, "\n")
		n++
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, " ") && last != "":
			out[last] = strings.TrimSpace(out[last] + " " + strings.TrimSpace(line))
		default:
			must.Be(last == "" || out[last] != "", "%s:%d: the mutation above has no reason", path, n)
			last = line
			out[last] = ""
		}
	}
	must.Be(last == "" || out[last] != "", "%s: the last mutation has no reason", path)
	return out
}
