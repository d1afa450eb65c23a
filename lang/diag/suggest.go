package diag

import (
	"bilevelc/internal/each"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Suggest returns the candidate that name was most likely meant to be, or ""
// where none is close: within a third of the name's length in edits (at least
// one, where a swap of neighbours counts as one), or a longer word that starts
// with it (three letters or more). Case does not count; among equals the first
// wins.
func Suggest(name string, candidates []string) string {
	longest := 0
	for _, c := range candidates {
		longest = max(longest, len(c))
	}
	if n := utf8.RuneCountInString(name); n-longest > (n+1)/3 && n > longest+1 {
		return "" // a name of megabytes is not folded for each candidate
	}
	best, bestCost := "", 0
	limit := max(1, (len([]rune(name))+1)/3)
	for _, c := range candidates {
		if c == name {
			continue
		}
		cost := distance(fold(name), fold(c), limit)
		if len(name) >= 3 && cost > limit && strings.HasPrefix(strings.ToLower(c), strings.ToLower(name)) {
			cost = limit
		}
		if cost > limit || cost >= len([]rune(name)) {
			continue
		}
		if best == "" || cost < bestCost {
			best, bestCost = c, cost
		}
	}
	return best
}

// Meant is the fix for a name that is not there: whether the nearest candidate was meant; "" where none is near.
func Meant(name string, candidates []string) string {
	if meant := Suggest(name, candidates); meant != "" {
		return "did you mean `" + meant + "`?"
	}
	return ""
}

// DidYouMean is "; did you mean X?" with the suggestion for name, or "".
func DidYouMean(name string, candidates []string) string {
	if meant := Suggest(name, candidates); meant != "" {
		return "; did you mean " + meant + "?"
	}
	return ""
}

func fold(s string) []rune { return each.Of([]rune(s), unicode.ToLower) }

// distance is the number of insertions, deletions, replacements and swaps of
// neighbours that turn a into b (optimal string alignment), or limit+1 where
// it is more than limit.
func distance(a, b []rune, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	before := make([]int, len(b)+1)  // row i-2
	above := each.Number(len(b) + 1) // row i-1
	row := make([]int, len(b)+1)
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > limit {
			return limit + 1
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}
