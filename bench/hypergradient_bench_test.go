package bench

import (
	"context"
	"fmt"
	"testing"

	"bilevelc/bench/clock"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/oracle"
)

// BenchmarkHypergradient takes the hypergradient of the paper's experiment from
// nothing, and along an outer run, where x moves by 1 % to and fro and the lower
// level starts from the solution before. One thread's processor time, medians in
// microseconds, and gradients of g:
//
//	GOMAXPROCS=1 go test ./bench -run '^$' -bench 'Hypergradient$' -benchtime 5x
func BenchmarkHypergradient(b *testing.B) {
	for _, dy := range []int{50, 100, 200, 400, 800, 1600} {
		b.Run(fmt.Sprintf("dy=%d", dy), func(b *testing.B) {
			p := experimentModel(b, dy).Numeric.Counted()
			x := normals(3, p.Dx)
			moved := make([]float64, len(x))
			for j, v := range x {
				moved[j] = 1.01 * v
			}
			fresh := func() *oracle.Hyper {
				solver, err := lower.New(lower.Choose(p), nil, p, 1)
				if err != nil {
					b.Fatal(err)
				}
				spec, err := oracle.Lookup(oracle.Default)
				if err != nil {
					b.Fatal(err)
				}
				face, err := spec.New(nil)
				if err != nil {
					b.Fatal(err)
				}
				return oracle.New(p, solver, face)
			}
			gradient := func(h *oracle.Hyper, x []float64) {
				if _, err := h.Gradient(context.Background(), x); err != nil {
					b.Fatal(err)
				}
			}
			kept := fresh()
			gradient(kept, x)
			steps := 0
			for _, run := range []struct {
				name string
				take func()
			}{
				{"cold", func() { gradient(fresh(), x) }},
				{"warm", func() {
					steps++ // never a point of the last few, which are not solved again
					for j, v := range x {
						moved[j] = (1 + 0.01*float64(steps%20)/20) * v
					}
					gradient(kept, moved)
				}},
			} {
				b.Run(run.name, func(b *testing.B) {
					before := p.Calls().GradG
					run.take()
					calls := p.Calls().GradG - before
					b.ReportMetric(contest(b, clock.Process, run.take)[0]/1e3, "processor-us")
					b.ReportMetric(float64(calls), "gradients")
				})
			}
		})
	}
}
