// Package each makes lists, sums and largest values entry by entry: of lists, and of numbers.
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

// Sum is the sum of what f makes of each of a list, in order.
func Sum[A any](list []A, f func(A) float64) (sum float64) {
	for _, v := range list {
		sum += f(v)
	}
	return sum
}

// SumBelow is the sum of what f makes of each number from 0 to below n, in order.
func SumBelow(n int, f func(int) float64) (sum float64) {
	for k := range n {
		sum += f(k)
	}
	return sum
}

// Largest is the largest of 0 and what f makes of each of a list; NaN where one is.
func Largest[A any](list []A, f func(A) float64) (most float64) {
	for _, v := range list {
		most = max(most, f(v))
	}
	return most
}

// LargestBelow is the largest of 0 and what f makes of each number from 0 to below n; NaN where one is.
func LargestBelow(n int, f func(int) float64) (most float64) {
	for k := range n {
		most = max(most, f(k))
	}
	return most
}

// WhereBelow are those of the numbers from 0 to below n that are wanted, in order.
func WhereBelow(n int, wanted func(int) bool) []int { return Where(Number(n), wanted) }
