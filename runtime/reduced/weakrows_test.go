package reduced

import (
	"math"
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// Where more rows than y has entries go through the follower's answer, those that S leaves out are off by rounding, of whatever size the answer and the multipliers are: none of them counts as broken. Where they are moved in by more all are.
func TestRowsOffByRounding(t *testing.T) {
	rng := members.Rand(t, 53)
	near := 0
	for k := range members.Of(200, 2000) {
		ny := 2 + rng.IntN(4)
		size, strength := math.Pow(10, 6*rng.Float64()-3), math.Pow(10, 6*rng.Float64()-3)
		g := &kkttest.Quadratic{Nx: 1, Ny: ny, M: make([]float64, (1+ny)*(1+ny)), C: make([]float64, 1+ny)}
		rows := &problem.Rows{A: sparse.Empty(1), B: sparse.Empty(ny)}
		at, columns, reach := make([]float64, ny), make([]int, ny), 0.0
		for j := range ny {
			at[j], columns[j] = size*rng.NormFloat64(), j
			g.M[(1+j)*(1+ny)+1+j], g.C[1+j] = 1, -at[j]
			reach = math.Max(reach, math.Abs(at[j]))
		}
		moved, broken := 0.0, 0
		if k%4 == 3 {
			moved, broken = 1e-3*math.Max(size, strength), 3
		}
		for i := range ny + 3 {
			row, through := make([]float64, ny), 0.0
			for j := range row {
				row[j] = rng.NormFloat64()
				through += row[j] * at[j]
			}
			if i < ny { // these hold, with forces
				force := strength * (0.1 + rng.Float64())
				for j, v := range row {
					g.C[1+j] += force * v
				}
			} else {
				through += moved
			}
			kkttest.AddRow(rows, problem.AtMost, nil, columns, row, -through)
		}
		s, err := kkt.New(&problem.Problem{Dx: 1, Dy: ny, F: g, G: g, Rows: rows, X: &problem.Set{Lo: []float64{-1}, Hi: []float64{1}, E: sparse.Empty(1)},
			Facts: problem.Facts{StrongConvexity: 1, JointlyQuadratic: true, DegreeF: 2}})
		if err != nil {
			t.Fatal(err)
		}
		f, err := newFollower(s, tolerance.NoCurvature)
		if err != nil {
			t.Fatal(err)
		}
		p := (&solver{f: f, p: s.P, calc: newCalculus(s.P, f.nw)}).newPiece()
		st := &State{W: []float64{0}, Fixed: make([]int8, 1)}
		for i := range ny {
			st.Strong = append(st.Strong, Held{f.of[i].row, f.of[i].high})
		}
		if !p.load(st) {
			continue
		}
		p.place()
		growth := 0.0 // of a rounding in the rows that hold, in the multipliers
		for a := range ny {
			unit, column := make([]float64, ny), make([]float64, ny)
			unit[a] = 1
			p.z.times(column, unit)
			growth = math.Max(growth, linalg.NormInf(column))
		}
		if growth > 3e8 { // they depend on each other but for 1e-4, and the others are off by what that makes of rounding
			near++
			continue
		}
		if wrong := p.wrong(); len(wrong) != broken {
			t.Errorf("case %d, y of %g, forces of %g: rows %v are broken, by %g", k, reach, strength, wrong, moved)
		}
	}
	if draws := members.Of(200, 2000); near > draws/10 {
		t.Errorf("%d of %d draws have rows that depend on each other", near, draws)
	}
}
