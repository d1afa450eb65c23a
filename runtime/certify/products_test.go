package certify

import (
	"math"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// Products with the derivatives of grad g are known to the error that is given for them, and nearly as well as rounding lets differences be, where the terms of the one in x cancel, too: of
// g = -sum x_i log y_si they are -a_si/y_si, summed over s, and x_i a_si/y_si^2.
func TestProductsThatVanish(t *testing.T) {
	rng := members.Rand(t, 33)
	for k := range members.Of(50, 1000) {
		n, weeks := 1+rng.IntN(4), 2+rng.IntN(3)
		g := formula(func(dx, dy, x, y []float64) float64 {
			clear(dx)
			sum := 0.0
			for j, t := range y {
				sum -= x[j%n] * math.Log(t)
				dx[j%n] -= math.Log(t)
				dy[j] = -x[j%n] / t
			}
			return sum
		})
		lo, hi := make([]float64, n), make([]float64, n)
		x, y, a := make([]float64, n), make([]float64, n*weeks), make([]float64, n*weeks)
		trueX, trueY := make([]float64, n), make([]float64, len(y))
		for i := range x {
			x[i], hi[i] = 0.1+rng.Float64(), 2
		}
		for j := range y {
			y[j], a[j] = math.Exp(2*rng.NormFloat64()), rng.NormFloat64()
			if j >= n*(weeks-1) && k%2 == 0 {
				a[j] = y[j] * trueX[j%n] // what is left of the others' sum
			}
			trueX[j%n] -= a[j] / y[j]
			trueY[j] = x[j%n] * a[j] / (y[j] * y[j])
		}
		p := &problem.Problem{Dx: n, Dy: len(y), F: g, G: g, Rows: &problem.Rows{A: sparse.FromEntries(0, n, nil), B: sparse.FromEntries(0, len(y), nil)}, X: &problem.Set{Lo: lo, Hi: hi, E: sparse.FromEntries(0, n, nil)}}
		d := newDeriver(p, x, y, nil)
		foundX, foundY, known, err := d.products(x, y, a)
		if err != nil {
			t.Fatal(err)
		}
		sizeX := 0.0
		for j := range a {
			sizeX = math.Max(sizeX, math.Abs(a[j]/y[j]))
		}
		if off := apart(foundX, trueX); off > 2*known.x+0x1p-45*sizeX || known.x > 1e-8*sizeX {
			t.Errorf("member %d: the product in x is %g off, said to be %g, of terms of %g", k, off, known.x, sizeX)
		}
		if off := apart(foundY, trueY); off > 2*known.y || known.y > 1e-7*maxAbs(trueY) {
			t.Errorf("member %d: the product in y is %g off, said to be %g, of %g", k, off, known.y, maxAbs(trueY))
		}
	}
}

// Where g is quadratic in y a step has no truncation: of g = sum exp(x_i) (y_si - 1)^2/2 the products are known to rounding, however the sizes of a differ.
func TestProductsOfWhatIsQuadraticInY(t *testing.T) {
	rng := members.Rand(t, 34)
	for k := range members.Of(50, 1000) {
		n, weeks := 1+rng.IntN(4), 1+rng.IntN(6)
		g := formula(func(dx, dy, x, y []float64) float64 {
			clear(dx)
			sum := 0.0
			for j, t := range y {
				c := math.Exp(x[j%n])
				sum += c * (t - 1) * (t - 1) / 2
				dx[j%n] += c * (t - 1) * (t - 1) / 2
				dy[j] = c * (t - 1)
			}
			return sum
		})
		lo, hi := make([]float64, n), make([]float64, n)
		x, y, a := make([]float64, n), make([]float64, n*weeks), make([]float64, n*weeks)
		trueX, trueY, sizeX, sizeY := make([]float64, n), make([]float64, len(y)), 0.0, 0.0
		for i := range x {
			lo[i], x[i], hi[i] = -5, 10*rng.Float64()-5, 5
		}
		for j := range y {
			y[j], a[j] = rng.NormFloat64(), rng.NormFloat64()*math.Pow(10, -6*rng.Float64())
			c := math.Exp(x[j%n])
			trueX[j%n] += c * (y[j] - 1) * a[j]
			trueY[j] = c * a[j]
			sizeX, sizeY = math.Max(sizeX, c*math.Max(1, math.Abs(y[j]))), math.Max(sizeY, c)
		}
		p := &problem.Problem{Dx: n, Dy: len(y), F: g, G: g, Facts: problem.Facts{QuadraticInY: true},
			Rows: &problem.Rows{A: sparse.FromEntries(0, n, nil), B: sparse.FromEntries(0, len(y), nil)}, X: &problem.Set{Lo: lo, Hi: hi, E: sparse.FromEntries(0, n, nil)}}
		d := newDeriver(p, x, y, nil)
		foundX, foundY, known, err := d.products(x, y, a)
		if err != nil {
			t.Fatal(err)
		}
		size := maxAbs(a)
		if off := apart(foundX, trueX); off > 8*known.x+0x1p-48*sizeX*size || known.x > 1e-12*sizeX*size {
			t.Errorf("member %d: the product in x is %g off, said to be %g, of terms of %g", k, off, known.x, sizeX*size)
		}
		if off := apart(foundY, trueY); off > 8*known.y+0x1p-48*sizeY*size || known.y > 1e-11*sizeY*size {
			t.Errorf("member %d: the product in y is %g off, said to be %g, of %g", k, off, known.y, sizeY*size)
		}
	}
}
