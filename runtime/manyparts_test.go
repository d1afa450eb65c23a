package runtime

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime/system"
)

// Limits of size are those of a system's parts: followers that nothing joins, more of them than one dense system holds, are solved and proved part by part. Each has a closed form, y the point of [-1, 1] next to
// -P'x, and the least F of each is that of a grid of x, which gets finer around the best point.
func TestManyParts(t *testing.T) {
	t.Parallel()
	for seed := range members.SeedsOf(t, 1, 12) {
		rng := rand.New(rand.NewPCG(seed, 363))
		n, nx, ny := 110+rng.IntN(100), 2, 2+rng.IntN(2)
		matrix := func(rows, cols int) (m [][]float64, text string) {
			var lines []string
			for range rows {
				row, words := make([]float64, cols), make([]string, cols)
				for j := range row {
					row[j] = math.Round(100*rng.NormFloat64()) / 100
					words[j] = fmt.Sprint(row[j])
				}
				m, lines = append(m, row), append(lines, "["+strings.Join(words, ", ")+"]")
			}
			return m, "[" + strings.Join(lines, ", ") + "]"
		}
		c, textC := matrix(n, nx)
		d, textD := matrix(n, ny)
		p, textP := matrix(n, nx*ny)
		room := math.Round(10*(0.5+2*rng.Float64())) / 10
		rows := ""
		if rng.IntN(2) == 0 {
			rows = fmt.Sprintf("  subject to\n    room: x * [1, 1] <= %v\n", room)
		} else {
			room = math.Inf(1)
		}
		model, err := Compile("parts.blv", fmt.Sprintf("model parts\ndata c: matrix[%[1]d, %[2]d] = %[4]s\ndata d: matrix[%[1]d, %[3]d] = %[5]s\ndata P: matrix[%[1]d, %[7]d] = %[6]s\n"+
			"upper {\n  var x: matrix[%[1]d, %[2]d] in box(-2, 2)\n  minimize sum(c .* x) + sum(d .* y)\n%[8]s}\nlower {\n  var y: matrix[%[1]d, %[3]d] in box(-1, 1)\n"+
			"  minimize 0.5 * sum(y .* y) + sum(i in 1..%[1]d: sum(j in 1..%[2]d: sum(k in 1..%[3]d: P[i, (j-1)*%[3]d+k] * x[i, j] * y[i, k])))\n}\n",
			n, nx, ny, textC, textD, textP, nx*ny, rows))
		if err != nil {
			t.Fatal(err)
		}
		bound, err := model.Bind(nil, BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if system.Size(bound.Numeric) <= system.Largest && n > 150 { // 8 or more each
			t.Fatalf("%d unknowns are no more than one system holds", system.Size(bound.Numeric))
		}
		least := 0.0
		for i := range n {
			value := func(x [2]float64) float64 {
				f := c[i][0]*x[0] + c[i][1]*x[1]
				for k := range ny {
					f += d[i][k] * min(max(-(p[i][k]*x[0]+p[i][ny+k]*x[1]), -1), 1)
				}
				return f
			}
			best, at, width := math.Inf(1), [2]float64{}, 2.0
			for range 8 {
				next := at
				for a := -40; a <= 40; a++ {
					for b := -40; b <= 40; b++ {
						x := [2]float64{at[0] + width*float64(a)/40, at[1] + width*float64(b)/40}
						if math.Abs(x[0]) > 2 || math.Abs(x[1]) > 2 || x[0]+x[1] > room {
							continue
						}
						if f := value(x); f < best {
							best, next = f, x
						}
					}
				}
				at, width = next, width/4
			}
			least += best
		}
		for _, search := range []Search{SearchBudget, SearchNone} {
			r, err := bound.Solve(context.Background(), Options{Search: search})
			if err != nil || r.Status != Solved {
				t.Fatalf("seed %d: %v, %s, %s", seed, err, r.Status, r.Reason)
			}
			f := float64(r.Upper.Objective)
			if search == SearchNone {
				if f < least-1e-2*(1+math.Abs(least)) {
					t.Errorf("seed %d: a local solution with %.9g, and the grids have %.9g", seed, f, least)
				}
				continue
			}
			if g := r.Global; g == nil || !g.Proved || float64(g.Bound) > least+1e-9*math.Abs(least) || f > least+1e-6*math.Abs(least) {
				t.Fatalf("seed %d: F %.12g, %+v, and the grids have %.12g", seed, f, g, least)
			}
			var proof bytes.Buffer
			if err := r.WriteProof(context.Background(), &proof); err != nil {
				t.Fatal(err)
			}
			if report, err := bound.VerifyProof(r, "proof", &proof); err != nil || !report.OK() {
				t.Errorf("seed %d: %v, %v", seed, err, report.Failures())
			}
		}
	}
}
