package parser_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/lang/diag"
	"bilevelc/parser"
)

// patience is a context that ends when it has been asked a number of times.
type patience struct {
	context.Context
	asked, most int
}

func (p *patience) Err() error {
	if p.asked++; p.asked > p.most {
		return context.Canceled
	}
	return nil
}

func (p *patience) String() string { return fmt.Sprintf("asked %d times", p.asked) }

// However much text there is, and of whatever kind, parsing asks now and then whether
// it is to go on, and ends at once where it is not.
func TestParsingEnds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("let x = + ( ) [ ] sum in 1 data upper { } forall : vector 1e5 \"a\" <= , ' if subject to var")
	const size = 100_000
	random := func(word func() string) string {
		var b strings.Builder
		for b.Len() < size {
			b.WriteString(word())
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"bytes":    random(func() string { return string([]byte{byte(rng.IntN(256))}) }),
		"letters":  random(func() string { return strings.ReplaceAll(string(rune(32+rng.IntN(95))), "/", "\n") }),
		"words":    random(func() string { return words[rng.IntN(len(words))] + " " }),
		"lines":    random(func() string { return words[rng.IntN(len(words))] + "\n" }),
		"literal":  "data a: vector[5] = [" + random(func() string { return "1.5, " }) + "1]",
		"lets":     "model m\n" + random(func() string { return "let abc = 1 + 2\n" }),
		"braces":   "model m\n" + random(func() string { return "{ } " }),
		"operator": "let a = 1" + random(func() string { return " +\n1" }),
	} {
		whole := &patience{Context: context.Background(), most: size}
		if _, _, err := parser.ParseFileContext(whole, diag.NewSource(name, text)); err != nil {
			t.Fatal(err)
		}
		// A token has some ten bytes at most here, and is counted at least once.
		if whole.asked < size/10/256 {
			t.Errorf("%s: %v in %d bytes", name, whole, len(text))
		}
		for _, most := range []int{0, 1, whole.asked / 2, whole.asked - 1} {
			part := &patience{Context: context.Background(), most: most}
			file, diags, err := parser.ParseFileContext(part, diag.NewSource(name, text))
			// The question that was answered with no, and that for its cause.
			if file != nil || diags != nil || part.asked > most+2 {
				t.Errorf("%s: ended after %d questions, %v (%v)", name, most, part, err)
			}
		}
	}
}
