package reduced

import (
	"math"
	"slices"
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// Of three rows of two entries of y that meet, one is a sum of the others with positive weights: a force of its own is theirs too, and next to the vertex of the multipliers that is it alone are the other two; with more of a force
// along one of them, that and the sum are next to the two. A fourth row, of an entry of its own, with a force or without, is as it was.
func TestVerticesNextToAVertex(t *testing.T) {
	rng := members.Rand(t, 52)
	for k := range members.Of(200, 2000) {
		one, other, weights := [2]float64{rng.NormFloat64(), rng.NormFloat64()}, [2]float64{rng.NormFloat64(), rng.NormFloat64()}, [2]float64{0.1 + rng.Float64(), 0.1 + rng.Float64()}
		if math.Abs(one[0]*other[1]-one[1]*other[0]) < 0.1 {
			continue
		}
		force, apart := 0.1+rng.Float64(), float64(rng.IntN(2))
		const ny = 3
		g := &kkttest.Quadratic{Nx: 1, Ny: ny, M: make([]float64, (1+ny)*(1+ny)), C: make([]float64, 1+ny)}
		for j := range ny {
			g.M[(1+j)*(1+ny)+1+j] = 1
		}
		rows := &problem.Rows{A: sparse.Empty(1), B: sparse.Empty(ny)}
		sum := [2]float64{weights[0]*one[0] + weights[1]*other[0], weights[0]*one[1] + weights[1]*other[1]}
		for _, r := range [][2]float64{one, other, sum} {
			kkttest.AddRow(rows, problem.AtMost, []float64{rng.NormFloat64()}, []int{0, 1}, r[:], 0)
		}
		kkttest.AddRow(rows, problem.AtMost, nil, []int{2}, []float64{1}, 0)
		more := 0.0
		if k%2 == 1 {
			more = 0.1 + rng.Float64()
		}
		copy(g.C[1:], []float64{force*sum[0] + more*one[0], force*sum[1] + more*one[1], apart})
		s, err := kkt.New(&problem.Problem{Dx: 1, Dy: ny, F: g, G: g, Rows: rows, X: &problem.Set{Lo: []float64{-1}, Hi: []float64{1}, E: sparse.Empty(1)},
			Facts: problem.Facts{StrongConvexity: 1, JointlyQuadratic: true, DegreeF: 2}})
		if err != nil {
			t.Fatal(err)
		}
		f, err := newFollower(s, tolerance.NoCurvature)
		if err != nil {
			t.Fatal(err)
		}
		held := func(of ...int) (out []Held) {
			for _, i := range of {
				out = append(out, Held{f.of[i].row, f.of[i].high})
			}
			slices.SortFunc(out, func(a, b Held) int { return a.Row - b.Row })
			return out
		}
		ends := [2][2][]int{{{2}, {0, 1}}, {{0, 1}, {2}}} // strong rows and others, at both vertices
		if more > 0 {
			ends = [2][2][]int{{{0, 1}, {2}}, {{0, 2}, {1}}}
		}
		var want [2]Vertex
		for e, rows := range ends {
			strong, weak := rows[0], rows[1]
			if apart > 0 {
				strong = append(slices.Clone(strong), 3)
			} else {
				weak = append(slices.Clone(weak), 3)
			}
			want[e] = Vertex{held(strong...), held(weak...)}
		}
		p := (&solver{f: f, p: s.P, calc: newCalculus(s.P, f.nw)}).newPiece()
		st := &State{W: []float64{0}, Fixed: make([]int8, 1), Strong: want[0].Strong, Biactive: want[0].Biactive, Vertices: []Vertex{want[0]}}
		p.load(st)
		p.place()
		p.adjacent(st)
		if len(st.Vertices) != 2 || !slices.Equal(st.Vertices[1].Strong, want[1].Strong) || !slices.Equal(st.Vertices[1].Biactive, want[1].Biactive) {
			t.Errorf("case %d, from %+v: %+v, not %+v", k, want[0], st.Vertices[1:], want[1])
		}
	}
}
