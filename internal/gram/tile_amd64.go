package gram

import "golang.org/x/sys/cpu"

// vector reports whether the processor has the instructions of tile_amd64.s.
var vector = cpu.X86.HasAVX2 && cpu.X86.HasFMA

//go:noescape
func multiplyAVX(sums *[4 * width]float64, a, b *float64, k int)

// multiply sets sums (4 x 8) to the sums over k terms of a[8t+r] b[8t+c].
func multiply(sums *[4 * width]float64, a, b []float64, k int) {
	if !vector {
		multiplyGo(sums, a, b, k)
		return
	}
	_, _ = a[(k-1)*width+3], b[k*width-1]
	multiplyAVX(sums, &a[0], &b[0], k)
}
