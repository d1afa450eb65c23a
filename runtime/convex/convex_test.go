package convex_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/sparse"
	. "bilevelc/runtime/convex"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/qp"
)

// program is a random one: a sparse H, diagonally dominant, bounds, equalities
// and inequalities, some of them degenerate.
type program struct {
	n, m      int
	h, b      *sparse.CSR
	equal     []bool
	c, lo, hi []float64
	r         []float64
}

// random makes a program that is feasible by construction. With degenerate set,
// numbers are small integers and rows repeat, so that rows depend on each other
// and hold with equality without pressing.
func random(rng *rand.Rand, degenerate bool) *program {
	n := 1 + rng.IntN(30)
	p := &program{n: n, m: rng.IntN(n + 1)}
	number := rng.NormFloat64
	if degenerate {
		number = func() float64 { return float64(rng.IntN(5) - 2) }
	}
	var h []sparse.Entry
	sum := make([]float64, n)
	for range rng.IntN(2 * n) {
		i, j := rng.IntN(n), rng.IntN(n)
		if v := number(); i != j {
			h = append(h, sparse.Entry{Row: i, Col: j, Val: v}, sparse.Entry{Row: j, Col: i, Val: v})
			sum[i] += math.Abs(v)
			sum[j] += math.Abs(v)
		}
	}
	for i := range sum {
		h = append(h, sparse.Entry{Row: i, Col: i, Val: sum[i] + 0.5 + float64(rng.IntN(3))})
	}
	p.h = sparse.FromEntries(n, n, h)
	inside := make([]float64, n)
	for j := range inside {
		inside[j] = number()
		lo, hi := math.Inf(-1), math.Inf(1)
		if rng.IntN(3) > 0 {
			lo = inside[j] - float64(rng.IntN(3))*0.5
		}
		if rng.IntN(3) > 0 {
			hi = inside[j] + float64(rng.IntN(3))*0.5
		}
		p.lo, p.hi = append(p.lo, lo), append(p.hi, hi)
		p.c = append(p.c, 3*number())
	}
	var b []sparse.Entry
	dense := make([]float64, p.m*n)
	for i := 0; i < p.m; i++ {
		if degenerate && i > 0 && rng.IntN(4) == 0 {
			copy(dense[i*n:(i+1)*n], dense[(i-1)*n:i*n])
		} else {
			for range 1 + rng.IntN(3) {
				dense[i*n+rng.IntN(n)] = number()
			}
		}
		at := 0.0
		for j := 0; j < n; j++ {
			if v := dense[i*n+j]; v != 0 {
				b = append(b, sparse.Entry{Row: i, Col: j, Val: v})
				at += v * inside[j]
			}
		}
		eq := rng.IntN(4) == 0
		if !eq {
			at -= float64(rng.IntN(3)) * 0.5
		}
		p.equal, p.r = append(p.equal, eq), append(p.r, at)
	}
	p.b = sparse.FromEntries(p.m, n, b)
	return p
}

// reference solves it densely.
func (p *program) reference() *qp.Solution {
	a := &sparse.CSR{Rows: p.m, Cols: p.n, Ptr: p.b.Ptr, Col: p.b.Col}
	rhs := make([]float64, p.m)
	for _, v := range p.b.Val {
		a.Val = append(a.Val, -v)
	}
	for i, v := range p.r {
		rhs[i] = -v
	}
	h, ok := linalg.NewCholesky(p.n, p.h.Dense())
	if !ok {
		panic("H is not positive definite")
	}
	return qp.Solve(&qp.Problem{H: qp.Factored(h), C: p.c, A: a, Equal: p.equal, B: rhs, Lo: p.lo, Hi: p.hi}, nil)
}

func (p *program) solver(t *testing.T) *Solver {
	s := NewProgram(p.h, p.b, p.equal).NewSolver()
	if !s.Load(p.h.Val) {
		t.Fatal("H was refused")
	}
	s.Set(p.lo, p.hi, p.r)
	s.Linear(p.c, make([]float64, p.n))
	return s
}

// optimal checks the optimality conditions of the solver's point by themselves.
func (p *program) optimal(s *Solver) error {
	y, lambda, rest := make([]float64, p.n), make([]float64, p.m), make([]float64, p.n)
	s.Y(y, p.lo, p.hi)
	s.Lambda(lambda)
	p.h.MulVec(rest, y)
	for j, c := range p.c {
		rest[j] += c
	}
	p.b.AddMulVecT(rest, -1, lambda)
	scale := 1 + Largest(p.c) + Largest(lambda)
	state, _ := s.State()
	for j, z := range rest {
		at := state[j]
		if y[j] < p.lo[j]-1e-11 || y[j] > p.hi[j]+1e-11 {
			return fmt.Errorf("y[%d] = %v outside %v, %v", j, y[j], p.lo[j], p.hi[j])
		}
		if at == Free && math.Abs(z) > 1e-10*scale || at == Lower && z < -1e-10*scale || at == Upper && z > 1e-10*scale {
			return fmt.Errorf("multiplier %v at y[%d], %d", z, j, at)
		}
	}
	for i, l := range lambda {
		v := p.b.RowDot(i, y) - p.r[i]
		if p.equal[i] && math.Abs(v) > 1e-10 || v < -1e-10 || !p.equal[i] && (l < -1e-10*scale || math.Abs(l*v) > 1e-9*scale) {
			return fmt.Errorf("row %d: slack %v, multiplier %v", i, v, l)
		}
	}
	return nil
}

// TestAgainstDense compares minimizers with those of the dense active-set
// method, from scratch, from the answer and from a wrong guess.
func TestAgainstDense(t *testing.T) {
	for _, degenerate := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(1, 2))
		for k := range 600 {
			p := random(rng, degenerate)
			want := p.reference()
			if want.Status != qp.Solved {
				t.Fatalf("%d: the reference is %v", k, want.Status)
			}
			s := p.solver(t)
			if end := s.Minimize(context.Background()); end != Optimal {
				t.Errorf("degenerate %v, %d (n %d, m %d): outcome %d", degenerate, k, p.n, p.m, end)
				continue
			}
			for _, when := range []string{"cold", "reduced", "again"} {
				if err := p.optimal(s); err != nil {
					t.Errorf("degenerate %v, %d, %s: %v", degenerate, k, when, err)
				}
				y := make([]float64, p.n)
				s.Y(y, p.lo, p.hi)
				for j := range y {
					if math.Abs(y[j]-want.Z[j]) > 1e-9*(1+Largest(want.Z)) {
						t.Errorf("degenerate %v, %d, %s: y[%d] = %v, want %v", degenerate, k, when, j, y[j], want.Z[j])
						break
					}
				}
				if when == "cold" {
					if left := s.Reduce(); left != nil {
						t.Errorf("%d: not reduced: %v", k, left)
					}
					if left := s.DependentActive(); len(left) > 0 {
						t.Errorf("degenerate %v, %d: rows %v are still dependent", degenerate, k, left)
					}
				} else if !s.ActiveSet(10) || !s.Unchanged() {
					t.Errorf("degenerate %v, %d: not settled from the answer", degenerate, k)
				}
			}
		}
	}
}

// TestFarkas: contradictory programs are proved to be so, feasible ones never.
func TestFarkas(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	found := 0
	for k := range 400 {
		p := random(rng, k%2 == 1)
		contradict := k%3 > 0 && p.m > 0
		if contradict {
			i := rng.IntN(p.m)
			p.r[i] += 1 + 5*rng.Float64()
		}
		infeasible := p.reference().Status == qp.Infeasible
		s := p.solver(t)
		end := s.Minimize(context.Background())
		skipped := false // a dependent equality may be what contradicts
		y := make([]float64, p.n)
		s.Y(y, p.lo, p.hi)
		for _, i := range s.Skipped() {
			skipped = skipped || math.Abs(p.b.RowDot(i, y)-p.r[i]) > 1e-9
		}
		if (end == Optimal && !skipped) == infeasible {
			t.Errorf("%d: outcome %d, infeasible %v", k, end, infeasible)
			continue
		}
		s.Load(p.h.Val)
		s.Set(p.lo, p.hi, p.r)
		lambda, z, proved := s.Farkas(context.Background())
		if proved != (infeasible && end != Optimal) && !skipped {
			t.Errorf("%d: proved %v, infeasible %v", k, proved, infeasible)
		}
		if !proved {
			continue
		}
		found++
		gain, pull := 0.0, append([]float64(nil), z...)
		p.b.AddMulVecT(pull, 1, lambda)
		for i, l := range lambda {
			gain += l * p.r[i]
			if !p.equal[i] && l < 0 {
				t.Errorf("%d: negative %v", k, l)
			}
		}
		for j, v := range z {
			if v > 0 {
				gain += v * p.lo[j]
			} else if v < 0 {
				gain += v * p.hi[j]
			}
		}
		if !(gain > 0) || Largest(pull) > 1e-6*gain {
			t.Errorf("%d: gain %v, pull %v", k, gain, Largest(pull))
		}
	}
	if found < 30 {
		t.Errorf("only %d proofs", found)
	}
}

// TestForcesOfManySizes: a store over a day whose prices spread over many orders of
// magnitude is solved so that the small ones are right, too.
func TestForcesOfManySizes(t *testing.T) {
	for _, spread := range []float64{1, 5, 15} {
		for seed := range uint64(20) {
			rng := rand.New(rand.NewPCG(seed, 9))
			const hours = 24
			p := &program{n: 3 * hours, m: hours}
			var h, b []sparse.Entry
			for j := range p.n {
				h = append(h, sparse.Entry{Row: j, Col: j, Val: 0.1})
			}
			p.h = sparse.FromEntries(p.n, p.n, h)
			p.c, p.lo, p.hi = make([]float64, p.n), make([]float64, p.n), make([]float64, p.n)
			for i := range hours {
				price := math.Exp(spread * rng.NormFloat64())
				in, out, level := i, hours+i, 2*hours+i
				p.c[in], p.c[out], p.c[level] = price, -price, -0.1
				p.hi[in], p.hi[out], p.hi[level] = 0.5, 0.2, 1
				b = append(b, sparse.Entry{Row: i, Col: level, Val: 1})
				if i > 0 {
					b = append(b, sparse.Entry{Row: i, Col: level - 1, Val: -1}, sparse.Entry{Row: i, Col: in - 1, Val: -0.9}, sparse.Entry{Row: i, Col: out - 1, Val: 1})
				}
				p.equal, p.r = append(p.equal, true), append(p.r, 0)
			}
			p.r[0] = 0.5
			p.b = sparse.FromEntries(p.m, p.n, b)
			s := p.solver(t)
			if end := s.Minimize(context.Background()); end != Optimal {
				t.Errorf("spread %g, %d: outcome %d", spread, seed, end)
				continue
			}
			y, lambda, rest, terms := make([]float64, p.n), make([]float64, p.m), make([]float64, p.n), make([]float64, p.n)
			s.Y(y, p.lo, p.hi)
			s.Lambda(lambda)
			for j, c := range p.c {
				rest[j], terms[j] = 0.1*y[j]+c, math.Abs(c)+0.1
			}
			for i, l := range lambda {
				cols, vals := p.b.Row(i)
				for k, j := range cols {
					rest[j] -= vals[k] * l
					terms[j] += math.Abs(vals[k] * l)
				}
			}
			for j, z := range rest {
				if y[j] > p.lo[j] && z > 1e-11*terms[j] || y[j] < p.hi[j] && z < -1e-11*terms[j] {
					t.Errorf("spread %g, %d: y[%d] = %v is drawn by %g of %g", spread, seed, j, y[j], z, terms[j])
				}
			}
		}
	}
}
