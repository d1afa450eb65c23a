package linalg

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// network is the KKT matrix of commodities on a random network: a full block for each link,
// D + aa' + what is off of that, and balances of the commodities at nodes. Entries that are held
// take no part, as on a face.
type network struct {
	n, links, commodities int
	row, col              []int32
	values                []float64
	dense                 *mat.SymDense
}

func (k *network) add(i, j int, v float64) {
	k.row, k.col, k.values = append(k.row, int32(i)), append(k.col, int32(j)), append(k.values, v)
	k.dense.SetSym(i, j, k.dense.At(i, j)+v)
}

func newNetwork(r *rand.Rand, nodes, links, commodities int, off float64, held func() bool) *network {
	k := &network{n: links*commodities + (nodes-1)*commodities, links: links, commodities: commodities}
	k.dense = mat.NewSymDense(k.n, nil)
	out := make([]bool, links*commodities)
	for i := range out {
		out[i] = held()
	}
	for l := range links {
		a := make([]float64, commodities)
		for o := range a {
			a[o] = math.Exp(r.NormFloat64())
		}
		// With what is off the block is a'(1 1' + off U)a, U between -1 and 1.
		sum := float64(commodities)
		for o := range a {
			for p := range o {
				i, j, v := l*commodities+o, l*commodities+p, a[o]*a[p]*(1+off*(2*r.Float64()-1))
				if out[i] || out[j] {
					v = 0
				}
				k.add(i, j, v)
			}
			i, v := l*commodities+o, (1+off*sum)*a[o]*a[o]+1e-2*(1+r.Float64())
			if out[i] {
				v = 1
			}
			k.add(i, i, v)
		}
	}
	for l := range links {
		from, to := l%nodes, r.IntN(nodes)
		for o := range commodities {
			for at, v := range []float64{1, -1} {
				if end := []int{from, to}[at]; end < nodes-1 && from != to {
					i := l*commodities + o
					if out[i] {
						v = 0
					}
					k.add(links*commodities+end*commodities+o, i, v)
				}
			}
		}
	}
	for i := links * commodities; i < k.n; i++ {
		k.add(i, i, -1e-6)
	}
	return k
}

// Blocks that are a diagonal matrix and one of rank one are taken apart, others are not;
// solutions are those of dense elimination all the same, with rows taken out or in from one
// factorization to the next.
func TestFullBlocks(t *testing.T) {
	for seed := range uint64(24) {
		r := rand.New(rand.NewPCG(seed, 7))
		nodes, commodities := 5+r.IntN(4), 8+r.IntN(6)
		links := 3 * nodes
		off := []float64{0, 1e-9, 1}[seed%3]
		draw := func(held func() bool) *network {
			return newNetwork(rand.New(rand.NewPCG(seed, 8)), nodes, links, commodities, off, held)
		}
		k := draw(func() bool { return false })
		f := NewLDL(analyze(k.n, k.row, k.col), func(i int) bool { return i >= links*commodities })
		for round := range 3 {
			if round > 0 {
				k = draw(func() bool { return r.IntN(3) == 0 })
			}
			if !f.Factor(k.values, 1e-14) {
				t.Fatalf("seed %d: not finite", seed)
			}
			if taken := f.blocks != nil; taken != (off < 1) {
				t.Fatalf("seed %d: blocks off by %g, taken apart: %v", seed, off, taken)
			}
			k.solved(t, f, r, fmt.Sprintf("seed %d, round %d, off %g", seed, round, off))
		}
	}
}

// The factors of a semidefinite matrix are those of it as it stands, whose full blocks are not taken apart: solutions with them are those of dense elimination.
func TestFullBlocksOfSemidefinite(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 9))
		k := newNetwork(r, 5+r.IntN(4), 20, 8+r.IntN(6), 0, func() bool { return false })
		for i := 20 * k.commodities; i < k.n; i++ {
			k.add(i, i, 1e4)
		}
		f := NewLDL(analyze(k.n, k.row, k.col), nil)
		if f.blocks == nil {
			t.Fatalf("seed %d: nothing to take apart", seed)
		}
		f.factorSemidefinite(k.values, 1e-12, func(i int) { t.Errorf("seed %d: row %d depends on others", seed, i) })
		k.solved(t, f, r, fmt.Sprintf("seed %d", seed))
	}
}

// solved checks a solution with the factors of k by what it leaves of a right-hand side. The entries are of size 1 to 10, and solutions up to 1e6 from the regularization.
func (k *network) solved(t *testing.T, f *LDL, r *rand.Rand, of string) {
	t.Helper()
	b, x := make([]float64, k.n), make([]float64, k.n)
	for i := range b {
		b[i] = r.NormFloat64()
	}
	f.Solve(x, b)
	var left mat.VecDense
	left.MulVec(k.dense, mat.NewVecDense(k.n, x))
	left.SubVec(mat.NewVecDense(k.n, b), &left)
	if rest := mat.Norm(&left, math.Inf(1)); rest > 1e-9*(1+NormInf(x)) {
		t.Errorf("%s: the solution leaves %.2g, size %.2g", of, rest, NormInf(x))
	}
}
