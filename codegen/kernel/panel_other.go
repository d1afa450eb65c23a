//go:build !amd64

package kernel

// vector is false: everything is plain Go here, and the functions below are
// never called.
const vector = false

func gemvAVX(*float64, float64, *float64, int, int, int, *float64, *[4]int64)  {}
func gemvTAVX(*float64, float64, *float64, int, int, int, *float64, *[4]int64) {}
func symvAVX(*float64, float64, *float64, int, int, int, *float64)             {}
func dotAVX(*float64, *float64, int) float64                                   { return 0 }
func axpyAVX(*float64, *float64, float64, int)                                 {}
