package curvature

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
)

// dual is a value and its derivatives in all variables, in many digits.
type dual struct {
	v *big.Float
	d []*big.Float
}

func (a dual) each(v *big.Float, of func(k int) *big.Float) dual {
	out := dual{v, make([]*big.Float, len(a.d))}
	for k := range out.d {
		out.d[k] = of(k)
	}
	return out
}

// TestGradientsAreEnclosed: random expressions of two to five variables with sizes of 1e-6 to
// 1e6, and differences that cancel; the truth is their derivative in arithmetic of many
// digits, forward, where the enclosure goes backward. Every enclosure holds it, and the median
// of their widths is within a factor of a hundred of what the gradient of one rounding for
// each operation, of its result, would be.
func TestGradientsAreEnclosed(t *testing.T) {
	r := rand.New(rand.NewPCG(77, *seed))
	var ratios []float64
	exact := 0
	for trial := range 400 {
		b := expr.NewBuilder()
		n := 2 + r.IntN(4)
		y := make([]float64, n)
		variable := b.Var("y", true, 0, expr.VectorShape(n), diag.Span{})
		type pair struct {
			node *expr.Node
			of   dual
		}
		zero := func() []*big.Float {
			d := make([]*big.Float, n)
			for k := range d {
				d[k] = big1(0)
			}
			return d
		}
		var pool []pair
		for j := range y {
			if y[j] = r.NormFloat64() * math.Pow(10, float64(r.IntN(13)-6)); j > 0 && r.IntN(2) == 0 {
				y[j] = y[j-1] * (1 + 1e-12*float64(r.IntN(2))*r.NormFloat64()) // cancels
			}
			e, err := b.Gather(variable, []int{j}, expr.ScalarShape(), diag.Span{})
			if err != nil {
				t.Fatal(err)
			}
			d := dual{big1(y[j]), zero()}
			d.d[j] = big1(1)
			pool = append(pool, pair{e, d})
		}
		binary := func(op expr.Op, u, v pair) pair {
			node, err := b.Binary(op, u.node, v.node, diag.Span{})
			if err != nil {
				t.Fatal(err)
			}
			a, c := u.of, v.of
			switch op {
			case expr.Add:
				return pair{node, a.each(bigAdd(a.v, c.v), func(k int) *big.Float { return bigAdd(a.d[k], c.d[k]) })}
			case expr.Sub:
				return pair{node, a.each(bigSub(a.v, c.v), func(k int) *big.Float { return bigSub(a.d[k], c.d[k]) })}
			case expr.Div:
				q := bigDiv(a.v, c.v)
				return pair{node, a.each(q, func(k int) *big.Float { return bigDiv(bigSub(a.d[k], bigMul(q, c.d[k])), c.v) })}
			}
			return pair{node, a.each(bigMul(a.v, c.v), func(k int) *big.Float {
				return bigAdd(bigMul(a.d[k], c.v), bigMul(a.v, c.d[k]))
			})}
		}
		number := func(v float64) pair { return pair{b.Number(v), dual{big1(v), zero()}} }
		operations := 3 + r.IntN(8)
		for range operations {
			u, v := pool[len(pool)-1-r.IntN(min(3, len(pool)))], pool[r.IntN(len(pool))]
			size, _ := new(big.Float).Abs(u.of.v).Float64()
			switch r.IntN(7) {
			case 0:
				u = binary(expr.Add, u, v)
			case 1:
				u = binary(expr.Sub, u, v)
			case 2:
				u = binary(expr.Mul, u, u)
			case 3:
				u = binary(expr.Mul, number(r.NormFloat64()*math.Pow(10, float64(r.IntN(13)-6))), u)
			case 4:
				if size > 1e-3 {
					u = binary(expr.Div, v, u)
				}
			case 5:
				if size < 30 {
					node, err := b.Unary(expr.Exp, u.node, diag.Span{})
					if err != nil {
						t.Fatal(err)
					}
					e := bigExp(u.of.v)
					u = pair{node, u.of.each(e, func(k int) *big.Float { return bigMul(e, u.of.d[k]) })}
				}
			default:
				u = binary(expr.Mul, u, v)
			}
			if size, _ := u.of.v.Float64(); math.Abs(size) < 1e150 && math.Abs(size) > 1e-150 {
				pool = append(pool, u)
			}
		}
		last := pool[len(pool)-1]
		found := Gradient(b, last.node, nil, y)
		for j, e := range found {
			truth := last.of.d[j]
			if !encloses(e, truth) {
				t.Fatalf("trial %d, entry %d: %v is outside of [%v, %v]\n%s", trial, j, truth, e.Lo, e.Hi, fmt.Sprint(last.node))
			}
			v, _ := truth.Float64()
			off := e.Apart(v)
			if size := math.Abs(v); size > 0 && off > 0 {
				ratios = append(ratios, off/(size*float64(operations)*0x1p-53))
			} else if off == 0 {
				exact++
			}
		}
	}
	slices.Sort(ratios)
	if median := ratios[len(ratios)/2]; !(median <= 100) {
		t.Errorf("the median of the widths is %.3g roundings of each operation", median)
	}
	if exact == 0 {
		t.Error("no entry is known exactly: differences of numbers next to each other have no rounding")
	}
	t.Logf("%d entries, %d exact, widths over roundings: median %.2g, nine tenths %.2g", len(ratios)+exact, exact,
		ratios[len(ratios)/2], ratios[len(ratios)*9/10])
}

// TestApart: of a number from a range, and of what is none.
func TestApart(t *testing.T) {
	for _, c := range []struct {
		a    Interval
		v, d float64
	}{{Interval{1, 2}, 1.5, 0.5}, {Interval{1, 2}, 4, 3}, {Interval{1, 2}, 0, 2}, {Interval{1, 1}, 1, 0},
		{Interval{1, 2}, math.NaN(), math.Inf(1)}, {wholeLine(), 0, math.Inf(1)}} {
		if d := c.a.Apart(c.v); d != c.d {
			t.Errorf("%v is %v from %v, not %v", c.v, d, c.a, c.d)
		}
	}
}
