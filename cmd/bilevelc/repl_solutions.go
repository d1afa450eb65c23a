package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/runtime"
	"bilevelc/runtime/report"
	"bilevelc/runtime/session"
)

// solution is the last result, or the error that there is none.
func (r *repl) solution() (*runtime.Result, error) {
	last := r.session.Last()
	if last == nil || !last.HasPoint() {
		return nil, usageError("the model as it stands has not been solved; :solve does")
	}
	return last, nil
}

// gradient writes the hypergradient of F, which `grad F` means; at a kink the slopes of F
// on either side, and which rows of the follower bind there.
func (r *repl) gradient(ctx context.Context, _ []string) error {
	last := must.Get(r.solution())
	if len(last.Lower.Weak) > 0 {
		problem, err := r.session.BindContext(ctx, runtime.BindOptions{})
		must.Do(stopped(ctx, "binding the model", err))
		at, err := problem.Eval(ctx, last.Upper.Variables, runtime.Options{Seed: r.session.Seed, Sensitivity: true})
		must.Do(runError(err, ""))
		if writeSlopes(r.app.io.out, at) {
			return nil
		}
	}
	hold(len(last.Upper.Hypergradient) != 0, "the last solution has no hypergradient")
	for _, v := range last.Upper.Hypergradient {
		fmt.Fprintf(r.app.io.out, "%s  ", v.Name)
		writeAnswer(r.app.io.out, &session.Reply{Value: &v, Type: "dF/d" + v.Name})
	}
	return nil
}

// writeSlopes writes the slopes of F on both sides of a kink; false where there is none.
func writeSlopes(w io.Writer, at *runtime.Result) bool {
	if !slices.ContainsFunc(at.Sensitivity, func(e runtime.EntrySensitivity) bool { return e.Left != nil }) {
		return false
	}
	weak := setOf(at.Lower.Weak)
	branch := func(rates *runtime.Rates, slope float64) string { // the biactive rows that bind on a side
		if rates.Reason != "" {
			return "none: " + rates.Reason
		}
		most := each.Largest(rates.Multipliers.Entries(), math.Abs)
		var binding []string
		for _, v := range rates.Multipliers {
			for k, m := range v.Data {
				if name := runtime.EntryName(v, k); weak[name] && math.Abs(m) > same*most {
					binding = append(binding, name)
				}
			}
		}
		where := "slack"
		if n := len(binding); n > 0 {
			where = strings.Join(binding[:min(n, maxBinding)], ", ")
			switch {
			case n == 1:
				where += " binds"
			case n > maxBinding:
				where += fmt.Sprintf(" and %d more bind", n-maxBinding)
			default:
				where += " bind"
			}
		}
		return fmt.Sprintf("%.10g  (%s)", slope, where)
	}
	rows := at.Lower.Weak
	more := ""
	if len(rows) > maxBinding {
		rows, more = rows[:maxBinding], fmt.Sprintf(" and %d more", len(rows)-maxBinding)
	}
	verb := "holds"
	if len(at.Lower.Weak) > 1 {
		verb = "hold"
	}
	fmt.Fprintf(w, "F may have a kink here: its branches meet where %s%s %s with multiplier 0. Slopes of F:\n", strings.Join(rows, ", "), more, verb)
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "\tas it falls\tas it rises")
	for k, e := range at.Sensitivity {
		if k == maxDifferences {
			fmt.Fprintf(t, "... %d entries in all\n", len(at.Sensitivity))
			break
		}
		left := cmp.Or(e.Left, e.Right)
		falls, rises := e.Slopes()
		fmt.Fprintf(t, "%s\t%s\t%s\n", e.Entry, branch(left, falls), branch(e.Right, rises))
	}
	t.Flush()
	return true
}

// maxBinding is how many rows a line of slopes names.
const maxBinding = 3

// plot draws a value of the last solution, or F along a line of upper points:
//
//	:plot NAME
//	:plot F along x[3] from 0 to 5 [by 0.1]
func (r *repl) plot(ctx context.Context, args []string) error {
	hold(len(args) != 0, ":plot takes a name, or F along ENTRY from A to B")
	if len(args) == 1 {
		v := must.Get(r.plotted(args[0]))
		if r.draw != nil {
			return r.draw(report.ChartOf(v, nil))
		}
		return report.Plot(r.app.io.out, v, r.app.columns())
	}
	line := must.Get(r.along(ctx, args))
	if r.draw != nil {
		return r.draw(report.ChartOfLine(line))
	}
	return report.PlotLine(r.app.io.out, line, r.app.columns())
}

// plotted is a value by name: of the last solution, or what the expression of that
// name gives.
func (r *repl) plotted(name string) (runtime.Value, error) {
	if last := r.session.Last(); last != nil {
		for _, list := range []runtime.Values{last.Upper.Variables, last.Lower.Variables, last.Report, last.Lower.Multipliers} {
			if v, ok := list.Get(name); ok {
				return v, nil
			}
		}
	}
	reply := must.Get(r.session.Enter("plot", name))
	hold(reply.Value != nil, "%s is no value", name)
	v := *reply.Value
	v.Name = name
	return v, nil
}

// plotPoints is how many points a line has unless the user says how far apart.
const plotPoints = 60

// along evaluates F along the line that the words `F along x[3] from 0 to 5` mean.
func (r *repl) along(ctx context.Context, args []string) (*runtime.Line, error) {
	usage := usageError(":plot F along ENTRY from A to B [by STEP], as in `:plot F along x[3] from 0 to 5`")
	text := strings.Join(args, " ")
	rest, ok := strings.CutPrefix(text, "F along ")
	entry, rest, from := strings.Cut(rest, " from ")
	low, rest, to := strings.Cut(rest, " to ")
	high, step, by := strings.Cut(rest, " by ")
	if !ok || !from || !to {
		return nil, usage
	}
	numbers := make([]float64, 3)
	for i, s := range []string{low, high, step} {
		if i == 2 && !by {
			numbers[2] = (numbers[1] - numbers[0]) / plotPoints
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		hold(err == nil, "%q is not a number", s)
		numbers[i] = v
	}
	problem, err := r.session.BindContext(ctx, runtime.BindOptions{})
	must.Do(stopped(ctx, "binding the model", err))
	var at runtime.Values
	if last := r.session.Last(); last != nil {
		at = last.Upper.Variables
	}
	line, err := problem.Along(ctx, at, runtime.Along{Entry: strings.TrimSpace(entry), From: numbers[0], To: numbers[1], Step: numbers[2]},
		runtime.Options{Seed: r.session.Seed})
	return line, runError(err, "")
}

// diff shows what differs between two solutions.
func (r *repl) diff(_ context.Context, args []string) error {
	n := len(r.solutions)
	i, j := n-1, n
	if len(args) > 0 {
		hold(len(args) == 2, ":diff takes two numbers of solutions, or nothing")
		for k, into := range []*int{&i, &j} {
			v, err := strconv.Atoi(args[k])
			hold(err == nil && v >= 1 && v <= n, "there is no solution %q; there are %d", args[k], n)
			*into = v
		}
	}
	hold(i >= 1, "there are not two solutions yet; each :solve makes one")
	return writeDifference(r.app.io.out, r.solutions[i-1], r.solutions[j-1], i, j)
}

// maxDifferences is how many entries of a kind a comparison shows.
const maxDifferences = 20

// same is the relative difference up to which two values are taken for one: the
// accuracy to which solutions are certified leaves that much open.
const same = 1e-6

// writeDifference compares two solutions: objectives, then the entries of variables
// and multipliers that differ, the largest differences first, then the active rows.
func writeDifference(w io.Writer, a, b *runtime.Result, i, j int) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\tsolution %d\tsolution %d\tchange\n", i, j)
	row := func(name string, x, y float64) {
		fmt.Fprintf(table, "%s\t%.10g\t%.10g\t%+.4g\n", name, x, y, y-x)
	}
	row("F", float64(a.Upper.Objective), float64(b.Upper.Objective))
	row("g", float64(a.Lower.Objective), float64(b.Lower.Objective))
	equal := true
	for _, kind := range []struct {
		words    string
		old, new runtime.Values
	}{{"upper", a.Upper.Variables, b.Upper.Variables}, {"lower", a.Lower.Variables, b.Lower.Variables},
		{"multipliers", a.Lower.Multipliers, b.Lower.Multipliers}} {
		type entry struct {
			name string
			x, y float64
		}
		var all []entry
		for _, v := range kind.new {
			old, known := kind.old.Get(v.Name)
			if !known || len(old.Data) != len(v.Data) {
				fmt.Fprintf(table, "%s is of another shape\n", v.Name)
				equal = false
				continue
			}
			size := max(each.Largest(v.Data, math.Abs), each.Largest(old.Data, math.Abs)) // of the array: its entries are known to that scale
			for k := range v.Data {
				if math.Abs(v.Data[k]-old.Data[k]) > same*size {
					all = append(all, entry{runtime.EntryName(v, k), old.Data[k], v.Data[k]})
				}
			}
		}
		slices.SortStableFunc(all, func(a, b entry) int { return cmp.Compare(math.Abs(b.y-b.x), math.Abs(a.y-a.x)) })
		for k, e := range all {
			if k == 0 {
				fmt.Fprintln(table, kind.words)
				equal = false
			}
			if k == maxDifferences {
				fmt.Fprintf(table, "  ... %d more\n", len(all)-k)
				break
			}
			row("  "+e.name, e.x, e.y)
		}
	}
	if equal {
		fmt.Fprintln(table, "no entry differs by more than a millionth of its array")
	}
	for _, s := range []struct {
		words        string
		have, lacked []string
	}{{"active now", b.Lower.Active, a.Lower.Active}, {"active no more", a.Lower.Active, b.Lower.Active}} {
		if rows := missing(s.have, s.lacked); len(rows) > 0 {
			fmt.Fprintf(table, "%s: %s\n", s.words, strings.Join(rows, ", "))
		}
	}
	fmt.Fprintf(table, "calls\t%d\t%d\n", a.Calls.Total(), b.Calls.Total())
	return table.Flush()
}

// missing are the names of a that b lacks, at most maxDifferences.
func missing(a, b []string) []string {
	known := setOf(b)
	out := each.Where(a, func(name string) bool { return !known[name] })
	return out[:min(len(out), maxDifferences)]
}

// setOf are the names of a list.
func setOf(list []string) map[string]bool {
	set := map[string]bool{}
	for _, name := range list {
		set[name] = true
	}
	return set
}
