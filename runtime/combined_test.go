package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/each"
	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// nearly is a follower 0.5 |L (y - C x)|^2 + 0.5 |y|^2 + c'y with equations B y = A x + b, the last of which are combinations of the others but for a share.
type nearly struct{ l, c, a, b, linear, rhs, target [][]float64 }

func randomNearly(r *rand.Rand) *nearly {
	matrix := func(m, n int) [][]float64 {
		return each.Below(m, func(int) []float64 { return each.Below(n, func(int) float64 { return r.NormFloat64() }) })
	}
	dx, dy := 1+r.IntN(2), 3+r.IntN(4)
	m := 2 + r.IntN(min(3, dy-2))
	p := &nearly{l: matrix(dy, dy), c: matrix(dy, dx), a: matrix(m, dx), b: matrix(m, dy), rhs: matrix(m, 1), linear: matrix(dy, 1), target: matrix(dy, 1)}
	for i := m - 1 - r.IntN(m-1); i < m; i++ {
		near, weight := math.Pow(10, -5-7*r.Float64()), matrix(1, i)[0] // 1e-5 to 1e-12
		for _, of := range [][][]float64{p.a, p.b, p.rhs} {
			for j := range of[i] {
				of[i][j] *= near
				for k, w := range weight {
					of[i][j] += w * of[k][j]
				}
			}
		}
	}
	order := r.Perm(m)
	for _, of := range []*[][]float64{&p.a, &p.b, &p.rhs} {
		*of = each.Of(order, func(i int) []float64 { return (*of)[i] })
	}
	return p
}

func (p *nearly) model() string {
	text := func(of [][]float64) string {
		return fmt.Sprint("[", strings.Join(each.Of(of, func(row []float64) string {
			return "[" + strings.Join(each.Of(row, func(v float64) string { return fmt.Sprint(v) }), ", ") + "]"
		}), ",\n"), "]")
	}
	column := func(of [][]float64) string {
		return "[" + strings.Join(each.Of(of, func(row []float64) string { return fmt.Sprint(row[0]) }), ", ") + "]"
	}
	dx, dy, m := len(p.a[0]), len(p.l), len(p.a)
	return fmt.Sprintf(`model nearly
data L: matrix[%d, %[1]d] = %[4]s
data C: matrix[%[1]d, %d] = %[5]s
data A: matrix[%[3]d, %[2]d] = %[6]s
data B: matrix[%[3]d, %[1]d] = %[7]s
data b: vector[%[3]d] = %[8]s
data c: vector[%[1]d] = %[9]s
data t: vector[%[1]d] = %[10]s
upper {
  var x: vector[%[2]d]
  minimize sumsq(y - t) + sumsq(x)
}
lower {
  var y: vector[%[1]d]
  minimize 0.5*sumsq(L*(y - C*x)) + 0.5*sumsq(y) + c'*y
  subject to
    eq: B*y == A*x + b
}
`, dy, dx, m, text(p.l), text(p.c), text(p.a), text(p.b), column(p.rhs), column(p.linear), column(p.target))
}

// kkt is the matrix [H B'; B 0] and, for each entry of x, the right side's derivative, with the right side at 0 first, exactly.
func (p *nearly) kkt() (k, right [][]*big.Rat) {
	dx, dy, m := len(p.a[0]), len(p.l), len(p.a)
	zeros := func(rows, columns int) [][]*big.Rat {
		return each.Below(rows, func(int) []*big.Rat { return each.Below(columns, func(int) *big.Rat { return new(big.Rat) }) })
	}
	k, right = zeros(dy+m, dy+m), zeros(dy+m, 1+dx)
	for i := range dy {
		for j := range dy {
			square := new(big.Rat)
			for t := range dy {
				square = plus(square, product(rat(p.l[t][i]), rat(p.l[t][j])))
			}
			for t := range dx {
				right[i][1+t] = plus(right[i][1+t], product(square, rat(p.c[j][t])))
			}
			if i == j {
				square = plus(square, rat(1))
			}
			k[i][j] = square
		}
		right[i][0] = rat(-p.linear[i][0])
		for t := range m {
			k[i][dy+t], k[dy+t][i] = rat(p.b[t][i]), rat(p.b[t][i])
		}
	}
	for t := range m {
		right[dy+t][0] = rat(p.rhs[t][0])
		for j := range dx {
			right[dy+t][1+j] = rat(p.a[t][j])
		}
	}
	return k, right
}

// eliminated solves k z = right, in place.
func eliminated(k, right [][]*big.Rat) [][]*big.Rat {
	for c := range k {
		at := c + slices.IndexFunc(k[c:], func(row []*big.Rat) bool { return row[c].Sign() != 0 })
		k[c], k[at], right[c], right[at] = k[at], k[c], right[at], right[c]
		for i := range k {
			if i == c || k[i][c].Sign() == 0 {
				continue
			}
			by := ratio(k[i][c], k[c][c])
			by.Neg(by)
			for _, of := range [][][]*big.Rat{k, right} {
				for j := range of[i] {
					of[i][j] = plus(of[i][j], product(by, of[c][j]))
				}
			}
		}
	}
	for c := range k {
		for j := range right[c] {
			right[c][j] = ratio(right[c][j], k[c][c])
		}
	}
	return right
}

// at is y with lambda behind it at x, F and its gradient, and the derivatives of the first.
func (p *nearly) at(x []float64) (z []float64, f float64, grad []float64, dz [][]float64) {
	dy := len(p.l)
	number := func(v *big.Rat) float64 { f, _ := v.Float64(); return f }
	line := eliminated(p.kkt())
	value, slope := new(big.Rat), each.Below(len(x), func(j int) *big.Rat { return rat(2 * x[j]) })
	for _, t := range x {
		value = plus(value, product(rat(t), rat(t)))
	}
	for i, row := range line {
		at := row[0]
		for j, t := range x {
			at = plus(at, product(row[1+j], rat(t)))
		}
		if i < dy {
			off := plus(at, rat(-p.target[i][0]))
			value = plus(value, product(off, off))
			for j := range x {
				slope[j] = plus(slope[j], product(rat(2), off, row[1+j]))
			}
		}
		z, dz = append(z, number(at)), append(dz, each.Of(row[1:], number))
	}
	return z, number(value), each.Of(slope, number), dz
}

// TestEquationsThatNearlyDepend holds answers, multipliers, gradients and optima of followers whose equations nearly depend on each other to their values in exact arithmetic: to rounding, however near, as the
// equations are combined before anything is computed.
func TestEquationsThatNearlyDepend(t *testing.T) {
	ctx := context.Background()
	asked, apart := 0, 0
	for seed := range members.Seeds(t, 400) {
		r := rand.New(rand.NewPCG(seed, 71))
		p := randomNearly(r)
		dy := len(p.l)
		near := func(what string, have, want []float64) {
			size, off := 0.0, 0.0
			for i, v := range want {
				size, off = math.Max(size, math.Abs(v)), math.Max(off, math.Abs(have[i]-v))
			}
			if !(off <= 1e-9*size) {
				t.Fatalf("%d: %s: %v, not %v\n%s", seed, what, have, want, p.model())
			}
		}
		problem := bindText(t, p.model())
		layer, err := problem.Layer(runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		x := each.Below(len(p.a[0]), func(int) float64 { return r.NormFloat64() })
		e, err := layer.Evaluate(ctx, x)
		if err != nil {
			t.Fatalf("%d: %v\n%s", seed, err, p.model())
		}
		z, f, grad, dz := p.at(x)
		near("y", e.Y, z[:dy])
		near("F", []float64{e.F}, []float64{f})
		near("multipliers", e.Lambda, z[dy:])
		slope, _, err := e.Gradient(ctx)
		if err != nil {
			t.Fatal(err)
		}
		near("gradient", slope, grad)
		weights := each.Below(len(z), func(int) float64 { return r.NormFloat64() })
		pulled, _, err := e.VJP(ctx, weights[:dy], weights[dy:])
		if err != nil {
			t.Fatal(err)
		}
		want := make([]float64, len(x))
		for i, row := range dz {
			for j, v := range row {
				want[j] += weights[i] * v
			}
		}
		near("VJP", pulled, want)
		for j := range x {
			direction := make([]float64, len(x))
			direction[j] = 1
			tangent, err := e.JVP(ctx, direction)
			if err != nil {
				t.Fatal(err)
			}
			column := each.Of(dz, func(row []float64) float64 { return row[j] })
			near("JVP of y", tangent.Y, column[:dy])
			near("JVP of multipliers", tangent.Lambda, column[dy:])
		}

		result, err := problem.Solve(ctx, runtime.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if result.Status != runtime.Solved || !verified(problem, result) {
			t.Fatalf("%d: %s (%s)\n%s", seed, result.Status, result.Reason, p.model())
		}
		at, err := problem.Vector(result.Upper.Variables)
		if err != nil {
			t.Fatal(err)
		}
		z, f, grad, _ = p.at(at)
		near("F at the optimum", []float64{float64(result.Upper.Objective)}, []float64{f})
		multipliers, _ := result.Lower.Multipliers.Get("eq")
		near("multipliers at the optimum", multipliers.Data, z[dy:])
		for _, v := range grad {
			if math.Abs(v) > 1e-7*(1+f) {
				t.Fatalf("%d: the gradient at the optimum is %v\n%s", seed, grad, p.model())
			}
		}
		forged := *result
		forged.Lower.Multipliers = runtime.Values{{Name: "eq", Shape: multipliers.Shape, Data: each.Of(multipliers.Data, func(v float64) float64 { return 1.001 * v })}}
		if verified(problem, &forged) {
			t.Fatalf("%d: other multipliers pass\n%s", seed, p.model())
		}
		if asked++; result.Lower.Equivalent == nil { // short combinations of the others are not near enough
			apart++
			continue
		}
		forged = *result
		forged.Lower.Equivalent = nil
		if verified(problem, &forged) {
			t.Fatalf("%d: a result without those of the combined rows passes\n%s", seed, p.model())
		}
	}
	if apart > members.Misses(asked, 0.05) {
		t.Errorf("%d of %d have no rows that were combined", apart, asked)
	}
}
