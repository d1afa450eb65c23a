package certify

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// TestResidual: the distance to a cone is the least of those to the subspaces of its sets of columns whose nearest point is in it,
// where columns repeat, are opposite, or follow from others, too; and the residual makes no acute angle with a column.
func TestResidual(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	deep := 0
	for k := range 3000 {
		m := 1 + rng.IntN(5)
		g := generators{size: m}
		var columns [][]float64
		unit := func(j int, sign float64) {
			e := make([]float64, m)
			e[j] = sign
			columns = append(columns, e)
		}
		for j := range m {
			up, down := rng.IntN(5) == 0, rng.IntN(5) == 0
			g.unit(j, up, down)
			if up {
				unit(j, 1)
			}
			if down {
				unit(j, -1)
			}
		}
		for range rng.IntN(6) {
			c := make([]float64, m)
			for j := range c {
				c[j] = rng.NormFloat64()
			}
			switch n := len(g.columns); {
			case n > 0 && rng.IntN(4) == 0:
				c = scaled(g.columns[rng.IntN(n)], []float64{1, 3, -1}[rng.IntN(3)])
			case n > 1 && rng.IntN(4) == 0:
				for j := range c {
					c[j] = g.columns[0][j] + g.columns[1][j]
				}
			}
			g.add(c)
			columns = append(columns, c)
		}
		target := make([]float64, m)
		for j := range target {
			target[j] = rng.NormFloat64()
		}
		rest := g.residual(target)
		for _, c := range columns {
			if a := floats.Dot(c, rest); a > 1e-9*norm(c) {
				t.Fatalf("cone %d: a column at an angle of %g with the residual %v", k, a, rest)
			}
		}
		least := norm(target)
		for set := 1; set < 1<<len(columns); set++ {
			var held [][]float64
			for i, c := range columns {
				if set>>i&1 == 1 {
					held = append(held, c)
				}
			}
			if len(held) > m {
				continue // by Caratheodory fewer do
			}
			a, b := mat.NewDense(m, len(held), nil), mat.NewVecDense(m, target)
			for i, c := range held {
				a.SetCol(i, c)
			}
			var z mat.VecDense
			var qr mat.QR
			if qr.Factorize(a); qr.Cond() > 1e10 || qr.SolveVecTo(&z, false, b) != nil || mat.Min(&z) < 0 {
				continue
			}
			var off mat.VecDense
			off.MulVec(a, &z)
			off.SubVec(b, &off)
			least = math.Min(least, mat.Norm(&off, 2))
		}
		if math.Abs(norm(rest)-least) > 1e-9*norm(target) {
			t.Fatalf("cone %d of %d columns: a distance of %.12g, not %.12g", k, len(columns), norm(rest), least)
		}
		if len(columns) > 3 && least > 0.1 {
			deep++
		}
	}
	if deep < 300 {
		t.Errorf("only %d cones of more than three columns do not hold their point", deep)
	}
}

// TestResidualOfMany: with many columns, some of them nearly parallel, the residual is that of coordinate descent, which
// shares nothing with it.
func TestResidualOfMany(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for k := range 20 {
		m, n := 150, 60+rng.IntN(60)
		g := generators{size: m}
		near := []float64{1, 0.1, 1e-3, 3e-8, 1e-9}[k%5]
		for i := range n {
			c := make([]float64, m)
			for j := range c {
				c[j] = rng.NormFloat64()
			}
			if i%10 == 9 {
				for j, v := range g.columns[i-1] {
					c[j] = v + near*c[j]
				}
			}
			g.add(c)
		}
		if k%3 == 0 {
			g.unit(3, true, false)
			g.unit(4, true, true)
		}
		target := make([]float64, m)
		for i, c := range g.columns {
			for j, v := range c {
				target[j] += v * (rng.Float64() - 0.3) / float64(1+i%7)
			}
		}
		for j := range target {
			target[j] += 3 * rng.NormFloat64()
		}
		columns := slices.Clone(g.columns)
		if k%3 == 0 {
			for _, u := range []struct {
				j    int
				sign float64
			}{{3, 1}, {4, 1}, {4, -1}} {
				e := make([]float64, m)
				e[u.j] = u.sign
				columns = append(columns, e)
			}
		}
		z, want := make([]float64, len(columns)), slices.Clone(target)
		for range 3000 {
			for i, c := range columns {
				step := math.Max(-z[i], floats.Dot(c, want)/floats.Dot(c, c))
				z[i] += step
				for j, v := range c {
					want[j] -= step * v
				}
			}
		}
		rest := g.residual(target)
		// The descent creeps where columns are parallel but for a thousandth; what it has is in the cone even so.
		if off := distance(rest, want); near != 1e-3 && near != 3e-8 && off > 1e-7*norm(target) || norm(rest) > norm(want)+1e-9*norm(target) {
			t.Errorf("cone %d: off by %.3g of %.3g", k, off, norm(target))
		}
		for i, c := range columns {
			if a := floats.Dot(c, rest); a > 1e-9*norm(c)*norm(target) {
				t.Errorf("cone %d: column %d at %.3g with the residual", k, i, a)
			}
		}
	}
}
