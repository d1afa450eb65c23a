package qp

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/sparse"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
	"gonum.org/v1/gonum/mat"
)

// instance is a random quadratic program with H kept for the checks.
type instance struct {
	h    *mat.SymDense
	p    *Problem
	n, m int
}

// random draws a program of n variables, with the condition number of H about
// cond, m rows of which the first equal are equalities, and bounds where asked.
// It is feasible by construction: rows are satisfied at a point drawn first.
func random(rng *rand.Rand, n, m, equal int, cond float64, bounds bool) *instance {
	q := mat.NewDense(n, n, nil)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			q.Set(i, j, rng.NormFloat64())
		}
	}
	var qr mat.QR
	qr.Factorize(q)
	qr.QTo(q)
	d := mat.NewDiagDense(n, nil)
	for i := 0; i < n; i++ {
		d.SetDiag(i, math.Pow(cond, rng.Float64()))
	}
	var h mat.Dense
	h.Product(q, d, q.T())
	sym := mat.NewSymDense(n, nil)
	for i := 0; i < n; i++ {
		for j := i; j < n; j++ {
			sym.SetSym(i, j, (h.At(i, j)+h.At(j, i))/2)
		}
	}
	p := &Problem{H: factored(sym), C: normals(rng, n), B: make([]float64, m), Equal: make([]bool, m)}
	for j := range p.C {
		p.C[j] *= 10
	}
	feasible := normals(rng, n)
	p.A = sparse.FromDense(m, n, normals(rng, m*n))
	for i := 0; i < m; i++ {
		p.Equal[i] = i < equal
		p.B[i] = p.A.RowDot(i, feasible)
		if i >= equal && rng.IntN(3) > 0 {
			p.B[i] += rng.Float64()
		}
	}
	if bounds {
		p.Lo, p.Hi = make([]float64, n), make([]float64, n)
		for j := range p.Lo {
			p.Lo[j], p.Hi[j] = feasible[j]-rng.Float64(), feasible[j]+rng.Float64()
			switch rng.IntN(6) {
			case 0:
				p.Lo[j] = math.Inf(-1)
			case 1:
				p.Hi[j] = math.Inf(1)
			case 2:
				p.Lo[j] = feasible[j]
				p.Hi[j] = feasible[j]
			}
		}
	}
	return &instance{h: sym, p: p, n: n, m: m}
}

func normals(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return v
}

// kkt is the largest violation of the optimality conditions, each relative
// to the size of its terms. It uses nothing of the solver.
func (in *instance) kkt(s *Solution) float64 {
	p, worst := in.p, 0.0
	see := func(v, scale float64) {
		if math.IsNaN(v) {
			worst = math.NaN()
		}
		worst = math.Max(worst, v/(1+scale))
	}
	grad := make([]float64, in.n)
	scale := 0.0
	for i := range grad {
		grad[i] = p.C[i] + s.Bound[i]
		for j := range s.Z {
			grad[i] += in.h.At(i, j) * s.Z[j]
			scale = math.Max(scale, math.Abs(in.h.At(i, j)*s.Z[j]))
		}
	}
	for i := range p.B {
		p.A.AddRow(grad, i, s.Lambda[i])
		h := p.A.RowDot(i, s.Z) - p.B[i]
		if p.Equal[i] {
			see(math.Abs(h), math.Abs(p.B[i]))
			continue
		}
		see(h, math.Abs(p.B[i]))
		see(-s.Lambda[i], 0)
		see(math.Abs(h*s.Lambda[i]), math.Abs(s.Lambda[i]))
		scale = math.Max(scale, math.Abs(s.Lambda[i]))
	}
	for j := range grad {
		see(math.Abs(grad[j]), scale)
		if p.Lo != nil {
			see(p.Lo[j]-s.Z[j], math.Abs(s.Z[j]))
			see(s.Z[j]-p.Hi[j], math.Abs(s.Z[j]))
			if s.Bound[j] > 0 {
				see(s.Bound[j]*(p.Hi[j]-s.Z[j]), s.Bound[j])
			} else if s.Bound[j] < 0 {
				see(-s.Bound[j]*(s.Z[j]-p.Lo[j]), -s.Bound[j])
			}
		}
	}
	return worst
}

func TestSolveMeetsKKT(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	ws := &Workspace{}
	for trial := 0; trial < 400; trial++ {
		n := 1 + rng.IntN(25)
		m := rng.IntN(2 * n)
		equal := 0
		bounds := rng.IntN(2) == 0
		if m > 0 && !bounds {
			equal = rng.IntN(min(m, n))
		}
		cond := math.Pow(10, 8*rng.Float64())
		in := random(rng, n, m, equal, cond, bounds)
		s := Solve(in.p, ws)
		// Rounding of H's factorization grows with the root of cond.
		if tol := 1e-13 * math.Sqrt(cond) * float64(n+10); s.Status != Solved || !(in.kkt(s) <= tol) {
			t.Fatalf("trial %d (n %d, m %d, equal %d, cond %.1e): %v, KKT %.2e", trial, n, m, equal, cond, s.Status, in.kkt(s))
		}
		for j, z := range s.Z {
			if bounds && (s.Bound[j] > 0 && z != in.p.Hi[j] || s.Bound[j] < 0 && z != in.p.Lo[j]) {
				t.Errorf("trial %d: z %g in [%g, %g] with a multiplier %g", trial, z, in.p.Lo[j], in.p.Hi[j], s.Bound[j])
			}
		}
		// A warm start from the solution changes nothing but the iterations.
		in.p.Warm = s.Active
		again := Solve(in.p, ws)
		for j := range s.Z {
			if math.Abs(again.Z[j]-s.Z[j]) > 1e-10*(1+math.Abs(s.Z[j]))*math.Sqrt(cond) {
				t.Fatalf("trial %d: warm start gives %v, cold %v", trial, again.Z, s.Z)
			}
		}
		if again.Iterations > len(s.Active) {
			t.Errorf("trial %d: warm start took %d changes for %d active rows", trial, again.Iterations, len(s.Active))
		}
	}
}

// Duplicate, scaled, and combined rows, and more active rows than variables.
func TestSolveDegenerate(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for trial := 0; trial < 300; trial++ {
		n := 2 + rng.IntN(12)
		m := 1 + rng.IntN(n)
		in := random(rng, n, m, rng.IntN(2), 100, trial%2 == 0)
		dense := in.p.A.Dense()
		for k := 0; k < 2*n; k++ {
			// A positive combination of inequality rows (or any of an equality).
			row, b := make([]float64, n), 0.0
			for i := 0; i < m; i++ {
				if rng.IntN(2) == 0 {
					w := math.Pow(10, 6*rng.Float64()-3)
					linalg.Axpy(row, w, dense[i*n:(i+1)*n])
					b += w * in.p.B[i]
				}
			}
			dense = append(dense, row...)
			in.p.B = append(in.p.B, b)
			in.p.Equal = append(in.p.Equal, false)
		}
		in.m = len(in.p.B)
		in.p.A = sparse.FromDense(in.m, n, dense)
		s := Solve(in.p, nil)
		if s.Status != Solved || !(in.kkt(s) <= 1e-9) {
			t.Fatalf("trial %d: %v, KKT %.2e", trial, s.Status, in.kkt(s))
		}
	}
}

// Rows scaled by factors from 1e-8 to 1e8 do not change the minimizer.
func TestSolveScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for trial := 0; trial < 100; trial++ {
		n := 2 + rng.IntN(15)
		in := random(rng, n, n, 0, 1e3, false)
		want := Solve(in.p, nil)
		for i := range in.p.B {
			f := math.Pow(10, 16*rng.Float64()-8)
			in.p.B[i] *= f
			_, vals := in.p.A.Row(i)
			for k := range vals {
				vals[k] *= f
			}
		}
		got := Solve(in.p, nil)
		for j := range want.Z {
			if math.Abs(got.Z[j]-want.Z[j]) > 1e-10*(1+math.Abs(want.Z[j])) {
				t.Fatalf("trial %d: z %v after scaling, %v before", trial, got.Z, want.Z)
			}
		}
	}
}

func TestSolveInfeasible(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	found := 0
	for trial := 0; trial < 300; trial++ {
		n := 1 + rng.IntN(10)
		in := random(rng, n, n+1+rng.IntN(2*n), rng.IntN(2), 10, trial%2 == 0)
		for i := range in.p.B {
			in.p.B[i] -= 2 * rng.Float64()
		}
		s := Solve(in.p, nil)
		if s.Status == Solved {
			if k := in.kkt(s); !(k <= 1e-10) {
				t.Fatalf("trial %d: solved, KKT %.2e", trial, k)
			}
			continue
		}
		found++
		if s.Status != Infeasible {
			t.Fatalf("trial %d: %v", trial, s.Status)
		}
		checkFarkas(t, in.p, s)
	}
	if found < 50 {
		t.Fatalf("only %d of the instances are infeasible", found)
	}
}

// Bounds of one variable that cross leave nothing, whatever the units; bounds that meet
// leave one value.
func TestSolveCrossedBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	for trial := range 300 {
		n := 1 + rng.IntN(6)
		in := random(rng, n, rng.IntN(4), 0, 10, true)
		unit := math.Pow(10, float64(rng.IntN(17)-8))
		for j := range in.p.Lo { // z = unit w
			in.p.Lo[j], in.p.Hi[j], in.p.C[j] = unit*in.p.Lo[j], unit*in.p.Hi[j], unit*in.p.C[j]
		}
		for i := range in.p.B {
			in.p.B[i] *= unit
		}
		j := rng.IntN(n)
		lo := unit * rng.NormFloat64()
		gap := unit * math.Pow(10, -6*rng.Float64())
		in.p.Lo[j], in.p.Hi[j] = lo, lo-gap
		if s := Solve(in.p, nil); s.Status != Infeasible {
			t.Errorf("trial %d: bounds that cross by %g of %g: %v", trial, gap, lo, s.Status)
		}
		in.p.B, in.p.A, in.p.Equal = nil, sparse.FromDense(0, n, nil), nil
		in.p.Hi[j] = lo
		if s := Solve(in.p, nil); s.Status != Solved || math.Abs(s.Z[j]-lo) > tolerance.Feasibility*(linalg.Norm(s.Z)+math.Abs(lo)) {
			t.Errorf("trial %d: bounds that meet: %v, %v", trial, s.Status, s.Z)
		}
	}
}

// checkFarkas checks a proof of infeasibility from its definition.
func checkFarkas(t *testing.T, p *Problem, s *Solution) {
	t.Helper()
	n := p.H.Dim()
	combination, side, size := append([]float64(nil), s.FarkasBound...), 0.0, 0.0
	for i, y := range s.Farkas {
		if y < 0 && !(p.Equal != nil && p.Equal[i]) {
			t.Fatalf("Farkas[%d] = %g is negative", i, y)
		}
		p.A.AddRow(combination, i, y)
		side += y * p.B[i]
		size += math.Abs(y) * (linalg.Norm(p.A.Dense()[i*n:(i+1)*n]) + math.Abs(p.B[i]))
	}
	for j, y := range s.FarkasBound {
		if y > 0 {
			side += y * p.Hi[j]
			size += y * (1 + math.Abs(p.Hi[j]))
		} else if y < 0 {
			side += y * p.Lo[j]
			size += -y * (1 + math.Abs(p.Lo[j]))
		}
	}
	if linalg.Norm(combination) > 1e-10*size || side >= -1e-9*size {
		t.Fatalf("Farkas: combination %.2e, side %.2e, size %.2e", linalg.Norm(combination), side, size)
	}
}

func TestSolveReusesItsWorkspace(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	in := random(rng, 30, 20, 3, 100, true)
	ws := &Workspace{}
	Solve(in.p, ws)
	// The solution's own slices, its growing list of active rows, itself.
	if a := testing.AllocsPerRun(10, func() { Solve(in.p, ws) }); a > 12 {
		t.Errorf("%v allocations a solve", a)
	}
}

func TestSolveNaN(t *testing.T) {
	p := &Problem{H: Identity(2), C: []float64{math.NaN(), 0}}
	if s := Solve(p, nil); s.Status != Failed {
		t.Errorf("NaN in c: %v", s.Status)
	}
	p = &Problem{H: Identity(1), C: []float64{0}, A: sparse.FromDense(1, 1, []float64{math.NaN()}), B: []float64{0}}
	if s := Solve(p, nil); s.Status != Failed {
		t.Errorf("NaN in A: %v", s.Status)
	}
}
