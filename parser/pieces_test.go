package parser_test

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"bilevelc/lang/diag"
	"bilevelc/parser"
)

// TestTextsBeyondTheLimits: a text of ten megabytes that repeats any few words takes
// memory for the pieces that the limits allow, and ends as one error at the place
// where the limit is met, which is found here by counting.
func TestTextsBeyondTheLimits(t *testing.T) {
	const (
		size    = 10_000_000
		pieces  = 1 << 19
		nesting = 500
	)
	// Units of one line each, with what they open, the prefix operators that they are,
	// and the tokens and comments that they have.
	type unit struct {
		text                    string
		opens, prefixes, pieces int
	}
	units := []unit{
		{"(", 1, 0, 1}, {"[", 1, 0, 1}, {"-", 0, 1, 1}, {"not ", 0, 1, 1}, {"x*", 0, 0, 2}, {"x'", 0, 0, 2}, {"()", 0, 0, 2},
		{"if x then ", 0, 0, 3}, {"f(", 1, 0, 2}, {"1.5,", 0, 0, 2}, {`"a" `, 0, 0, 1}, {"-(", 1, 0, 2}, {"x^", 0, 0, 2},
		// spellings of other languages: an error each, and a token where they have a meaning
		{"@", 0, 0, 2}, {"&", 0, 0, 1}, {"**", 0, 0, 2}, {"$", 0, 0, 1}, {"?", 0, 0, 1}, {"`", 0, 0, 1}, {"\\", 0, 0, 1}, {"|x", 0, 0, 2},
	}
	rng := rand.New(rand.NewPCG(10, 33))
	for trial := range len(units) + 6 { // each alone, then some together
		var line []unit
		if trial < len(units) {
			line = units[trial : trial+1]
		}
		for trial >= len(units) && len(line) < 3 {
			line = append(line, units[rng.IntN(len(units))])
		}
		text, open, run, count, want := "", 0, 0, 0, -1
		for _, u := range line {
			text += u.text
		}
		for offset := 0; want < 0; {
			for _, u := range line {
				count, open, run = count+u.pieces, open+u.opens, run+u.prefixes
				if u.prefixes == 0 {
					run = 0
				}
				if open > nesting || run > nesting || count > pieces {
					want = offset
					break
				}
				offset += len(u.text)
			}
		}
		head := "let a = "
		src := diag.NewSource("m.blv", head+strings.Repeat(text, size/len(text)))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, errs := parser.ParseFile(src)
		runtime.ReadMemStats(&after)
		if mb := float64(after.TotalAlloc-before.TotalAlloc) / 1e6; mb > 200 {
			t.Errorf("%q: %.0f MB", text, mb)
		}
		if len(errs) != 1 || errs[0].Code != diag.TooDeep || !parser.NoModel(errs) {
			t.Errorf("%q: %v", text, errs)
			continue
		}
		// The head has three pieces, and a unit is at most ten bytes long.
		if at := errs[0].Subject.Start - len(head); at > want+10 || at < want-30 {
			t.Errorf("%q: stopped at %d, counted %d", text, at, want)
		}
	}
}

// TestLongNamesAndManyLines: a name of ten megabytes ends as one short error where it
// stands, wherever that is, and one of the most bytes is none; of ten million lines
// there is no more than their places.
func TestLongNamesAndManyLines(t *testing.T) {
	const size, longest = 10_000_000, 1000
	for _, head := range []string{"", "model ", "let a = ", "let a = f(1, ", "set s = {\"x\", ", "upper {\n  var "} {
		for _, letter := range []string{"x", "\u4e16"} {
			_, errs := parser.ParseFile(diag.NewSource("m.blv", head+strings.Repeat(letter, size/len(letter))))
			if len(errs) != 1 || errs[0].Code != diag.TooDeep || errs[0].Subject.Start != len(head) || len(errs[0].Text(diag.Style{})) > 1000 {
				t.Errorf("%q and a name of %s: %d errors", head, letter, len(errs))
			}
		}
	}
	for n, want := range map[int]int{longest: 0, longest + 1: 1} {
		name := strings.Repeat("x", n)
		_, errs := parser.ParseFile(diag.NewSource("m.blv", "model m\nlet "+name+" = 1\nlet b = "+name+"\n"))
		if len(errs) != want {
			t.Errorf("a name of %d bytes: %v", n, errs)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	parser.ParseFile(diag.NewSource("m.blv", strings.Repeat("\n", size)))
	runtime.ReadMemStats(&after)
	if mb := float64(after.TotalAlloc-before.TotalAlloc) / 1e6; mb > 130 { // eight bytes a line, the text, and the room for tokens that a text of its size gets
		t.Errorf("lines: %.0f MB", mb)
	}
}
