//go:build !amd64

package gram

// multiply sets sums (4 x 8) to the sums over k terms of a[8t+r] b[8t+c].
func multiply(sums *[4 * width]float64, a, b []float64, k int) { multiplyGo(sums, a, b, k) }
