package method

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bilevelc/internal/each"
	"bilevelc/lang/diag"
)

// Registry holds the methods of one kind by name. It is filled in init
// functions and fixed afterwards.
type Registry[S any] struct {
	Kind  string   // "lower solver", for messages
	Also  []string // names that others than the registered methods have, for messages
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

// names lists the registered names, sorted.
func (r *Registry[S]) names() []string { return slices.Sorted(maps.Keys(r.specs)) }

// All lists the methods, sorted by name.
func (r *Registry[S]) All() []S {
	return each.Of(r.names(), func(n string) S { return r.specs[n] })
}

// Lookup returns the method of that name. The error of an unknown name lists
// the names, or the one that was meant.
func (r *Registry[S]) Lookup(name string) (S, error) {
	if s, ok := r.specs[name]; ok {
		return s, nil
	}
	var none S
	names := slices.Sorted(slices.Values(append(r.names(), r.Also...)))
	hint := diag.DidYouMean(name, names)
	if hint == "" {
		hint = "; there are " + strings.Join(names, ", ")
	}
	return none, fmt.Errorf("no %s is called %q%s", r.Kind, name, hint)
}
