package autodiff

import (
	"fmt"
	"sync"
	"testing"
)

// Graphs are made on several goroutines, each with expressions of its own, and are
// what each makes alone. Gorgonia's state of the process is written at the first use
// of an operation, so that this test comes before others that make graphs when it is
// run alone; with -race it finds what is not guarded.
func TestGraphsAreMadeConcurrently(t *testing.T) {
	const dx, dy, workers = 3, 12, 8
	var wait sync.WaitGroup
	made := make([]map[string]*Graph, workers)
	for k := range workers {
		b, roots := models(t)
		made[k] = map[string]*Graph{}
		wait.Go(func() {
			for name, root := range roots {
				g, err := Differentiate(b.Builder, root, dx, dy)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				made[k][name] = g
				ref, err := NewReference(b.Builder, root)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				x, y := make([]float64, dx), make([]float64, dy)
				if _, err := ref.ValueGrad(make([]float64, dx), make([]float64, dy), x, y); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	wait.Wait()
	for name := range made[0] {
		for k := range made {
			if nodes(made[0][name]) != nodes(made[k][name]) {
				t.Errorf("%s: two workers make different graphs", name)
			}
		}
	}
}

// nodes are a graph's nodes in words, which name data by its place.
func nodes(g *Graph) string {
	text := ""
	for i := range g.Nodes {
		text += fmt.Sprintln(&g.Nodes[i])
	}
	return text
}
