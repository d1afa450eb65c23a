package pieces_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
)

// At x = 0 the rows y_1 >= 0 and y_1 >= k x of a follower who minimizes c_1 y_1 - c_2 y_2 over them and y_2 <= 0 are one: either has the multiplier. With the second of them F = -a y_1
// falls to x = 1, whatever sizes c_1, c_2, k and a are of.
func TestVerticesOfMultipliersOfAnySize(t *testing.T) {
	rng := members.Rand(t, 5)
	size := func() float64 { return (0.5 + rng.Float64()) * math.Pow(10, float64(rng.IntN(11)-5)) }
	for k := range members.Of(100, 2000) {
		c1, c2, steep, a := size(), size(), size(), size()
		linear := func(c ...float64) *kkttest.Quadratic {
			return &kkttest.Quadratic{Nx: 1, Ny: 2, M: make([]float64, 9), C: c}
		}
		p := &problem.Problem{Name: "vertices", Dx: 1, Dy: 2, F: linear(0, -a, 0), G: linear(0, c1, -c2), Start: []float64{0},
			X: &problem.Set{Lo: []float64{0}, Hi: []float64{1}, E: sparse.FromEntries(0, 1, nil)},
			Rows: &problem.Rows{Kind: make([]problem.Kind, 3), A: sparse.FromEntries(3, 1, []sparse.Entry{{Row: 1, Col: 0, Val: steep}}), Rhs: make([]float64, 3),
				B: sparse.FromEntries(3, 2, []sparse.Entry{{Row: 0, Col: 0, Val: 1}, {Row: 1, Col: 0, Val: 1}, {Row: 2, Col: 1, Val: -1}})},
			Facts: problem.Facts{JointlyQuadratic: true, Convex: true, DegreeF: 1}}
		s, v := solverOf(t, p)
		// The vertex with the multiplier of y_1 >= 0.
		z := make([]float64, s.N)
		copy(s.Lambda(z), []float64{c1, 0, c2})
		branch, _ := s.BranchAt(z)
		point, err := v.Improve(t.Context(), z, branch)
		if err != nil || math.Abs(point.F+a*steep) > 1e-9*a*steep {
			t.Errorf("case %d, c = %g, %g, k = %g, a = %g: F = %v for %v (%v)", k, c1, c2, steep, a, point.F, -a*steep, err)
		}
	}
}

// The rows y >= k x and y >= -l x of a follower who minimizes y are one at x = 0, where F = y has a kink: with any multipliers of theirs, t and 1 - t, a row is biactive, and both vertices are looked at.
func TestMultipliersInsideOfAFaceHideNoKink(t *testing.T) {
	rng := members.Rand(t, 6)
	for range 100 {
		k, l, share := 0.5+rng.Float64(), 0.5+rng.Float64(), rng.Float64()
		linear := func(c ...float64) *kkttest.Quadratic {
			return &kkttest.Quadratic{Nx: 1, Ny: 1, M: make([]float64, 4), C: c}
		}
		p := &problem.Problem{Name: "face", Dx: 1, Dy: 1, F: linear(0, 1), G: linear(0, 1), Start: []float64{0}, X: &problem.Set{Lo: []float64{-1}, Hi: []float64{1}, E: sparse.FromEntries(0, 1, nil)},
			Rows:  &problem.Rows{Kind: make([]problem.Kind, 2), A: sparse.FromDense(2, 1, []float64{k, -l}), Rhs: make([]float64, 2), B: sparse.FromDense(2, 1, []float64{1, 1})},
			Facts: problem.Facts{JointlyQuadratic: true, Convex: true, DegreeF: 1}}
		s, v := solverOf(t, p)
		z := make([]float64, s.N)
		copy(s.Lambda(z), []float64{share, 1 - share})
		seen, err := v.Examine(t.Context(), z)
		if err != nil {
			t.Fatal(err)
		}
		branch, _ := s.BranchAt(z)
		solved, err := v.Improve(t.Context(), z, branch)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []*kkt.Point{seen.Point, solved} {
			if len(at.Biactive) != 1 || at.Vertices != 2 || !at.AllVertices || at.Multipliers == nil || at.F != 0 || s.X(at.Z)[0] != 0 {
				t.Errorf("k = %v, l = %v, multipliers %v: the point %+v", k, l, share, at)
			}
		}
	}
}

// The vertices of the multipliers of two followers whose rows all hold, one or two of them equalities that say the same at times, are those that choices of two rows give.
func TestVerticesAreThoseOfChoicesOfRows(t *testing.T) {
	verticesOfChoices(t, members.Rand(t, 7), members.Of(60, 2000))
}

// Where the multipliers at hand leave no force on an entry of y but rounding, that is none of the size of multipliers: they were looked for in its unit, and the vertex at hand was found again as another.
func TestVerticesWhereNoForceIs(t *testing.T) {
	verticesOfChoices(t, rand.New(rand.NewPCG(983201306, 7)), 60)
}

func verticesOfChoices(t *testing.T, rng *rand.Rand, count int) {
	t.Helper()
	for n := range count {
		const each, ny = 5, 4
		kind, lambda, force := make([]problem.Kind, 2*each), make([]float64, 2*each), make([]float64, 1+ny)
		equal := max(0, rng.IntN(6)-3)
		for i := range equal {
			kind[i] = problem.Equal
		}
		var b []sparse.Entry
		number := 1
		for block := range 2 {
			normals, independent := make([][2]float64, each), false
			det := func(i, j int) float64 { return normals[i][0]*normals[j][1] - normals[i][1]*normals[j][0] }
			signed := each
			if block == 0 {
				signed -= equal
			}
			for !independent {
				for i := range normals {
					if normals[i] = [2]float64{float64(1 + rng.IntN(2)), float64(rng.IntN(5) - 2)}; i == 1 && signed == each-2 {
						normals[i] = [2]float64{2 * normals[0][0], 2 * normals[0][1]}
					}
					independent = independent || det(i, 0) != 0
				}
			}
			sum := [2]float64{}
			for i, normal := range normals {
				r := block*each + i
				lambda[r] = float64(1 + rng.IntN(3))
				for j, v := range normal {
					b = append(b, sparse.Entry{Row: r, Col: 2*block + j, Val: v})
					sum[j] += lambda[r] * v
				}
			}
			copy(force[1+2*block:], sum[:])
			found := map[[each]float64]bool{}
			for i := range each {
				for j := range i {
					if det(i, j) == 0 || signed < each && j > 0 {
						continue
					}
					var l [each]float64
					l[i] = math.Round(1e6*(sum[0]*normals[j][1]-sum[1]*normals[j][0])/det(i, j)) + 0
					l[j] = math.Round(1e6*(normals[i][0]*sum[1]-normals[i][1]*sum[0])/det(i, j)) + 0
					if l[i] < 0 || l[j] < 0 && j >= each-signed {
						continue
					}
					clear(l[:each-signed])
					found[l] = true
				}
			}
			number *= len(found)
		}
		p := &problem.Problem{Name: "vertices", Dx: 1, Dy: ny, Start: []float64{0}, X: &problem.Set{Lo: []float64{-1}, Hi: []float64{1}, E: sparse.FromEntries(0, 1, nil)},
			F: &kkttest.Quadratic{Nx: 1, Ny: ny, M: make([]float64, 25), C: make([]float64, 5)}, G: &kkttest.Quadratic{Nx: 1, Ny: ny, M: make([]float64, 25), C: force},
			Rows:  &problem.Rows{Kind: kind, A: sparse.FromEntries(2*each, 1, nil), B: sparse.FromEntries(2*each, ny, b), Rhs: make([]float64, 2*each)},
			Facts: problem.Facts{JointlyQuadratic: true, Convex: true, DegreeF: 1}}
		s, v := solverOf(t, p)
		z := make([]float64, s.N)
		copy(s.Lambda(z), lambda)
		seen, err := v.Examine(t.Context(), z)
		if err != nil {
			t.Fatal(err)
		}
		if seen.Point.Vertices != number || !seen.Point.AllVertices {
			t.Errorf("case %d, rows %v: %d vertices, all %v, for %d", n, b, seen.Point.Vertices, seen.Point.AllVertices, number)
		}
	}
}

// At x = 0 the row a y_1 == k x and the bound y_1 >= 0 of a follower who minimizes c_1 y_1 + c_2 y_2 over y_2 >= 0 as well are one: any multiple of the bound's multiplier may be taken
// off that of the row, however much larger than the forces both then are. At the vertex that a point is looked at with they are what the forces make them.
func TestMultipliersThatCancelAreForces(t *testing.T) {
	rng := members.Rand(t, 8)
	size := func(most int) float64 { return (0.5 + rng.Float64()) * math.Pow(10, float64(rng.IntN(2*most+1)-most)) }
	for k := range members.Of(100, 2000) {
		c1, c2, a, steep, far := size(3)*float64(1-2*rng.IntN(2)), size(3), size(2), size(2), math.Pow(10, 12*rng.Float64())
		linear := func(c ...float64) *kkttest.Quadratic {
			return &kkttest.Quadratic{Nx: 1, Ny: 2, M: make([]float64, 9), C: c}
		}
		p := &problem.Problem{Name: "cancel", Dx: 1, Dy: 2, F: linear(1, 1, 1), G: linear(0, c1, c2), Start: []float64{0},
			X: &problem.Set{Lo: []float64{0}, Hi: []float64{1}, E: sparse.FromEntries(0, 1, nil)},
			Rows: &problem.Rows{Kind: []problem.Kind{problem.Equal, problem.AtMost, problem.AtMost}, A: sparse.FromEntries(3, 1, []sparse.Entry{{Row: 0, Col: 0, Val: steep}}), Rhs: make([]float64, 3),
				B: sparse.FromEntries(3, 2, []sparse.Entry{{Row: 0, Col: 0, Val: a}, {Row: 1, Col: 0, Val: 1}, {Row: 2, Col: 1, Val: 1}})},
			Facts: problem.Facts{JointlyQuadratic: true, Convex: true, DegreeF: 1}}
		s, v := solverOf(t, p)
		z := make([]float64, s.N)
		copy(s.Lambda(z), []float64{(c1 - far*c2) / a, far * c2, c2})
		seen, err := v.Examine(t.Context(), z)
		if err != nil {
			t.Fatal(err)
		}
		l := s.Lambda(seen.Point.Z)
		if math.Abs(a*l[0]-c1) > 1e-11*math.Abs(c1) || l[1] != 0 || math.Abs(l[2]-c2) > 1e-11*c2 {
			t.Errorf("case %d, a = %g, forces %g, %g, %g times as much beside them: multipliers %v", k, a, c1, c2, far, l)
		}
	}
}
