package oracle

import (
	"math"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
)

// size is the length on which g is curved around y*, without a unit: what steps of y
// are relative to. It is the largest of |y*|, of how far the rows' forces would
// move y if nothing held it, and of how far y moves as x moves by its width in X;
// the last two over the curvature of g along a direction without a pattern. So a
// problem in other units is differenced at the same points. Where g is quadratic
// in y, any step is as good, and |y| alone counts. A problem in which nothing has
// a size has size 1.
func (at *At) size() float64 {
	if at.sizeY > 0 {
		return at.sizeY
	}
	at.sizeY = linalg.Norm(at.Lower.Y)
	if at.Problem.Facts.QuadraticInY {
		at.sizeY += 1
		return at.sizeY
	}
	n := len(at.Lower.Y)
	base, moved := make([]float64, n), make([]float64, n)
	gradY := at.Problem.G.GradY
	gradY(base, at.X, at.Lower.Y)
	force := linalg.Norm(base)
	gradY(moved, at.opposite(), at.Lower.Y)
	if d := linalg.Distance(moved, base); d > force && d <= math.MaxFloat64 {
		force = d
	}
	guess := at.sizeY
	if guess == 0 {
		guess = 1
	}
	length := math.Max(at.sizeY, lower.Reach(func(dst, y []float64) { gradY(dst, at.X, y) }, at.Lower.Y, base, force, guess))
	if length == 0 {
		length = 1
	}
	at.sizeY = length
	return length
}

// opposite is x moved by its width in X: half its interval, or, where that has
// no end, as far as the largest number known of it.
func (at *At) opposite() []float64 {
	set := at.Problem.X
	z := append([]float64(nil), at.X...)
	for j, x := range at.X {
		lo, hi := set.Lo[j], set.Hi[j]
		width := (hi - lo) / 2
		if math.IsInf(width, 1) {
			width = math.Abs(x)
			for _, end := range []float64{lo, hi} {
				if !math.IsInf(end, 0) {
					width = math.Max(width, math.Abs(end))
				}
			}
		}
		if z[j] = x + width; z[j] > hi {
			z[j] = x - width
		}
	}
	return z
}
