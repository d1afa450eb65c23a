package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"bilevelc/lang/diag"
	"bilevelc/runtime"
)

func (v *view) provenance(r *runtime.Result, command []string) {
	add := func(name, value string) {
		if value != "" {
			v.Provenance = append(v.Provenance, pair{name, value})
		}
	}
	if command == nil {
		command = commandOf(r)
	}
	v.Command = diag.Join(command, " ", shellWord)
	v.Verify = "bilevelc verify result.json"
	if in := r.Inputs; in != nil {
		v.Verify += " --model " + shellWord(in.Model)
		for _, d := range in.Data {
			v.Verify += " --data " + shellWord(d)
		}
		add("model", in.Model)
		add("data", strings.Join(in.Data, ", "))
		add("set", strings.Join(in.Set, ", "))
	}
	add("digest of the model and its data", r.Digest)
	add("seed", strconv.FormatUint(r.Seed, 10))
	add("version", "bilevelc "+r.Version)
	add("method", r.Method)
	add("oracle", r.Oracle)
	add("lower solver", r.Lower.Solver)
	add("settings", settings(r.Settings))
	add("calls", fmt.Sprintf("f %d, gradient of f %d, g %d, gradient of g %d", r.Calls.F, r.Calls.GradF, r.Calls.G, r.Calls.GradG))
	add("seconds", r.Phases.Text())
}

// commandOf is a command line that gives the result again, as far as the result says.
func commandOf(r *runtime.Result) []string {
	verb := "solve"
	if r.Method == "" {
		verb = "eval"
	}
	model := r.Model + ".blv"
	words := []string{"bilevelc", verb}
	var rest []string
	if in := r.Inputs; in != nil {
		model = in.Model
		for _, d := range in.Data {
			rest = append(rest, "--data", d)
		}
		for _, s := range in.Set {
			rest = append(rest, "--set", s)
		}
		if in.Ignore {
			rest = append(rest, "--ignore-undeclared")
		}
	}
	words = append(append(words, model), rest...)
	if r.Method != "" {
		words = append(words, "--method", r.Method)
	} else {
		words = append(words, "--at", "point.json")
	}
	words = append(words, "--oracle", r.Oracle, "--solver", r.Lower.Solver, "--seed", strconv.FormatUint(r.Seed, 10))
	if n := len(r.Starts); n > 1 {
		words = append(words, "--starts", strconv.Itoa(n))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Settings)) {
		words = append(words, "--option", fmt.Sprintf("%s=%v", name, r.Settings[name]))
	}
	return words
}

func settings(s map[string]any) string {
	return diag.Join(slices.Sorted(maps.Keys(s)), ", ", func(name string) string { return fmt.Sprintf("%s = %v", name, s[name]) })
}
