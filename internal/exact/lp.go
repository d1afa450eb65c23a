// Package exact decides small linear systems in rational arithmetic. It is the
// truth that tests compare the floating-point solvers with, and shares nothing
// with them.
package exact

import (
	"math/big"

	"bilevelc/internal/each"
)

// LP is a linear program in free variables v,
//
//	minimize c'v  subject to  a_i'v <= b_i  or  a_i'v == b_i,
//
// solved in exact arithmetic: an answer is a theorem about the numbers given.
type LP struct {
	N    int
	rows []lpRow
}

type lpRow struct {
	a     []*big.Rat
	b     *big.Rat
	equal bool
}

// Outcome of a linear program.
type Outcome uint8

// The outcomes.
const (
	Optimal Outcome = iota
	Empty           // no v satisfies the rows
	Falling         // c'v falls without bound
)

// Leq adds a'v <= b.
func (p *LP) Leq(a []*big.Rat, b *big.Rat) { p.Add(a, b, false) }

// Add adds a'v <= b, or a'v == b.
func (p *LP) Add(a []*big.Rat, b *big.Rat, equal bool) { p.rows = append(p.rows, lpRow{a, b, equal}) }

// Minimize solves the program for the cost c (nil: only feasibility) and
// returns a minimizer and its value. The method is the two-phase simplex
// method with Bland's rule, which cannot cycle, on an integer tableau with one
// common denominator (Edmonds' integer pivoting).
func (p *LP) Minimize(c []*big.Rat) (Outcome, []*big.Rat, *big.Rat) {
	t := newTableau(p)
	if !t.phaseOne() {
		return Empty, nil, nil
	}
	if c == nil {
		return Optimal, t.point(p.N), new(big.Rat)
	}
	t.price(c)
	if !t.pivotAll() {
		return Falling, nil, nil
	}
	v := t.point(p.N)
	return Optimal, v, Dot(c, v)
}

// tableau holds rows over the columns v+, v-, slacks, artificials, and the
// right side; the real entries are cell/d. Row m is the objective's.
type tableau struct {
	cell       [][]*big.Int
	d          *big.Int
	basis      []int
	n          int // of free variables: columns 0..n-1 are v+, n..2n-1 are v-
	artificial int // first artificial column
	width      int // columns without the right side
	barred     int // columns from here on may not enter
}

func newTableau(p *LP) *tableau {
	m, n := len(p.rows), p.N
	slacks := 0
	for _, r := range p.rows {
		if !r.equal {
			slacks++
		}
	}
	t := &tableau{d: big.NewInt(1), n: n, artificial: 2*n + slacks, width: 2*n + slacks + m, basis: make([]int, m)}
	t.barred = t.width
	slack := 2 * n
	for i, r := range p.rows {
		row := ints(t.width + 1)
		scale := denominator(r)
		for j, a := range r.a {
			row[j] = scaled(a, scale)
			row[n+j].Neg(row[j])
		}
		row[t.width] = scaled(r.b, scale)
		if !r.equal {
			row[slack].SetInt64(1)
		}
		negative := row[t.width].Sign() < 0
		if negative {
			for _, v := range row {
				v.Neg(v)
			}
		}
		if !r.equal && !negative {
			t.basis[i] = slack // the slack can be basic at once
		} else {
			row[t.artificial+i].SetInt64(1)
			t.basis[i] = t.artificial + i
		}
		if !r.equal {
			slack++
		}
		t.cell = append(t.cell, row)
	}
	t.cell = append(t.cell, ints(t.width+1))
	return t
}

// phaseOne drives the artificial variables to zero; false if it cannot.
func (t *tableau) phaseOne() bool {
	m := len(t.basis)
	objective := t.cell[m]
	for i, b := range t.basis {
		if b >= t.artificial {
			for j := range objective {
				if j < t.artificial || j == t.width {
					objective[j].Sub(objective[j], t.cell[i][j])
				}
			}
		}
	}
	t.barred = t.artificial
	t.pivotAll() // bounded below by zero
	if objective[t.width].Sign() != 0 {
		return false
	}
	// Artificials that stayed basic at zero leave where their row allows it; a
	// row without another entry says nothing.
	for i, b := range t.basis {
		if b < t.artificial {
			continue
		}
		for j := 0; j < t.artificial; j++ {
			if t.cell[i][j].Sign() != 0 {
				t.pivot(i, j)
				break
			}
		}
	}
	return true
}

// price sets the objective row to the reduced costs of c over v.
func (t *tableau) price(c []*big.Rat) {
	m := len(t.basis)
	scale := big.NewInt(1)
	for _, v := range c {
		scale = lcm(scale, v.Denom())
	}
	cost := ints(t.width)
	for j, v := range c {
		cost[j] = scaled(v, scale)
		cost[t.n+j].Neg(cost[j])
	}
	term := new(big.Int)
	for j := range t.cell[m] {
		sum := t.cell[m][j].SetInt64(0)
		if j < t.width {
			sum.Mul(cost[j], t.d)
		}
		for i, b := range t.basis {
			if b < t.width && cost[b].Sign() != 0 {
				sum.Sub(sum, term.Mul(cost[b], t.cell[i][j]))
			}
		}
	}
}

// pivotAll pivots until no reduced cost is negative; false where the objective
// falls without bound.
func (t *tableau) pivotAll() bool {
	m := len(t.basis)
	left, right := new(big.Int), new(big.Int)
	for {
		enter := -1
		for j := 0; j < t.barred; j++ {
			if t.cell[m][j].Sign() < 0 {
				enter = j
				break
			}
		}
		if enter < 0 {
			return true
		}
		leave := -1
		for i := range t.basis {
			if t.cell[i][enter].Sign() <= 0 {
				continue
			}
			if leave >= 0 {
				left.Mul(t.cell[i][t.width], t.cell[leave][enter])
				right.Mul(t.cell[leave][t.width], t.cell[i][enter])
				if sign := left.Cmp(right); sign > 0 || sign == 0 && t.basis[i] > t.basis[leave] {
					continue
				}
			}
			leave = i
		}
		if leave < 0 {
			return false
		}
		t.pivot(leave, enter)
	}
}

// pivot makes column enter basic in row leave.
func (t *tableau) pivot(leave, enter int) {
	p := new(big.Int).Set(t.cell[leave][enter])
	row, term := t.cell[leave], new(big.Int)
	for i, other := range t.cell {
		if i == leave {
			continue
		}
		factor := new(big.Int).Set(other[enter])
		for j, v := range other {
			if v.Sign() == 0 && (factor.Sign() == 0 || row[j].Sign() == 0) {
				continue
			}
			v.Mul(v, p)
			if factor.Sign() != 0 {
				v.Sub(v, term.Mul(factor, row[j]))
			}
			v.Quo(v, t.d) // exact
		}
	}
	t.basis[leave] = enter
	t.d = p
	if p.Sign() < 0 { // only where an artificial is driven out
		t.d.Neg(t.d)
		for _, r := range t.cell {
			for _, v := range r {
				v.Neg(v)
			}
		}
	}
}

func (t *tableau) point(n int) []*big.Rat {
	v := each.Below(n, func(int) *big.Rat { return new(big.Rat) })
	for i, b := range t.basis {
		value := new(big.Rat).SetFrac(t.cell[i][t.width], t.d)
		switch {
		case b < n:
			v[b].Add(v[b], value)
		case b < 2*n:
			v[b-n].Sub(v[b-n], value)
		}
	}
	return v
}

func ints(n int) []*big.Int {
	flat := make([]big.Int, n)
	return each.Below(n, func(i int) *big.Int { return &flat[i] })
}

func denominator(r lpRow) *big.Int {
	d := new(big.Int).Set(r.b.Denom())
	for _, a := range r.a {
		d = lcm(d, a.Denom())
	}
	return d
}

func lcm(a, b *big.Int) *big.Int {
	gcd := new(big.Int).GCD(nil, nil, a, b)
	out := new(big.Int).Quo(a, gcd)
	return out.Mul(out, b)
}

// scaled is the integer v * scale; scale is a multiple of v's denominator.
func scaled(v *big.Rat, scale *big.Int) *big.Int {
	out := new(big.Int).Quo(scale, v.Denom())
	return out.Mul(out, v.Num())
}

// Dot is a'b.
func Dot(a, b []*big.Rat) *big.Rat {
	sum, term := new(big.Rat), new(big.Rat)
	for i := range a {
		sum.Add(sum, term.Mul(a[i], b[i]))
	}
	return sum
}

// exact is a vector of doubles as rationals.
func Doubles(v []float64) []*big.Rat {
	out := make([]*big.Rat, len(v))
	for i := range v {
		out[i] = new(big.Rat).SetFloat64(v[i])
		if out[i] == nil {
			out[i] = new(big.Rat)
		}
	}
	return out
}
