// Package each makes lists entry by entry: of lists, and of numbers.
package each

// Of is what f makes of each of a list.
func Of[A, B any](list []A, f func(A) B) []B {
	out := make([]B, len(list))
	for i, v := range list {
		out[i] = f(v)
	}
	return out
}

// Where are those of a list that are wanted, in order.
func Where[A any](list []A, wanted func(A) bool) (out []A) {
	for _, v := range list {
		if wanted(v) {
			out = append(out, v)
		}
	}
	return out
}

// Below is what f makes of each number from 0 to below n.
func Below[B any](n int, f func(int) B) []B {
	out := make([]B, n)
	for k := range out {
		out[k] = f(k)
	}
	return out
}

// Number is the numbers from 0 to below n.
func Number(n int) []int { return Below(n, func(k int) int { return k }) }
