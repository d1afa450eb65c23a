package kernel

import "golang.org/x/sys/cpu"

// vector reports whether the processor has the instructions of panel_amd64.s.
var vector = cpu.X86.HasAVX2 && cpu.X86.HasFMA

//go:noescape
func gemvAVX(y *float64, alpha float64, a *float64, lda, panels, n int, x *float64, mask *[4]int64)

//go:noescape
func gemvTAVX(y *float64, alpha float64, a *float64, lda, panels, n int, x *float64, mask *[4]int64)

//go:noescape
func symvAVX(y *float64, alpha float64, a *float64, lda, from, panels int, x *float64)

//go:noescape
func dotAVX(a, b *float64, n int) float64

//go:noescape
func axpyAVX(y, a *float64, c float64, n int)
