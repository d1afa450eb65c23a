package curvature

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/directed"
	"bilevelc/internal/each"
	"bilevelc/ir/data"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
)

// rational is a symmetric matrix of exact numbers.
type rational [][]*big.Rat

func newRational(n int) rational {
	return each.Below(n, func(int) []*big.Rat { return each.Below(n, func(int) *big.Rat { return new(big.Rat) }) })
}

func exact(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) }

// add adds w (a b' + b a') / 2.
func (m rational) add(w *big.Rat, a, b []*big.Rat) {
	half := new(big.Rat).Mul(w, big.NewRat(1, 2))
	for i := range m {
		for j := range m {
			e := new(big.Rat).Mul(a[i], b[j])
			e.Add(e, new(big.Rat).Mul(b[i], a[j]))
			m[i][j].Add(m[i][j], e.Mul(e, half))
		}
	}
}

// semidefinite eliminates one variable after the other; it ruins m.
func (m rational) semidefinite() bool {
	for k := range m {
		if m[k][k].Sign() < 0 {
			return false
		}
		for i := k + 1; i < len(m); i++ {
			if m[k][k].Sign() == 0 {
				if m[i][k].Sign() != 0 {
					return false
				}
				continue
			}
			factor := new(big.Rat).Quo(m[i][k], m[k][k])
			for j := k + 1; j < len(m); j++ {
				m[i][j].Sub(m[i][j], new(big.Rat).Mul(factor, m[k][j]))
			}
		}
	}
	return true
}

// TestFormsLieBelow: whatever the rows, the weights and the scales are within
// what is known of them, the matrix assembled from parts lies below the sum of
// the parts, in exact arithmetic. Where everything is known to the last digit
// nothing but the roundings of the assembly makes the difference.
func TestFormsLieBelow(t *testing.T) {
	r := rand.New(rand.NewPCG(38, *seed))
	within := func(mid, rad float64) *big.Rat { // somewhere in it, often at an end
		at := exact(rad)
		at.Mul(at, exact([]float64{-1, 1, 2*r.Float64() - 1}[r.IntN(3)]))
		return at.Add(at, exact(mid))
	}
	between := func(a Interval) *big.Rat {
		lo, hi := exact(a.Lo), exact(a.Hi)
		hi.Sub(hi, lo)
		hi.Mul(hi, exact([]float64{0, 1, r.Float64()}[r.IntN(3)]))
		return lo.Add(lo, hi)
	}
	interval := func(certain bool) Interval {
		lo := r.NormFloat64()
		if certain {
			return point(lo)
		}
		return Interval{lo, lo + r.ExpFloat64()}
	}
	tight := 0
	for range 500 {
		n := 1 + r.IntN(5)
		certain := r.IntN(2) == 0 // nothing is open but the rounding
		// rows of a Jacobian, and one that it encloses
		jac := func(rows int) (*jacobian, [][]*big.Rat) {
			j := &jacobian{rows: rows, cols: n, ptr: []int{0}}
			sparse := r.IntN(2) == 0
			if !certain && r.IntN(2) == 0 {
				j.rad = []float64{}
			}
			if !certain && r.IntN(3) == 0 {
				j.scale = make([]Interval, rows)
			}
			truth := make([][]*big.Rat, rows)
			for k := range rows {
				scale := exact(1)
				if j.scale != nil {
					j.scale[k] = interval(false)
					scale = between(j.scale[k])
				}
				for c := range n {
					mid, rad := r.NormFloat64(), 0.0
					if r.IntN(4) == 0 {
						mid = 0
					}
					if j.rad != nil && r.IntN(2) == 0 {
						rad = []float64{1e-9, 0.1}[r.IntN(2)] * r.Float64()
					}
					v := new(big.Rat)
					if !sparse || mid != 0 || rad != 0 {
						j.mid = append(j.mid, mid)
						if j.rad != nil {
							j.rad = append(j.rad, rad)
						}
						j.col = append(j.col, c)
						v.Mul(within(mid, rad), scale)
					}
					truth[k] = append(truth[k], v)
				}
				j.ptr = append(j.ptr, len(j.col))
			}
			return j, truth
		}
		sum := newRational(n)
		var parts []signedTerm
		for range 1 + r.IntN(3) {
			rows := 2 + r.IntN(4)
			p := signedTerm{term: &term{}, sign: 1}
			if r.IntN(2) == 0 {
				p.sign = -1
			}
			for range rows {
				p.w = append(p.w, interval(certain || r.IntN(2) == 0))
			}
			var a, b [][]*big.Rat
			p.a, a = jac(rows)
			b = a
			factor := p.sign
			if r.IntN(2) == 0 {
				p.b, b = jac(rows)
				factor *= 2
				p.term.other = &expr.Node{} // of which nothing but the presence is asked
				p.pairs = func(visit func(i, j, k int)) {
					for k := range rows {
						visit(k, k, k)
					}
				}
			}
			for k := range rows {
				w := between(p.w[k])
				sum.add(w.Mul(w, exact(factor)), a[k], b[k])
			}
			parts = append(parts, p)
		}
		s := newStudy(nil, nil, 0, domain{y: make([]Interval, n)}, &budget{left: 1e9})
		f := s.below(nil, false, parts...)
		if f.failed != nil {
			t.Fatal("no bound of finite parts")
		}
		rounding := true
		for _, upper := range []bool{true, false} { // either triangle is the matrix
			rest := newRational(n)
			for i := range n {
				for j := range n {
					rest[i][j].Set(sum[i][j])
				}
			}
			for b, cols := range f.cols {
				var a []float64
				if f.dense[b] != nil {
					a = f.matrix(b)
				} else {
					a = []float64{directed.AddDown(f.diag[cols[0]], -f.slack[cols[0]])}
				}
				for i, ci := range cols {
					for j, cj := range cols {
						e := a[max(i, j)*len(cols)+min(i, j)]
						if upper {
							e = a[min(i, j)*len(cols)+max(i, j)]
						}
						rest[ci][cj].Sub(rest[ci][cj], exact(e))
					}
				}
			}
			for i := range n {
				gap, _ := rest[i][i].Float64()
				size, _ := sum[i][i].Float64()
				rounding = rounding && gap < 1e-13*(1+max(size, -size))
			}
			if !rest.semidefinite() {
				t.Fatalf("n = %d, %d parts, certain %v: the form does not lie below", n, len(parts), certain)
			}
		}
		if certain && rounding {
			tight++
		}
	}
	if tight < 100 {
		t.Errorf("only %d forms are tight but for rounding: this test sees nothing", tight)
	}
}

// full is a Jacobian of which every entry is stored.
func full(rows, cols int, mid []float64) *jacobian {
	j := &jacobian{rows: rows, cols: cols, ptr: []int{0}, mid: mid}
	for range rows {
		j.col = append(j.col, expr.Sequence(0, cols)...)
		j.ptr = append(j.ptr, len(j.col))
	}
	return j
}

// TestDenseProducts: a product of a data matrix and a full Jacobian, whose entries are
// known or lie within radii, encloses every product of what they may be.
func TestDenseProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(34, *seed))
	rounded := 0
	for trial := range 300 {
		rows, inner, cols := 1+r.IntN(4), 1+r.IntN(5), 1+r.IntN(4)
		m := each.Below(rows*inner, func(int) float64 { return gauss(r, 1)[0] * math.Pow(10, 6*r.Float64()-3) })
		j := full(inner, cols, gauss(r, inner*cols))
		actual := slices.Clone(j.mid) // one of those the Jacobian stands for
		if trial%2 == 0 {
			j.rad = make([]float64, len(j.mid))
			for k := range j.rad {
				j.rad[k] = math.Pow(10, -16*r.Float64())
				actual[k] = within(r, Interval{directed.AddDown(j.mid[k], -j.rad[k]), directed.AddUp(j.mid[k], j.rad[k])})
			}
		}
		trans := trial%3 == 0
		shape := data.Matrix(rows, inner, m)
		if trans {
			shape = data.Matrix(inner, rows, m)
		}
		g := expr.NewBuilder()
		v := g.Var("y", true, 0, expr.VectorShape(inner), diag.Span{})
		product := g.MatVec(g.Const("", shape, diag.Span{}), trans, v, diag.Span{})
		s := newStudy(g, product, expr.DependsY, domain{y: make([]Interval, cols)}, &budget{left: 1e9})
		s.values[v], s.jacs[v] = make([]Interval, inner), j
		out := s.jacobianOf(product)
		for i := range rows {
			for c := range cols {
				sum := new(big.Rat)
				for k := range inner {
					at := i*inner + k
					if trans {
						at = k*rows + i
					}
					sum.Add(sum, new(big.Rat).Mul(exact(m[at]), exact(actual[k*cols+c])))
				}
				var found Interval
				out.visit(i, func(col int, v Interval) {
					if col == c {
						found = v
					}
				})
				if exact(found.Lo).Cmp(sum) > 0 || exact(found.Hi).Cmp(sum) < 0 {
					v, _ := sum.Float64()
					t.Fatalf("trial %d: entry (%d, %d) is %v, said to be in %v", trial, i, c, v, found)
				}
				if !found.isPoint() || exact(found.Lo).Cmp(sum) != 0 {
					rounded++
				}
			}
		}
	}
	if rounded == 0 {
		t.Error("no product was rounded")
	}
}
