package exact

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestMinimizeAgainstVertices compares the simplex method with the least value
// over all vertices of random boxed programs.
func TestMinimizeAgainstVertices(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	seen := 0
	for range 400 {
		n, m := 1+rng.IntN(3), rng.IntN(4)
		p := &LP{N: n}
		for j := range n {
			for _, s := range []int64{1, -1} {
				a := zeros(n)
				a[j] = big.NewRat(s, 1)
				p.Leq(a, big.NewRat(int64(rng.IntN(4)), 1))
			}
		}
		for range m {
			a := zeros(n)
			for j := range a {
				a[j] = big.NewRat(int64(rng.IntN(7)-3), int64(1+rng.IntN(2)))
			}
			b := big.NewRat(int64(rng.IntN(9)-4), 1)
			if rng.IntN(4) == 0 {
				p.Add(a, b, true)
			} else {
				p.Leq(a, b)
			}
		}
		c := zeros(n)
		for j := range c {
			c[j] = big.NewRat(int64(rng.IntN(7)-3), 1)
		}
		outcome, v, value := p.Minimize(c)
		best := bestVertex(p, c)
		if best == nil {
			seen++
			if outcome != Empty {
				t.Fatalf("outcome %v of an empty program", outcome)
			}
			continue
		}
		if outcome != Optimal || value.Cmp(best) != 0 || !p.holds(v) {
			t.Fatalf("outcome %v, value %v at %v; the best vertex has %v", outcome, value, v, best)
		}
	}
	if seen < 20 {
		t.Fatalf("only %d empty programs: the test does not see them", seen)
	}
}

func TestMinimizeFalling(t *testing.T) {
	p := &LP{N: 2}
	p.Leq([]*big.Rat{big.NewRat(1, 1), big.NewRat(-1, 1)}, big.NewRat(1, 1))
	if outcome, _, _ := p.Minimize([]*big.Rat{big.NewRat(-1, 1), big.NewRat(0, 1)}); outcome != Falling {
		t.Fatalf("outcome %v", outcome)
	}
	if outcome, _, value := p.Minimize([]*big.Rat{big.NewRat(-1, 1), big.NewRat(1, 1)}); outcome != Optimal || value.Cmp(big.NewRat(-1, 1)) != 0 {
		t.Fatalf("outcome %v, value %v", outcome, value)
	}
}

func (p *LP) holds(v []*big.Rat) bool {
	for _, r := range p.rows {
		sign := Dot(r.a, v).Cmp(r.b)
		if sign > 0 || r.equal && sign != 0 {
			return false
		}
	}
	return true
}

// bestVertex tries every choice of N rows as equalities.
func bestVertex(p *LP, c []*big.Rat) *big.Rat {
	var best *big.Rat
	var choose func(from int, chosen []int)
	choose = func(from int, chosen []int) {
		if len(chosen) == p.N {
			a := make([][]*big.Rat, p.N)
			b := make([]*big.Rat, p.N)
			for k, i := range chosen {
				a[k], b[k] = p.rows[i].a, p.rows[i].b
			}
			if v := solveRat(a, b); v != nil && p.holds(v) {
				if value := Dot(c, v); best == nil || value.Cmp(best) < 0 {
					best = value
				}
			}
			return
		}
		for i := from; i < len(p.rows); i++ {
			choose(i+1, append(append([]int(nil), chosen...), i))
		}
	}
	choose(0, nil)
	return best
}

func solveRat(a [][]*big.Rat, b []*big.Rat) []*big.Rat {
	n := len(b)
	m := make([][]*big.Rat, n)
	for i := range m {
		for _, v := range append(append([]*big.Rat(nil), a[i]...), b[i]) {
			m[i] = append(m[i], new(big.Rat).Set(v))
		}
	}
	for k := range m {
		pivot := k
		for pivot < n && m[pivot][k].Sign() == 0 {
			pivot++
		}
		if pivot == n {
			return nil
		}
		m[k], m[pivot] = m[pivot], m[k]
		for i := range m {
			if i == k {
				continue
			}
			factor := new(big.Rat).Quo(m[i][k], m[k][k])
			for j := range m[i] {
				m[i][j].Sub(m[i][j], new(big.Rat).Mul(factor, m[k][j]))
			}
		}
	}
	v := make([]*big.Rat, n)
	for i := range v {
		v[i] = new(big.Rat).Quo(m[i][n], m[i][i])
	}
	return v
}

func zeros(n int) []*big.Rat {
	out := make([]*big.Rat, n)
	for i := range out {
		out[i] = new(big.Rat)
	}
	return out
}
