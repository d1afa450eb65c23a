package extended_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/extended"
	"bilevelc/internal/sparse"
)

// convex is a random function that is made of sums and maxima of affine ones, evaluated
// by recursion, and the same as rows.
type convex struct {
	rng  *rand.Rand
	n    int
	rows extended.Rows
}

// maximum adds an entry of u: the larger of a few sides, each of which may read an earlier
// entry; and a function that evaluates it.
func (c *convex) maximum(depth int) (entry int, value func(x []float64) float64) {
	type side struct {
		a      []float64
		b      float64
		weight float64
		entry  int
		value  func(x []float64) float64
	}
	sides := make([]side, 1+c.rng.IntN(3))
	for k := range sides {
		s := &sides[k]
		s.a, s.b, s.entry = make([]float64, c.n), c.rng.NormFloat64(), -1
		for j := range s.a {
			if c.rng.IntN(2) == 0 {
				s.a[j] = c.rng.NormFloat64()
			}
		}
		if depth > 0 && c.rng.IntN(2) == 0 {
			s.weight = c.rng.Float64()
			s.entry, s.value = c.maximum(depth - 1)
		}
	}
	entry = c.rows.Dim
	c.rows.Dim++
	for _, s := range sides {
		for j, v := range s.a {
			if v != 0 {
				c.rows.E.Append(j, v)
			}
		}
		if s.entry >= 0 {
			c.rows.E.Append(c.n+s.entry, s.weight)
		}
		c.rows.E.Append(c.n+entry, -1)
		c.end(-s.b, entry)
	}
	return entry, func(x []float64) float64 {
		most := math.Inf(-1)
		for _, s := range sides {
			v := s.b
			for j, a := range s.a {
				v += a * x[j]
			}
			if s.value != nil {
				v += s.weight * s.value(x)
			}
			most = math.Max(most, v)
		}
		return most
	}
}

func (c *convex) end(rhs float64, of int) {
	c.rows.E.EndRow()
	c.rows.Rhs, c.rows.Of, c.rows.Name = append(c.rows.Rhs, rhs), append(c.rows.Of, of), append(c.rows.Name, "")
}

// TestRows compares values, cuts, slopes and bounds of random rows with a recursion.
func TestRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 7))
	bounds, never := 0, 0
	for trial := range 300 {
		c := &convex{rng: rng, n: 1 + rng.IntN(4)}
		c.rows.E = sparse.Empty(c.n)
		var parts []func(x []float64) float64
		var entries []int
		for range 1 + rng.IntN(3) {
			e, v := c.maximum(2)
			entries, parts = append(entries, e), append(parts, v)
		}
		weights := make([]float64, len(parts))
		for k := range parts {
			weights[k] = rng.Float64()
			c.rows.E.Append(c.n+entries[k], weights[k])
		}
		side := 2*rng.Float64() - float64(2*(trial%2))
		c.end(side, -1)
		c.rows.E.Cols = c.n + c.rows.Dim
		model := c.rows.Len() - 1
		if err := c.rows.Validate(c.n); err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		value := func(x []float64) float64 {
			s := -side
			for k, v := range parts {
				s += weights[k] * v(x)
			}
			return s
		}
		draw := func(scale float64) []float64 {
			x := make([]float64, c.n)
			for j := range x {
				x[j] = scale * rng.NormFloat64()
			}
			return x
		}
		lo, hi := make([]float64, c.n), make([]float64, c.n)
		for j := range lo {
			lo[j], hi[j] = -3, 3
			if rng.IntN(3) == 0 {
				lo[j] = math.Inf(-1)
			}
			if rng.IntN(3) == 0 {
				hi[j] = math.Inf(1)
			}
		}
		slopes := c.rows.Slopes(c.n)
		x := draw(2)
		normal, at := c.rows.Cut(model, x)
		if want := value(x); math.Abs(at-want) > 1e-12*(1+math.Abs(want)) {
			t.Errorf("trial %d: the cut is %v at x, not %v", trial, at, want)
		}
		for range 20 {
			y := draw(3)
			want := value(y)
			c.rows.Each(y, func(j int) float64 { return math.Abs(y[j]) }, func(_ int, excess, terms float64) {
				if math.Abs(excess-want) > 1e-12*(1+math.Abs(want)) || terms < math.Abs(want)-1e-12 {
					t.Errorf("trial %d: %v of size %v, not %v", trial, excess, terms, want)
				}
			})
			below, apart := at, 0.0
			for j := range y {
				below += normal[j] * (y[j] - x[j])
				apart = math.Hypot(apart, y[j]-x[j])
			}
			if below > want+1e-11*(1+math.Abs(want)+apart) {
				t.Errorf("trial %d: the cut is %v where the function is %v", trial, below, want)
			}
			if math.Abs(want-value(x)) > slopes[model]*apart+1e-12*(1+math.Abs(want)) {
				t.Errorf("trial %d: it changes by %v over %v, faster than %v", trial, want-value(x), apart, slopes[model])
			}
			for j := range y {
				y[j] = min(max(y[j], lo[j]), hi[j])
			}
			inside := value(y) <= 0
			c.rows.Bounds(lo, hi, func(j int, at float64, upper bool, i int) {
				if i != model {
					t.Errorf("trial %d: a bound by row %d", trial, i)
				}
				if inside && (upper && y[j] > at+1e-9*(1+math.Abs(at)) || !upper && y[j] < at-1e-9*(1+math.Abs(at))) {
					t.Errorf("trial %d: %v is not within the bound %v (%v)", trial, y[j], at, upper)
				}
				bounds++
			}, 1e-9, func(int, float64) {
				if never++; inside {
					t.Errorf("trial %d: no x, but %v", trial, y)
				}
			})
		}
	}
	if bounds < 100 || never == 0 {
		t.Errorf("%d bounds and %d rows that no x satisfies say too little", bounds, never)
	}
}
