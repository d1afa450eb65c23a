package qp

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/extended"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// TestBudget projects onto random budgets, sums of maxima of lines in one entry each, which is
// a quadratic program over (x, u), and asks for the point that bisection of the one multiplier
// gives, and for one that is in X.
func TestBudget(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 33))
	held := 0
	for trial := range 200 {
		n := 1 + rng.IntN(12)
		e := &extended.Rows{E: sparse.Empty(n)}
		end := func(rhs float64, of int) {
			e.E.EndRow()
			e.Rhs, e.Of, e.Name = append(e.Rhs, rhs), append(e.Of, of), append(e.Name, "")
		}
		type part struct{ entry int }
		var parts []part
		for range 1 + rng.IntN(2*n) {
			j := rng.IntN(n)
			switch kind := rng.IntN(3); kind {
			case 0: // |x_j - c|, a scale
				c, scale := math.Round(2*rng.NormFloat64()), 0.5+rng.Float64()
				for _, sign := range []float64{scale, -scale} {
					e.E.Append(j, sign)
					e.E.Append(n+e.Dim, -1)
					end(sign*c, e.Dim)
				}
			default:
				for range 1 + rng.IntN(4) {
					if slope := rng.NormFloat64(); rng.IntN(4) > 0 {
						e.E.Append(j, slope)
					}
					e.E.Append(n+e.Dim, -1)
					end(rng.NormFloat64(), e.Dim)
				}
			}
			parts = append(parts, part{e.Dim})
			e.Dim++
		}
		if rng.IntN(3) == 0 {
			e.E.Append(rng.IntN(n), rng.NormFloat64())
		}
		for _, p := range parts {
			e.E.Append(n+p.entry, 0.2+rng.Float64())
		}
		end(0, -1)
		e.E.Cols = n + e.Dim
		set := &problem.Set{Lo: make([]float64, n), Hi: make([]float64, n), Extended: e}
		inside := make([]float64, n)
		for j := range set.Lo {
			set.Lo[j], set.Hi[j] = math.Inf(-1), math.Inf(1)
			if rng.IntN(3) == 0 {
				set.Lo[j] = -1
			}
			if rng.IntN(3) == 0 {
				set.Hi[j] = 1
			}
			inside[j] = 2*rng.Float64() - 1
		}
		last := e.Len() - 1
		e.Each(inside, func(int) float64 { return 1 }, func(_ int, excess, _ float64) { e.Rhs[last] = excess + rng.Float64() })
		if err := e.Validate(n); err != nil {
			t.Fatal(err)
		}
		p := NewProjector(set, noRows(n), n, 0)
		x := make([]float64, n)
		for j := range x {
			x[j] = 3 * rng.NormFloat64()
		}
		got, want := make([]float64, n), make([]float64, n)
		if err := p.Project(got, x); err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		spend := newBudget(set, n)
		if spend == nil || !spend.project(want, x) {
			t.Fatalf("trial %d: it is no budget", trial)
		}
		for j := range want {
			if math.Abs(got[j]-want[j]) > 1e-9*(1+math.Abs(x[j])) {
				t.Errorf("trial %d: entry %d is %v, not %v", trial, j, got[j], want[j])
			}
		}
		e.Each(got, func(int) float64 { return 1 }, func(_ int, excess, terms float64) {
			if excess > 1e-14*terms {
				t.Errorf("trial %d: off by %v", trial, excess)
			}
		})
		e.Each(x, func(int) float64 { return 1 }, func(_ int, excess, _ float64) {
			if excess > 0 {
				held++
			}
		})
	}
	if held < 100 {
		t.Errorf("%d budgets that hold say too little", held)
	}
}

// budget projects onto bounds and one row c(x) <= b with
//
//	c(x) = sum_j phi_j(x_j),  phi_j convex and piecewise linear,
//
// a budget of absolute values or of what is above something, which is one row of X on
// further variables. The multiplier theta >= 0 of the row gives each entry apart, the
// minimizer of (x_j - a_j)^2/2 + theta phi_j(x_j), and c falls with theta: it is found by
// bisection down to neighbouring numbers.
type budget struct {
	limit  float64 // b less the constants of c
	lo, hi []float64
	pieces []piecewise
}

// piecewise is a convex piecewise linear function of one entry: its slopes from left to
// right, where they change, and its values there; or at 0, where they do not change.
type piecewise struct {
	slopes, at, values []float64
}

// newBudget is nil where X is not of this kind.
func newBudget(set *problem.Set, dx int) *budget {
	e := set.Extended
	if e == nil || len(set.Kind) > 0 || len(set.Balls) > 0 || set.Lo == nil || e.Len() == 0 || slices.Index(e.Of, -1) != e.Len()-1 {
		return nil
	}
	type line struct{ slope, rest float64 }
	sides, entry := make([][]line, e.Dim), make([]int, e.Dim)
	for i, of := range e.Of[:e.Len()-1] {
		cols, vals := e.E.Row(i)
		l, on := line{rest: -e.Rhs[i]}, -1
		for t, j := range cols {
			switch {
			case vals[t] == 0 || j == dx+of:
			case j >= dx || on >= 0:
				return nil
			default:
				on, l.slope = j, vals[t]
			}
		}
		if len(sides[of]) == 0 {
			entry[of] = -1
		}
		if on >= 0 && entry[of] >= 0 && entry[of] != on {
			return nil
		}
		entry[of] = max(entry[of], on)
		sides[of] = append(sides[of], l)
	}
	b := &budget{limit: e.Rhs[e.Len()-1], lo: set.Lo, hi: set.Hi, pieces: make([]piecewise, dx)}
	slope := make([]float64, dx) // at the far left
	type turn struct{ at, by float64 }
	turns := make([][]turn, dx)
	base := make([]float64, dx) // value of the leftmost line at 0
	cols, vals := e.E.Row(e.Len() - 1)
	for t, j := range cols {
		if j < dx {
			slope[j] += vals[t]
			continue
		}
		w, on, ls := vals[t], entry[j-dx], sides[j-dx]
		if on < 0 {
			most := math.Inf(-1)
			for _, l := range ls {
				most = math.Max(most, l.rest)
			}
			b.limit -= w * most
			continue
		}
		// The upper envelope from the left: the least slope first, of two the higher.
		slices.SortFunc(ls, func(a, b line) int { return cmp.Or(cmp.Compare(a.slope, b.slope), cmp.Compare(b.rest, a.rest)) })
		now, from := ls[0], math.Inf(-1)
		slope[on] += w * now.slope
		base[on] += w * now.rest
		for {
			next, at := line{}, math.Inf(1)
			for _, l := range ls {
				if l.slope > now.slope {
					if x := (now.rest - l.rest) / (l.slope - now.slope); x < at || x == at && l.slope > next.slope {
						next, at = l, x
					}
				}
			}
			if math.IsInf(at, 1) {
				break
			}
			at = math.Max(at, from)
			turns[on] = append(turns[on], turn{at, w * (next.slope - now.slope)})
			now, from = next, at
		}
	}
	for j := range b.pieces {
		p := &b.pieces[j]
		slices.SortFunc(turns[j], func(a, b turn) int { return cmp.Compare(a.at, b.at) })
		p.slopes = []float64{slope[j]}
		value, last := base[j], 0.0 // of the line at hand, at last
		for k, t := range turns[j] {
			value += p.slopes[k] * (t.at - last)
			last = t.at
			p.at, p.values = append(p.at, t.at), append(p.values, value)
			p.slopes = append(p.slopes, p.slopes[k]+t.by)
		}
		if len(p.at) == 0 {
			b.limit -= base[j]
		}
	}
	return b
}

// value is phi at x.
func (p *piecewise) value(x float64) float64 {
	k, _ := slices.BinarySearch(p.at, x)
	switch {
	case len(p.at) == 0:
		return p.slopes[0] * x
	case k == 0:
		return p.values[0] + p.slopes[0]*(x-p.at[0])
	}
	return p.values[k-1] + p.slopes[k]*(x-p.at[k-1])
}

// prox is the minimizer of (x - a)^2/2 + theta phi(x) within bounds.
func (p *piecewise) prox(a, theta, lo, hi float64) float64 {
	for k, at := range p.at {
		if x := a - theta*p.slopes[k]; x <= at {
			return math.Min(math.Max(x, lo), hi)
		}
		if a-theta*p.slopes[k+1] <= at {
			return math.Min(math.Max(at, lo), hi)
		}
	}
	return math.Min(math.Max(a-theta*p.slopes[len(p.at)], lo), hi)
}

// project sets dst to the point nearest to a, and reports whether there is one.
func (b *budget) project(dst, a []float64) bool {
	at := func(theta float64) float64 {
		s := -b.limit
		for j := range b.pieces {
			dst[j] = b.pieces[j].prox(a[j], theta, b.lo[j], b.hi[j])
			s += b.pieces[j].value(dst[j])
		}
		return s
	}
	if at(0) <= 0 {
		return true
	}
	low, high := 0.0, 1.0
	for at(high) > 0 {
		if low, high = high, 2*high; math.IsInf(high, 1) {
			return false // no x, or none but for rounding: the rows decide
		}
	}
	for {
		mid := low + (high-low)/2
		if mid <= low || mid >= high {
			break
		}
		if at(mid) > 0 {
			low = mid
		} else {
			high = mid
		}
	}
	at(high)
	return true
}
