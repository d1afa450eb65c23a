package bench

import (
	"context"
	"fmt"
	"testing"

	"bilevelc/bench/clock"
	"bilevelc/internal/sparse"
	"bilevelc/runtime"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/method"
	"bilevelc/runtime/qp"
)

// experimentModel is the experiment of the paper, section 6, with generated data.
func experimentModel(tb testing.TB, dy int) *runtime.Problem {
	tb.Helper()
	model, err := runtime.Compile("experiment.blv", `model experiment
param dx: int = 100
param dy: int
param dh: int = dy / 5
data c: vector[dy] ~ normal(0, 1)
data P: matrix[dx, dy] ~ normal(0, 1)
data L: matrix[dy, dy] ~ normal(0, 1)
data A: matrix[dh, dy] ~ normal(0, 1)
data b: vector[dh] ~ normal(0, 1)
let Q = L' * L + eye(dy)
upper {
  var x: vector[dx]
  minimize c' * y + 0.01 * sumsq(x) + 0.01 * sumsq(y)
}
lower {
  var y: vector[dy]
  minimize 0.5 * y' * Q * y + x' * P * y
  subject to
    capacity: A * y <= b
}
`)
	if err != nil {
		tb.Fatal(err)
	}
	p, err := model.Bind(runtime.Data{"dy": dy}, runtime.BindOptions{Seed: 1})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// BenchmarkLower solves the lower level of the experiment from nothing, and
// after x has moved by 1 % from the solution before: by the default solver, by
// the same without what earlier solves learned of the Hessian, by `quadratic`,
// and by the second-order baseline, an active-set quadratic program that is
// given the Hessian. Processor time of all threads, medians in microseconds,
// and gradients of g a solve:
//
//	go test ./bench -run '^$' -bench Lower -benchtime 5x
func BenchmarkLower(b *testing.B) {
	for _, dy := range []int{50, 200, 400} {
		b.Run(fmt.Sprintf("dy=%d", dy), func(b *testing.B) {
			p := experimentModel(b, dy).Numeric.Counted()
			x := normals(3, p.Dx)
			moved := make([]float64, len(x))
			for j, v := range x {
				moved[j] = 1.01 * v
			}
			solver := func(name string, values method.Values) lower.Solver {
				s, err := lower.New(name, values, p, 1)
				if err != nil {
					b.Fatal(err)
				}
				return s
			}
			alm := solver("alm", nil)
			alone := solver("alm", method.Values{"recycle": false})
			quadratic := solver("quadratic", nil)
			ctx := context.Background()
			at := func(s lower.Solver, x []float64, warm *lower.Solution) *lower.Solution {
				return s.Solve(ctx, p, lower.G(p, x), x, warm)
			}
			known := at(quadratic, x, nil)
			warmed := at(alm, x, at(alm, moved, at(alm, x, nil)))
			bare := at(alone, x, nil)

			program := &qp.Problem{H: hessianOf(b, known.Memory), C: make([]float64, dy), A: negated(p.Rows.B), B: make([]float64, p.Rows.Len())}
			p.G.GradY(program.C, moved, make([]float64, dy))
			for i := range program.B {
				program.B[i] = p.Rows.Rhs[i] - p.Rows.A.RowDot(i, moved)
			}
			var ws qp.Workspace
			var active []int
			names := []string{"alm-cold", "alone-cold", "quadratic-cold", "qp-cold", "alm-warm", "alone-warm", "quadratic-warm", "qp-warm"}
			solves := []func(){
				func() { at(alm, moved, nil) },
				func() { at(alone, moved, nil) },
				func() { at(quadratic, moved, nil) },
				func() { program.Warm = nil; active = qp.Solve(program, &ws).Active },
				func() { at(alm, moved, warmed) },
				func() { at(alone, moved, bare) },
				func() { at(quadratic, moved, known) },
				func() { program.Warm = active; qp.Solve(program, &ws) },
			}
			gradients := make([]int64, len(solves))
			for k, solve := range solves {
				before := p.Calls().GradG
				solve()
				gradients[k] = p.Calls().GradG - before
			}
			medians := contest(b, clock.Process, solves...)
			for k, name := range names {
				b.ReportMetric(medians[k]/1e3, name+"-us")
				b.ReportMetric(float64(gradients[k]), name+"-gradients")
			}
		})
	}
}

// negated is -m.
func negated(m *sparse.CSR) *sparse.CSR {
	n := *m
	n.Val = make([]float64, len(m.Val))
	for k, v := range m.Val {
		n.Val[k] = -v
	}
	return &n
}

// hessianOf factorizes the Hessian that a solve has learned.
func hessianOf(tb testing.TB, m *lower.Memory) *qp.Hessian {
	tb.Helper()
	h := make([]float64, m.N*m.N)
	at, upper := 0, m.Upper()
	for i := 0; i < m.N; i++ {
		for j := i; j < m.N; j++ {
			h[i*m.N+j] = upper[at]
			at++
		}
	}
	factors, ok := linalg.NewCholesky(m.N, h)
	if !ok {
		tb.Fatal("the Hessian is not positive definite")
	}
	return qp.Factored(factors)
}
