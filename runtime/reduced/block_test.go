package reduced_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/reduced"
)

// followersApart is a problem of several followers of up to five entries of y each, whose places are mixed, with bounds, rows that read x and equality rows.
func followersApart(rng *rand.Rand) *problem.Problem {
	nx, count := 3+rng.IntN(4), 2+rng.IntN(6)
	var blocks [][]int
	ny := 0
	for range count {
		own := make([]int, 1+rng.IntN(5))
		ny += len(own)
		blocks = append(blocks, own)
	}
	order, next := rng.Perm(ny), 0
	n := nx + ny
	normal := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		return v
	}
	g, f := &smooth{nx: nx, n: n, m: make([]float64, n*n), c: normal(n)}, &smooth{nx: nx, n: n, m: make([]float64, n*n), c: normal(n)}
	for i := range n {
		f.m[i*n+i] = 0.2 + rng.Float64()
		f.c[i] *= 3
	}
	rows := &problem.Rows{A: sparse.Empty(nx), B: sparse.Empty(ny)}
	add := func(kind problem.Kind, a []float64, cols []int, b []float64, rhs float64) {
		kkttest.AddRow(rows, kind, a, cols, b, rhs)
	}
	for _, own := range blocks {
		for a := range own {
			own[a] = order[next]
			next++
		}
		for range len(own) + 1 {
			v := normal(len(own))
			for a, i := range own {
				for c, j := range own {
					g.m[(nx+i)*n+nx+j] += v[a] * v[c] / 2
				}
			}
		}
		for _, i := range own {
			g.m[(nx+i)*n+nx+i] += 0.3
			for j := range nx {
				v := rng.NormFloat64()
				g.m[(nx+i)*n+j], g.m[j*n+nx+i] = v, v
			}
		}
	}
	// The rows of different followers take turns.
	for turn := range 4 {
		for _, own := range blocks {
			switch {
			case turn == 0:
				for _, i := range own {
					add(problem.AtMost, nil, []int{i}, []float64{1}, 0.5)
				}
			case turn == 1 && len(own) > 2:
				add(problem.Equal, normal(nx), own, normal(len(own)), rng.NormFloat64())
			case turn == 2:
				for _, i := range own {
					add(problem.AtMost, nil, []int{i}, []float64{-1}, 1+5*rng.Float64())
				}
			case turn == 3:
				add(problem.AtMost, normal(nx), own, normal(len(own)), 2*rng.Float64())
			}
		}
	}
	rows.Name = make([]string, rows.Len())
	rows.A.Rows, rows.B.Rows = rows.Len(), rows.Len()
	set := &problem.Set{Lo: make([]float64, nx), Hi: make([]float64, nx)}
	for j := range nx {
		set.Lo[j], set.Hi[j] = -1, 1
	}
	return &problem.Problem{Dx: nx, Dy: ny, F: f, G: g, Rows: rows, X: set, Blocks: blocks,
		Facts: problem.Facts{StrongConvexity: 0.3, Convex: true, QuadraticInY: true, FixedHessian: true, JointlyQuadratic: true, DegreeF: 2, AffineCoupled: true}}
}

// Followers apart are solved as they are together, which TestRandom holds to a truth of its own: to the same point but for rounding, or where that decides between two ways, another strongly stationary one.
func TestBlocks(t *testing.T) {
	rng := members.Rand(t, 31)
	solved, several, elsewhere := 0, 0, 0
	for k := range members.Count(200) {
		p := followersApart(rng)
		whole, all := *p, *p.Rows
		whole.Blocks, whole.Rows = nil, &all
		ones, every := make([]float64, p.Dy), make([]int, p.Dy)
		for j := range ones {
			ones[j], every[j] = 1e-3, j
		}
		all.A, all.B, all.Kind, all.Rhs, all.Name = all.A.Clone(), all.B.Clone(), slices.Clone(all.Kind), slices.Clone(all.Rhs), append(slices.Clone(all.Name), "") // with a row that joins them, far from all points
		kkttest.AddRow(&all, problem.AtMost, nil, every, ones, 1)
		all.A.Rows, all.B.Rows = all.Len(), all.Len()
		var results [2]*reduced.Result
		var systems [2]*kkt.System
		failed := [2]error{}
		x := make([]float64, p.Dx)
		for j := range x {
			x[j] = rng.Float64() - 0.5
		}
		for i, q := range []*problem.Problem{p, &whole} {
			s, err := kkt.New(q)
			if err != nil {
				t.Fatal(err)
			}
			systems[i] = s
			results[i], failed[i] = reduced.Solve(t.Context(), s, x, reduced.Options{})
		}
		if (failed[0] == nil) != (failed[1] == nil) {
			t.Errorf("case %d: apart %v, together %v", k, failed[0], failed[1])
		}
		if failed[0] != nil || failed[1] != nil {
			continue
		}
		solved++
		apart, together := results[0], results[1]
		if apart.Status != together.Status { // where rounding decides between an end and none
			elsewhere++
			t.Logf("case %d: apart %v, together %v", k, apart.Status, together.Status)
			continue
		}
		if apart.Status == reduced.Stationary {
			signs(t, systems[0], apart)
		}
		if len(apart.Point.Biactive) > 1 {
			several++
		}
		if n, one := len(systems[0].Blocks()), len(systems[1].Blocks()); n < 2 || one != 1 {
			t.Fatalf("case %d: %d followers apart, %d together", k, n, one)
		}
		for j, v := range apart.Point.Z[:p.Dx+p.Dy] {
			if math.Abs(v-together.Point.Z[j]) > 1e-6*(1+math.Abs(v)) {
				elsewhere++
				t.Logf("case %d: entry %d of z is %v apart, %v together", k, j, v, together.Point.Z[j])
				break
			}
		}
	}
	t.Logf("%d solved, %d with several biactive rows", solved, several)
	if solved == 0 || elsewhere > members.Misses(solved, 0.05) {
		t.Errorf("%d solved, %d of them to another point", solved, elsewhere)
	}
}

// One follower whose Hessian is known to be sparse has sparse factors, and several have dense blocks, while none is large, however they are dealt out to groups.
func TestSparseFactorsAreForOneFollower(t *testing.T) {
	rng := members.Rand(t, 32)
	for range members.Count(100) {
		p := followersApart(rng)
		if reduced.Sparse(p) {
			t.Error("sparse factors without a pattern")
		}
		places, all := []sparse.Entry{}, []int{}
		for _, ys := range p.Blocks {
			for _, i := range ys {
				for _, j := range ys {
					places = append(places, sparse.Entry{Row: i, Col: j, Val: 1})
				}
			}
			all = append(all, ys...)
		}
		p.Facts.HessianPattern, p.Blocks = sparse.FromEntries(p.Dy, p.Dy, places), [][]int{all}
		if reduced.Sparse(p) {
			t.Error("sparse factors for several small followers")
		}
		for i := 1; i < p.Dy; i++ {
			places = append(places, sparse.Entry{Row: i - 1, Col: i, Val: 1}, sparse.Entry{Row: i, Col: i - 1, Val: 1})
		}
		p.Facts.HessianPattern = sparse.FromEntries(p.Dy, p.Dy, places)
		if !reduced.Sparse(p) {
			t.Error("no sparse factors for one follower")
		}
	}
}
