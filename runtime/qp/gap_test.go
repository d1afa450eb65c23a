package qp

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"

	"bilevelc/runtime/linalg"
	"gonum.org/v1/gonum/mat"
)

// lowRank is a random positive definite diag(d) + W M W' of eigenvalues below and above
// those of d, with the same matrix in full.
func lowRank(rng *rand.Rand, n, r int) (*Hessian, *mat.SymDense) {
	d := make([]float64, n)
	even := rng.IntN(2) == 0
	for j := range d {
		d[j] = 3
		if !even {
			d[j] = math.Pow(10, 2*rng.Float64())
		}
	}
	var f linalg.QR
	f.Reset(n)
	coef, rest := make([]float64, n), make([]float64, n)
	for range min(r, n) {
		f.Push(coef, rest, f.Split(normals(rng, n), coef, rest))
	}
	w := make([][]float64, f.Size())
	for a := range w {
		w[a] = f.Column(a)
	}
	least := math.Inf(1)
	for _, v := range d {
		least = math.Min(least, v)
	}
	m := mat.NewSymDense(len(w), nil)
	for a := range w {
		m.SetSym(a, a, least*(math.Pow(10, 6*rng.Float64()-3)-0.999))
	}
	if len(w) > 1 { // not diagonal
		v := m.At(1, 1) + 1
		m.SetSym(1, 1, v)
		m.SetSym(0, 1, 1e-3*math.Min(v, m.At(0, 0)+least))
	}
	full := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			v := 0.0
			if i == j {
				v = d[i]
			}
			for a := range w {
				for b := range w {
					v += w[a][i] * m.At(a, b) * w[b][j]
				}
			}
			full.SetSym(i, j, v)
		}
	}
	return LowRank(d, w, m), full
}

// factored is the Hessian h.
func factored(h *mat.SymDense) *Hessian {
	n := h.SymmetricDim()
	c, ok := linalg.NewCholesky(n, slices.Clone(h.RawSymmetric().Data))
	if !ok {
		panic("not positive definite")
	}
	return Factored(c)
}

// gap is the duality gap of a step, which bounds how far it is from the minimum,
// relative to the terms of its value: what is below it is proved by the weights
// and a Normal whose largest value over the set support knows.
func gap(m *Model, h *mat.SymDense, scale float64, s *Step, support func(normal []float64) float64) float64 {
	n := len(s.D)
	g, constant, size := append([]float64(nil), s.Normal...), 0.0, linalg.Norm(s.Normal)*(scale+linalg.Norm(s.D))
	for i, a := range m.Pieces {
		linalg.Axpy(g, s.Weights[i], a.Gradient)
		constant += s.Weights[i] * a.Offset
		size += s.Weights[i] * (math.Abs(a.Offset) + linalg.Norm(a.Gradient)*linalg.Norm(s.D))
	}
	// min_d g'd + 1/2 d'Hd = -1/2 g'H^-1 g
	var chol mat.Cholesky
	if !chol.Factorize(h) {
		return math.Inf(1)
	}
	var hg, hd mat.VecDense
	if err := chol.SolveVecTo(&hg, mat.NewVecDense(n, g)); err != nil {
		return math.Inf(1)
	}
	hd.MulVec(h, mat.NewVecDense(n, s.D))
	curvature := mat.Dot(&hd, mat.NewVecDense(n, s.D)) / 2
	lower := constant - mat.Dot(&hg, mat.NewVecDense(n, g))/2 - support(s.Normal)
	return math.Abs(m.value(s.D)+curvature-lower) / (size + curvature)
}

// Steps over free space, boxes and simplices, with curvatures of every form, pieces
// that repeat others and more of them than entries: the duality gap is rounding.
func TestStepHasNoDualityGap(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for trial := range 400 {
		n := 2 + rng.IntN(40)
		if trial%20 == 0 {
			n = 200
		}
		h, full := lowRank(rng, n, 1+rng.IntN(12))
		switch trial % 4 {
		case 0:
			h = factored(full)
		case 1:
			h, full = Identity(n), mat.NewSymDense(n, nil)
			for j := range n {
				full.SetSym(j, j, 1)
			}
		}
		m := &Model{H: h, Pieces: make([]Affine, 1+rng.IntN([]int{8, 2 * n}[trial%2]))}
		for i := range m.Pieces {
			m.Pieces[i] = Affine{Offset: -float64(min(i, 1)) * rng.Float64() * math.Pow(10, -6*rng.Float64()), Gradient: normals(rng, n)}
			if i > 0 && rng.IntN(3) == 0 {
				// The same piece again, or nearly.
				m.Pieces[i].Gradient = append([]float64(nil), m.Pieces[0].Gradient...)
				linalg.Axpy(m.Pieces[i].Gradient, math.Pow(10, -16*rng.Float64()), normals(rng, n))
			}
		}
		// Gradients that are long or short beside the curvature.
		length := []float64{1, 1e-6, 1e6}[trial/12%3]
		for i := range m.Pieces {
			m.Pieces[i].Offset *= length
			for j := range m.Pieces[i].Gradient {
				m.Pieces[i].Gradient[j] *= length
			}
		}
		set := freeSet(n)
		x := make([]float64, n)
		var support func(normal []float64) float64
		switch trial % 3 {
		case 0:
			support = func(v []float64) float64 { return 0 }
		case 1:
			for j := range x {
				set.Lo[j], set.Hi[j] = -rng.Float64(), rng.Float64()*float64(rng.IntN(2))
			}
			support = func(v []float64) float64 {
				s := 0.0
				for j, w := range v {
					s += math.Max(w*set.Lo[j], w*set.Hi[j])
				}
				return s
			}
		default:
			ones := make([]float64, n)
			for j := range x {
				set.Lo[j], ones[j] = 0, 1
				x[j] = math.Max(rng.NormFloat64(), 0)
			}
			x[rng.IntN(n)] = 1
			total := 0.0
			for _, v := range x {
				total += v
			}
			kind := problem.Equal
			if rng.IntN(2) == 0 {
				kind = problem.AtMost
			}
			set.E, set.Rhs, set.Kind = sparse.FromDense(1, n, ones), []float64{total}, []problem.Kind{kind}
			support = func(v []float64) float64 {
				best := math.Inf(-1)
				if kind != problem.Equal {
					best = 0
				}
				for _, w := range v {
					best = math.Max(best, w)
				}
				return best*total - linalg.Dot(v, x)
			}
		}
		scale := linalg.Norm(x) // of x, and of X
		for j, lo := range set.Lo {
			if w := set.Hi[j] - lo; w < math.Inf(1) {
				scale = math.Hypot(scale, w)
			}
		}
		p := NewProjector(set, rowsOf(n, 1, nil, nil, nil), n, 1)
		s, err := p.Step(x, m)
		if err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		for j, d := range s.D {
			if x[j]+d < set.Lo[j]-1e-14*math.Abs(x[j]) || x[j]+d > set.Hi[j]+1e-14*math.Abs(x[j]) {
				t.Fatalf("trial %d: x[%d] = %g leaves [%g, %g]", trial, j, x[j]+d, set.Lo[j], set.Hi[j])
			}
		}
		if g := gap(m, full, scale, s, support); !(g <= 1e-12) {
			t.Errorf("trial %d: n %d, %d pieces: duality gap %.2e", trial, n, len(m.Pieces), g)
		}
	}
}

// Steps within X and D, where D follows from rows y >= a'x and y <= b - c'x of the lower level, are those within X with the row (a + c)'x <= b, for
// curvatures of every form.
func TestStepWithinTheLowerLevelsRows(t *testing.T) {
	held := 0
	for seed := range members.Seeds(t, 200) {
		rng := rand.New(rand.NewPCG(seed, 33))
		n := 2 + rng.IntN(8)
		h, full := lowRank(rng, n, 1+rng.IntN(4))
		switch rng.IntN(3) {
		case 0:
			h = factored(full)
		case 1:
			h = Identity(n)
		}
		a, c, x := normals(rng, n), normals(rng, n), normals(rng, n)
		b, sum := 0.01*rng.Float64(), linalg.Plus(a, 1, c)
		b += linalg.Dot(sum, x)
		rows := rowsOf(n, 1, append(slices.Clone(a), c...), []float64{1, -1}, []float64{0, b})
		set := freeSet(n)
		set.E, set.Rhs, set.Kind = sparse.FromDense(1, n, sum), []float64{b}, []problem.Kind{problem.AtMost}
		m := &Model{H: h, Pieces: make([]Affine, 1+rng.IntN(4))}
		for i := range m.Pieces {
			m.Pieces[i] = Affine{Offset: -rng.Float64() * float64(i), Gradient: normals(rng, n)}
		}
		want, err := NewProjector(set, rowsOf(n, 1, nil, nil, nil), n, 1).Step(x, m)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got, err := NewProjector(freeSet(n), rows, n, 1).Step(x, m)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if linalg.Norm(want.Normal) > 0 {
			held++
		}
		if d := linalg.Distance(got.D, want.D); d > 1e-8*linalg.Norm(want.D) {
			t.Errorf("seed %d: %v, not %v", seed, got.D, want.D)
		}
		if d := linalg.Distance(got.Normal, want.Normal); d > 1e-7*(linalg.Norm(want.Normal)+linalg.Norm(m.Pieces[0].Gradient)) {
			t.Errorf("seed %d: normal %v, not %v", seed, got.Normal, want.Normal)
		}
	}
	if held == 0 {
		t.Error("the row never held a step")
	}
}
