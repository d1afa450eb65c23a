// Package ablation is the switchboard of bench/ablation: mechanisms of the solvers by name, each of which can be left out to see what changes.
package ablation

var without = map[string]bool{}

// Without leaves mechanisms out; it is called before the first solve.
func Without(names ...string) {
	for _, name := range names {
		without[name] = true
	}
}

// Off reports that a mechanism is left out.
func Off(name string) bool { return without[name] }
