package sequential

import (
	"math"
	"slices"
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// tilted is cost'y.
type tilted struct{ cost []float64 }

func (f tilted) Value(_, y []float64) (v float64) {
	for j, c := range f.cost {
		v += c * y[j]
	}
	return v
}
func (f tilted) GradY(dst, _, _ []float64) { copy(dst, f.cost) }
func (f tilted) GradX(dst, _, _ []float64) { clear(dst) }
func (f tilted) ValueGrad(dx, dy, x, y []float64) float64 {
	clear(dx)
	return f.ValueGradY(dy, x, y)
}
func (f tilted) ValueGradY(dst, x, y []float64) float64 { f.GradY(dst, x, y); return f.Value(x, y) }
func (f tilted) Clone() problem.Function                { return f }

// Flows on a random network: potentials of its nodes, chosen first, and the multipliers of the empty arcs make up all costs, those of some arcs 1e10 times others'. Multipliers that are off by rounding of the
// largest come back to where each entry of y has the balance of its own forces, and none turns a sign; ones that balance already stay.
func TestBalanced(t *testing.T) {
	rng := members.Rand(t, 33)
	for k := range members.Of(30, 500) {
		nodes, arcs := 3+rng.IntN(8), 10+rng.IntN(30)
		potential := make([]float64, nodes)
		for i := range potential {
			potential[i] = float64(max(0, rng.IntN(40)-10)) / 8 // several 0, so that on arcs between these no force acts
		}
		p := &problem.Problem{Dy: arcs, Rows: &problem.Rows{}}
		var entries []sparse.Entry
		cost, truth, heavy := make([]float64, arcs), []float64{}, 0.0
		for j := range arcs {
			from, to := rng.IntN(nodes), rng.IntN(nodes)
			if from == to {
				to = (to + 1) % nodes
			}
			entries = append(entries, sparse.Entry{Row: arcs + from, Col: j, Val: 1}, sparse.Entry{Row: arcs + to, Col: j, Val: -1}, sparse.Entry{Row: j, Col: j, Val: 1})
			reduced := 0.0 // of an arc that may have flow
			switch rng.IntN(4) {
			case 0, 1:
				reduced = 0.125 + rng.Float64()
			case 2:
				reduced = 1e10 * rng.Float64()
			}
			cost[j] = potential[from] - potential[to] + reduced
			truth, heavy = append(truth, reduced), max(heavy, reduced)
		}
		for range arcs {
			p.Rows.Kind = append(p.Rows.Kind, problem.AtMost)
		}
		for range nodes {
			p.Rows.Kind = append(p.Rows.Kind, problem.Equal)
		}
		truth = append(truth, potential...)
		p.Rows.B = sparse.FromEntries(arcs+nodes, arcs, entries)
		p.Rows.A = sparse.FromEntries(arcs+nodes, 0, nil)
		p.Rows.Rhs, p.G = make([]float64, arcs+nodes), tilted{cost}
		off := slices.Clone(truth)
		for i := range off {
			if off[i] > 0 {
				off[i] = max(off[i]/2, off[i]+1e-17*heavy*rng.NormFloat64())
			}
		}
		a := &answers{v: &Solver{p: p}, qp: &kkt.Follower{}, h: sparse.FromEntries(arcs, arcs, nil)}
		a.v.divide()
		y := make([]float64, arcs)
		found := a.balanced(nil, y, slices.Clone(off))
		for j := range arcs {
			rest, terms := cost[j], math.Abs(cost[j])
			for i, l := range found {
				c := p.Rows.B.At(i, j)
				rest -= c * l
				terms = max(terms, math.Abs(c*l))
			}
			if math.Abs(rest) > tolerance.Sign*terms || found[j] < 0 {
				t.Errorf("member %d: the forces on arc %d leave %g of %g, its multiplier is %g", k, j, rest, terms, found[j])
			}
		}
		if again := a.balanced(nil, y, slices.Clone(found)); !slices.Equal(again, found) {
			t.Errorf("member %d: balanced multipliers move", k)
		}
	}
}

// Where the gradient of g is what is left of terms that cancel its rounding is theirs, and no force that multipliers could balance: right ones stay, however small the force that a row has on some entries.
func TestBalancedWhereGradientsCancel(t *testing.T) {
	rng := members.Rand(t, 34)
	for k := range members.Of(200, 2000) {
		n := 2 + rng.IntN(4)
		h, row, y := make([]float64, n*n), make([]float64, n), make([]float64, n)
		g := &kkttest.Quadratic{Nx: 1, Ny: n, M: make([]float64, (n+1)*(n+1)), C: make([]float64, n+1)}
		for i := range n {
			y[i], row[i] = rng.NormFloat64(), rng.NormFloat64()
			for j := range i + 1 {
				h[i*n+j] = rng.NormFloat64()
				h[j*n+i] = h[i*n+j]
			}
		}
		row[0] *= math.Pow(10, -4-6*rng.Float64())
		lambda := math.Pow(10, -4*rng.Float64())
		for i := range n {
			copy(g.M[(1+i)*(1+n)+1:], h[i*n:(i+1)*n])
			g.C[1+i] = lambda*row[i] - linalg.Dot(h[i*n:(i+1)*n], y)
		}
		p := &problem.Problem{Dx: 1, Dy: n, G: g, Rows: &problem.Rows{Kind: make([]problem.Kind, 1), A: sparse.FromEntries(1, 1, nil), B: sparse.FromDense(1, n, row), Rhs: []float64{-linalg.Dot(row, y)}}}
		a := &answers{v: &Solver{p: p}, qp: &kkt.Follower{}, h: sparse.FromDense(n, n, h)}
		a.v.divide()
		if found := a.balanced([]float64{0}, y, []float64{lambda}); math.Abs(found[0]-lambda) > 1e-13*lambda {
			t.Errorf("member %d: a multiplier of %g moves by %g, beside a row with %g", k, lambda, found[0]-lambda, row)
		}
	}
}
