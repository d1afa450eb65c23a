package method

import (
	"fmt"
	"sort"
	"strings"
)

// Registry holds the methods of one kind by name. It is filled in init
// functions and fixed afterwards.
type Registry[S any] struct {
	Kind  string // "lower solver", for messages
	specs map[string]S
}

// Register adds a method. It panics on a name that is taken.
func (r *Registry[S]) Register(name string, spec S) {
	if _, taken := r.specs[name]; taken {
		panic(fmt.Sprintf("method: two %ss are called %s", r.Kind, name))
	}
	if r.specs == nil {
		r.specs = map[string]S{}
	}
	r.specs[name] = spec
}

// Names lists the registered names, sorted.
func (r *Registry[S]) Names() []string {
	names := make([]string, 0, len(r.specs))
	for n := range r.specs {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// All lists the methods, sorted by name.
func (r *Registry[S]) All() []S {
	var out []S
	for _, n := range r.Names() {
		out = append(out, r.specs[n])
	}
	return out
}

// Lookup returns the method of that name. The error of an unknown name lists
// the names, or the one that was meant.
func (r *Registry[S]) Lookup(name string) (S, error) {
	if s, ok := r.specs[name]; ok {
		return s, nil
	}
	var none S
	if best := Nearest(name, r.Names()); best != "" {
		return none, fmt.Errorf("no %s is called %q; did you mean %s?", r.Kind, name, best)
	}
	return none, fmt.Errorf("no %s is called %q; there are %s", r.Kind, name, strings.Join(r.Names(), ", "))
}

// Nearest returns the candidate within a small edit distance of name (a third
// of its length, at least 1), or "".
func Nearest(name string, candidates []string) string {
	limit := max(1, len(name)/3)
	best, bestDistance := "", limit+1
	sorted := append([]string(nil), candidates...)
	sort.Strings(sorted)
	for _, c := range sorted {
		if d := editDistance(name, c); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// editDistance is Levenshtein's distance in bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
