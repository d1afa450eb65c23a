package parser

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bilevelc/lang/diag"
)

// TestTokensCoverTheText finds nothing but white space between the tokens of models,
// keywords where the reserved words are, and stays in order on any beginning of them.
func TestTokensCoverTheText(t *testing.T) {
	files, _ := filepath.Glob("../examples/*/*.blv")
	if len(files) < 10 {
		t.Fatalf("%d models", len(files))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		src := diag.NewSource(file, string(text))
		last := 0
		for _, k := range Tokens(src) {
			if k.Start < last || k.End <= k.Start {
				t.Fatalf("%s: token at %d to %d behind %d", file, k.Start, k.End, last)
			}
			if gap := strings.Trim(src.Text[last:k.Start], " \t\r\n;"); gap != "" {
				t.Errorf("%s: %q is no token", file, gap)
			}
			last = k.End
			word := src.Text[k.Start:k.End]
			switch k.Kind {
			case TokenComment:
				if !strings.HasPrefix(word, "//") && !strings.HasPrefix(word, "/*") {
					t.Errorf("%s: comment %q", file, word)
				}
			case TokenKeyword:
				if !isKeyword(word) && !slices.Contains([]string{"set", "integer", "binary"}, word) { // words of the language where they stand
					t.Errorf("%s: keyword %q", file, word)
				}
			case TokenName:
				if isKeyword(word) {
					t.Errorf("%s: the reserved word %q is taken for a name", file, word)
				}
			}
		}
		for cut := 0; cut < len(text); cut += 7 {
			last := 0
			for _, k := range Tokens(diag.NewSource(file, string(text[:cut]))) {
				if k.Start < last || k.End > cut {
					t.Fatalf("%s, cut at %d: token at %d to %d", file, cut, k.Start, k.End)
				}
				last = k.End
			}
		}
	}
}
