package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bilevelc/lang"
	"bilevelc/lang/diag"
	"bilevelc/parser"
	"bilevelc/runtime"
	"bilevelc/runtime/lower"
)

// A mutant is a model of the repository with a few changes that keep to the grammar: other
// numbers, operators, relations, sets, senses; constraints left out or given twice. Most are
// still models, of a kind that nobody had in mind. What is true of one is not known; what must
// hold is that it is refused with a reason, or runs to an end within its limit, and that what
// the document says passes verification and is said again where F is evaluated anew.

// mutantLimit is the time of one run.
const mutantLimit = 2 * time.Second

// edit replaces a part of a text.
type edit struct {
	from, to int
	with     string
}

// site is a place that can be changed, by one of several edits that it draws.
type site func(rng *rand.Rand) edit

// modelTexts lists all models below a directory.
func modelTexts(root string) (out []string, err error) {
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(path) == ".blv" {
			out = append(out, path)
		}
		return err
	})
	return out, err
}

// mutate draws one to three changes of a text; "" where it has no place for any.
func mutate(text string, rng *rand.Rand) string {
	file, _ := parser.ParseFile(diag.NewSource("mutant.blv", text))
	places := sites(file, text)
	if len(places) == 0 {
		return ""
	}
	var edits []edit
	for range 1 + rng.IntN(3) {
		e := places[rng.IntN(len(places))](rng)
		if !slices.ContainsFunc(edits, func(o edit) bool { return e.from < o.to && o.from < e.to || e.from == o.from }) {
			edits = append(edits, e)
		}
	}
	slices.SortFunc(edits, func(a, b edit) int { return b.from - a.from })
	for _, e := range edits {
		text = text[:e.from] + e.with + text[e.to:]
	}
	return text
}

// sites are the places of a model that can be changed.
func sites(file *lang.File, text string) (out []site) {
	replace := func(at diag.Span, words ...string) {
		out = append(out, func(rng *rand.Rand) edit { return edit{at.Start, at.End, words[rng.IntN(len(words))]} })
	}
	word := func(at diag.Span, of string) (place diag.Span, ok bool) { // the first of it within
		k := strings.Index(text[at.Start:at.End], of)
		at.Start += max(k, 0)
		at.End = at.Start + len(of)
		return at, k >= 0
	}
	expression := func(x lang.Expr) bool {
		switch x := x.(type) {
		case *lang.Number:
			at, v := x.Span(), x.Value
			out = append(out, func(rng *rand.Rand) edit { return edit{at.Start, at.End, otherNumber(v, x.Int, rng)} })
		case *lang.Binary:
			replace(x.OpPlace, "+", "-", "*", "/", ".*", "^")
		}
		return true
	}
	for _, d := range file.Decls {
		lang.Inspect(d, func(x lang.Expr, _ *lang.Scope) bool { return expression(x) })
		level, ok := d.(*lang.Level)
		if !ok {
			continue
		}
		for _, item := range level.Items {
			switch item := item.(type) {
			case *lang.Var:
				if item.Set != nil {
					replace(item.Set.Span(), "nonneg", "free", "box(-1, 1)", "box(0, 0)", "box(0, 1e6)", "ball(1)", "simplex(1)")
				}
			case *lang.Objective:
				from, to := "minimize", "maximize"
				if item.Maximize {
					from, to = to, from
				}
				if at, ok := word(item.Span(), from); ok {
					replace(at, to)
				}
			case *lang.SubjectTo:
				for _, c := range item.Constraints {
					at := c.Span()
					line := text[at.Start:at.End]
					if k := strings.Index(line, ":"); c.Name != nil && k > 0 {
						line = line[k+1:] // a name may not be given twice
					}
					if len(item.Constraints) > 1 {
						replace(at, "")
					}
					replace(at, text[at.Start:at.End]+"\n"+line)
					for _, op := range c.Ops {
						if place, ok := word(at, op.String()); ok {
							replace(place, "<=", ">=", "==")
						}
					}
				}
			}
		}
	}
	return out
}

// otherNumber is one that may stand in the place of v.
func otherNumber(v float64, whole bool, rng *rand.Rand) string {
	if whole && rng.IntN(2) == 0 { // sizes and indices
		return fmt.Sprint(max(0, int(v)+rng.IntN(5)-2))
	}
	w := v
	switch rng.IntN(7) {
	case 0:
		w = 0
	case 1:
		w = -v
	case 2:
		w = v * math.Pow(10, float64(rng.IntN(19)-9))
	case 3:
		w = v * (1 + 1e-9*rng.NormFloat64())
	case 4:
		w = 3 * rng.NormFloat64()
	case 5:
		w = v + 1
	case 6:
		w = v * (0.5 + rng.Float64())
	}
	s := fmt.Sprintf("%.12g", w)
	if w < 0 {
		return "(" + s + ")"
	}
	return s
}

// mutantOf is the mutant of a seed.
func mutantOf(files []string, seed uint64) string {
	text, err := os.ReadFile(files[seed%uint64(len(files))])
	if err != nil {
		return ""
	}
	return mutate(string(text), rand.New(rand.NewPCG(seed, 14)))
}

// tryMutant makes the mutant of a seed from one of the files, solves it and checks the document.
func tryMutant(files []string, seed uint64) (r *report) {
	file := files[seed%uint64(len(files))]
	r = &report{Seed: seed, Family: filepath.Base(file), Text: mutantOf(files, seed), about: file + ": "}
	defer r.caught()
	if r.Text == "" {
		r.outcome("nothing to change")
		return r
	}
	model, err := runtime.Compile(filepath.Join(filepath.Dir(file), "mutant.blv"), r.Text)
	var p *runtime.Problem
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), mutantLimit)
		p, err = bindBeside(ctx, model, file)
		cancel()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		r.outcome("not bound within the limit")
		return r
	}
	if err != nil {
		var list diag.List
		if !errors.As(err, &list) || len(list) == 0 {
			r.false("error without a place", "%v", err)
		}
		r.outcome("refused")
		return r
	}
	if p.Numeric.Dx+p.Numeric.Dy > 2000 {
		r.outcome("too large for this study")
		return r
	}
	result := r.run(p, runtime.Options{TimeLimit: mutantLimit, Seed: 1}, mutantLimit)
	if result == nil || result.Status != runtime.Solved || result.Lower.Status != lower.Solved.String() {
		return r
	}
	// A result may say that prices which the leader reads are not unique: another answer then has others.
	open := len(result.Lower.Dependent) > 0 && strings.Contains(r.Text, "dual(")
	r.again(p, result, result.Lower.Ties == nil && !open)
	return r
}
