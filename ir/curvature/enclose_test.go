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
			e := b.Gather(variable, []int{j}, expr.ScalarShape(), diag.Span{})
			d := dual{big1(y[j]), zero()}
			d.d[j] = big1(1)
			pool = append(pool, pair{e, d})
		}
		binary := func(op expr.Op, u, v pair) pair {
			node := b.Binary(op, u.node, v.node, diag.Span{})
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
			switch r.IntN(8) {
			case 6:
				node := b.Binary(expr.Pow, u.node, b.Number(3), diag.Span{})
				square := bigMul(u.of.v, u.of.v)
				u = pair{node, u.of.each(bigMul(square, u.of.v), func(k int) *big.Float { return bigMul(bigMul(big1(3), square), u.of.d[k]) })}
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
					node := b.Unary(expr.Exp, u.node, diag.Span{})
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
		slopes := NewSlopes(b, last.node)
		for along := range n + 2 {
			direction, truth := make([]float64, n), big1(0)
			for j := range direction {
				if along >= n {
					direction[j] = r.NormFloat64()
				} else if along == j {
					direction[j] = 1
				}
				truth = bigAdd(truth, bigMul(big1(direction[j]), last.of.d[j]))
			}
			e := slopes.Along(direction, nil, y)
			if !encloses(e, truth) {
				t.Fatalf("trial %d, along %v: %v is outside of [%v, %v]\n%s", trial, direction, truth, e.Lo, e.Hi, fmt.Sprint(last.node))
			}
			v, _ := truth.Float64()
			off := math.Max(e.Hi-v, v-e.Lo)
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

// TestSlopesOfAllOperations: of random expressions over all operations, vectors and matrices, the
// slope along a direction is within the enclosures of the gradient, which go backward: at one point
// after the other, more than are kept, and back, along one direction and then another.
func TestSlopesOfAllOperations(t *testing.T) {
	r := rand.New(rand.NewPCG(78, *seed))
	asked, finite := 0, 0
	for trial := range 400 {
		m := randomModel(r)
		root := m.p.Lower.Objective
		slopes := NewSlopes(m.b, root)
		var xs, ys [keptPoints + 2][]float64
		for k := range xs {
			xs[k], ys[k] = m.sample(r, withinBounds)
		}
		for range 2 {
			direction := make([]float64, len(ys[0]))
			for j := range direction {
				direction[j] = r.NormFloat64()
			}
			for _, k := range r.Perm(len(xs)) {
				slope := slopes.Along(direction, xs[k], ys[k])
				s := newStudy(m.b, root, expr.DependsY, at(xs[k], ys[k]), &budget{left: math.Inf(1)})
				var sum Interval
				for j, e := range s.differentiate(true).gradient {
					sum = sum.add(e.mul(point(direction[j])))
				}
				if slope.Lo > sum.Hi || slope.Hi < sum.Lo {
					t.Fatalf("trial %d: %v forward, %v backward, at %v, %v", trial, slope, sum, xs[k], ys[k])
				}
				asked++
				if sum.finite() && slope.finite() && slope.Hi-slope.Lo < 1e-6*(1+slope.mag()) {
					finite++
				}
			}
		}
	}
	if finite < asked*3/4 {
		t.Errorf("%d of %d slopes are known", finite, asked)
	}
}

// TestSlopesSeeWhatCancels: of a steep square of a sum along a direction that leaves the sum as it
// is the slope has the rounding of the flat term alone.
func TestSlopesSeeWhatCancels(t *testing.T) {
	b := expr.NewBuilder()
	y := b.Var("y", true, 0, expr.VectorShape(2), diag.Span{})
	of := func(op expr.Op, u, v *expr.Node) *expr.Node {
		n := b.Binary(op, u, v, diag.Span{})
		return n
	}
	entry := func(j int) *expr.Node {
		n := b.Gather(y, []int{j}, expr.ScalarShape(), diag.Span{})
		return n
	}
	sum := of(expr.Sub, of(expr.Add, entry(0), entry(1)), b.Number(0.1))
	root := of(expr.Add, of(expr.Mul, b.Number(1e12), of(expr.Mul, sum, sum)), of(expr.Mul, b.Number(0.5), of(expr.Mul, entry(0), entry(0))))
	e := NewSlopes(b, root).Along([]float64{1, -1}, nil, []float64{0.3, -0.2 + 1e-13})
	if !e.contains(0.3) || e.Hi-e.Lo > 1e-15 {
		t.Errorf("the slope is in [%v, %v], not 0.3 to a few roundings", e.Lo, e.Hi)
	}
}
