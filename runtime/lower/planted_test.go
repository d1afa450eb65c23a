package lower

import (
	"fmt"
	"math"
	"math/rand/v2"

	"bilevelc/runtime/problem"
)

// plan says what a planted problem is to look like.
type plan struct {
	n          int
	condition  float64 // of the Hessian, spread evenly in the logarithm
	active     int     // general rows with a positive multiplier
	inactive   int
	weak       int // general rows with slack and multiplier zero
	equal      int // equality rows
	atBound    int // entries of y at a bound with a positive multiplier
	boxed      bool
	duplicates int     // copies of active rows, scaled, whose multiplier is 0
	redundant  int     // positive combinations of active rows, with slack 0 and multiplier 0
	badScale   float64 // rows are multiplied by 1/badScale to badScale
}

// planted is a convex quadratic problem with a solution known by construction:
// y* and lambda* first, then the data that make them a Karush-Kuhn-Tucker point.
type planted struct {
	problem *problem.Problem
	x       []float64
	y       []float64
	lambda  []float64
	active  []int // rows with a positive multiplier, and equalities
	unique  bool  // the multipliers are
}

func (c plan) build(seed uint64) *planted {
	rng := rand.New(rand.NewPCG(seed, 1))
	n := c.n
	q := spectrum(rng, n, c.condition)
	y := normal(rng, n)
	var b [][]float64
	var r, lambda []float64
	equal := map[int]bool{}
	add := func(row []float64, slack, multiplier float64) {
		scale := 1.0
		if c.badScale > 1 {
			scale = math.Pow(c.badScale, 2*rng.Float64()-1)
		}
		scaled := make([]float64, n)
		for j, v := range row {
			scaled[j] = scale * v
		}
		b = append(b, scaled)
		r = append(r, dotProduct(scaled, y)-scale*slack)
		lambda = append(lambda, multiplier/scale)
	}
	positive := func() float64 { return 0.1 + rng.Float64() }
	for i := 0; i < c.equal; i++ {
		equal[len(b)] = true
		add(normal(rng, n), 0, rng.NormFloat64())
	}
	first := len(b)
	for i := 0; i < c.active; i++ {
		add(normal(rng, n), 0, positive())
	}
	for i := 0; i < c.weak; i++ {
		add(normal(rng, n), 0, 0)
	}
	for i := 0; i < c.inactive; i++ {
		add(normal(rng, n), positive()*math.Sqrt(float64(n))/4, 0)
	}
	for j, order := 0, rng.Perm(n); j < n; j++ {
		row := make([]float64, n)
		row[order[j]] = 1 - 2*float64(j%2)
		switch {
		case j < c.atBound:
			add(row, 0, positive())
		case c.boxed:
			add(row, positive(), 0)
		}
	}
	for i := 0; i < c.duplicates; i++ {
		add(b[first+i%c.active], 0, 0)
	}
	for i := 0; i < c.redundant; i++ {
		row := make([]float64, n)
		for t := 0; t < min(3, c.active); t++ {
			w := positive()
			for j, v := range b[first+(i+t)%c.active] {
				row[j] += w * v
			}
		}
		add(row, 0, 0)
	}
	linear := make([]float64, n)
	for i := range linear {
		linear[i] = -dotProduct(q[i*n:(i+1)*n], y)
	}
	out := &planted{y: y, lambda: lambda, unique: c.duplicates+c.redundant == 0, x: []float64{}}
	for i, l := range lambda {
		for j, v := range b[i] {
			linear[j] += v * l
		}
		if l != 0 || equal[i] {
			out.active = append(out.active, i)
		}
	}
	out.problem = &problem.Problem{Dy: n, F: zero{}, G: newQuadratic(0, n, q, nil, linear),
		Rows: rowsOf(0, n, b, r, equal), X: unbounded(0),
		Facts: problem.Facts{StrongConvexity: 1, Smoothness: c.condition, QuadraticInY: true, FixedHessian: true}}
	return out
}

// spectrum is a random symmetric matrix with eigenvalues from 1 to condition,
// even in the logarithm: a diagonal between products of reflections.
func spectrum(rng *rand.Rand, n int, condition float64) []float64 {
	q := make([]float64, n*n)
	for i := 0; i < n; i++ {
		q[i*n+i] = 1
		if n > 1 {
			q[i*n+i] = math.Pow(condition, float64(i)/float64(n-1))
		}
	}
	for k := 0; k < n; k++ {
		u := normal(rng, n)
		size := math.Sqrt(dotProduct(u, u))
		for j := range u {
			u[j] /= size
		}
		qu := make([]float64, n)
		for i := range qu {
			qu[i] = dotProduct(q[i*n:(i+1)*n], u)
		}
		uqu := dotProduct(u, qu)
		for i := 0; i < n; i++ {
			for j := 0; j < n; j++ {
				q[i*n+j] += -2*u[i]*qu[j] - 2*qu[i]*u[j] + 4*uqu*u[i]*u[j]
			}
		}
	}
	for i := 0; i < n; i++ { // rounding made it slightly asymmetric
		for j := 0; j < i; j++ {
			s := (q[i*n+j] + q[j*n+i]) / 2
			q[i*n+j], q[j*n+i] = s, s
		}
	}
	return q
}

func normal(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for j := range v {
		v[j] = rng.NormFloat64()
	}
	return v
}

func dotProduct(a, b []float64) float64 {
	s := 0.0
	for j, t := range a {
		s += t * b[j]
	}
	return s
}

var plans = []plan{
	{n: 1, condition: 1},
	{n: 1, condition: 1, atBound: 1},
	{n: 10, condition: 1, active: 3, inactive: 5},
	{n: 10, condition: 100, active: 10, inactive: 5},
	{n: 20, condition: 1e4, active: 5, inactive: 10, equal: 4},
	{n: 20, condition: 1e8, active: 5, inactive: 10, atBound: 3, boxed: true},
	{n: 50, condition: 1e2, active: 10, inactive: 20, weak: 5},
	{n: 50, condition: 1e2, active: 10, inactive: 20, duplicates: 8},
	{n: 50, condition: 1e2, active: 10, inactive: 20, redundant: 8, equal: 3},
	{n: 50, condition: 1e3, active: 10, inactive: 20, badScale: 1e4},
	{n: 50, condition: 1e2, atBound: 25, boxed: true, equal: 1},
	{n: 50, condition: 1e6, atBound: 50, boxed: true},
	{n: 100, condition: 1e4, active: 20, inactive: 60, atBound: 20, boxed: true, equal: 5, weak: 3, duplicates: 3},
	{n: 200, condition: 1e4, active: 20, inactive: 20},
	{n: 200, condition: 4e4, active: 100, inactive: 60},
	{n: 200, condition: 1e8, active: 20, inactive: 20},
	{n: 200, condition: 1e2, active: 0, inactive: 20, atBound: 150, boxed: true},
	{n: 200, condition: 1e2, active: 200, inactive: 0},
}

func (c plan) String() string {
	return fmt.Sprintf("n %d cond %g act %d inact %d weak %d eq %d bnd %d dup %d red %d scale %g", c.n, c.condition, c.active,
		c.inactive, c.weak, c.equal, c.atBound, c.duplicates, c.redundant, c.badScale)
}
