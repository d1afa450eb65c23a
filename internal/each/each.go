// Package each makes lists of lists, entry by entry.
package each

// Of is what f makes of each of a list.
func Of[A, B any](list []A, f func(A) B) []B {
	out := make([]B, len(list))
	for i, v := range list {
		out[i] = f(v)
	}
	return out
}
