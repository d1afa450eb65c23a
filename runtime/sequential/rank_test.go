package sequential

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// travel is sum(a, slope_a (t_a + t_a^5/5)), t = total flows of links, the last entries of y.
type travel struct{ slope []float64 }

func (g travel) totals(y []float64) []float64 { return y[len(y)-len(g.slope):] }

func (g travel) Value(_, y []float64) (sum float64) {
	for a, t := range g.totals(y) {
		sum += g.slope[a] * (t + math.Pow(t, 5)/5)
	}
	return sum
}
func (g travel) GradX(dst, _, _ []float64) { clear(dst) }
func (g travel) GradY(dst, _, y []float64) {
	clear(dst)
	for a, t := range g.totals(y) {
		g.totals(dst)[a] = g.slope[a] * (1 + math.Pow(t, 4))
	}
}
func (g travel) ValueGradY(dst, x, y []float64) float64 {
	g.GradY(dst, x, y)
	return g.Value(x, y)
}
func (g travel) ValueGrad(dx, dy, x, y []float64) float64 {
	g.GradX(dx, x, y)
	return g.ValueGradY(dy, x, y)
}
func (g travel) Clone() problem.Function { return g }

// Flows of several goods that add up to totals, of which alone g is a curved function: H has no entries beside the curvatures of the totals, however many directions there are in which answers may go on, along which H is 0.
func TestNothingJoinsWhatIsFlat(t *testing.T) {
	for seed := range members.SeedsOf(t, 200, 200) {
		rng := rand.New(rand.NewPCG(seed, 37))
		goods, links := 2+rng.IntN(4), 4+rng.IntN(20)
		n := (goods + 1) * links
		g, y := travel{make([]float64, links)}, make([]float64, n)
		rows := &problem.Rows{A: sparse.Empty(1), B: sparse.Empty(n)}
		for a := range links {
			g.slope[a] = 1 + rng.Float64()
			cols, vals := []int{goods*links + a}, []float64{1}
			for k := range goods {
				if cols, vals = append(cols, k*links+a), append(vals, -1); a%2 == 0 { // the others are idle
					y[k*links+a] = 3 * rng.Float64()
				}
				y[goods*links+a] += y[k*links+a]
			}
			kkttest.AddRow(rows, problem.Equal, []float64{0}, cols, vals, 0)
		}
		for j := range n {
			kkttest.AddRow(rows, problem.AtMost, []float64{0}, []int{j}, []float64{1}, 0)
		}
		p := &problem.Problem{Name: "links", Dx: 1, Dy: n, F: g, G: g, Rows: rows, X: &problem.Set{Lo: []float64{0}, Hi: []float64{1}}, Facts: problem.Facts{Convex: true}}
		v, err := New(p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		v.unit = []float64{1}
		pt, err := v.complete([]float64{0.5}, y, make([]float64, rows.Len()))
		if err == nil {
			err = v.second(pt, true)
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			for j, h := range pt.lower.h.Entries(i) {
				want := 0.0
				if a := i - goods*links; a >= 0 && i == j {
					want = 4 * g.slope[a] * math.Pow(y[i], 3)
				}
				if want == 0 && h != 0 || math.Abs(h-want) > 1e-6*want+1e-6 {
					t.Fatalf("seed %d: entry %d, %d of H is %v, not %v; %d of %d entries of y are 0", seed, i, j, h, want, n-len(slices.DeleteFunc(slices.Clone(y), func(t float64) bool { return t == 0 })), n)
				}
			}
		}
	}
}
