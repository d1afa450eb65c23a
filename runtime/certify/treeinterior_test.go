package certify

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// holds reports whether a point with these x and y, and some multipliers with those of lambda that the leader reads, is within the boxes of the columns: vertices of the set of multipliers are enumerated, each row's being 0, at
// the end of its box, or one of independent rows whose multipliers solve the equations.
func (t *treeModel) holds(x, y, lambda []float64) bool {
	for j, v := range append(append([]float64(nil), x...), y...) {
		if v < t.lo[j] || v > t.hi[j] {
			return false
		}
	}
	force := make([]float64, t.ny)
	t.p.G.GradY(force, x, y)
	active := make([]bool, t.m)
	for i := range active {
		active[i] = t.p.Rows.Kind[i] == problem.Equal || t.p.Rows.Rhs[i]+t.p.Rows.B.RowDot(i, y)-t.p.Rows.A.RowDot(i, x) == 0
	}
	const near = 1e-9
	var try func(i int, left []float64, basic []int) bool
	try = func(i int, left []float64, basic []int) bool {
		if i < t.m {
			end := t.box(t.nx + t.ny + i)
			read := slices.Contains(t.p.Duals, i)
			values := []float64{0, end.lo, end.hi}
			if read {
				values = lambda[i : i+1]
			}
			for _, v := range values {
				if v != 0 && (!active[i] || math.IsInf(v, 0)) || v < end.lo || v > end.hi {
					continue
				}
				rest := append([]float64(nil), left...)
				t.p.Rows.B.AddRow(rest, i, -v)
				if try(i+1, rest, basic) {
					return true
				}
			}
			return active[i] && !read && len(basic) < t.ny && try(i+1, left, append(basic[:len(basic):len(basic)], i))
		}
		k := len(basic)
		rows := make([][]float64, t.ny) // of the equations: coefficients, and the right side
		for j := range rows {
			for _, b := range basic {
				rows[j] = append(rows[j], t.p.Rows.B.At(b, j))
			}
			rows[j] = append(rows[j], left[j])
		}
		for c := range k {
			p := c
			for r := c; r < t.ny; r++ {
				if math.Abs(rows[r][c]) > math.Abs(rows[p][c]) {
					p = r
				}
			}
			if math.Abs(rows[p][c]) < near {
				return false
			}
			rows[c], rows[p] = rows[p], rows[c]
			for r := range rows {
				if f := rows[r][c] / rows[c][c]; r != c {
					for e := c; e <= k; e++ {
						rows[r][e] -= f * rows[c][e]
					}
				}
			}
		}
		for r, row := range rows {
			v := row[k]
			if r >= k {
				if math.Abs(v) > near {
					return false
				}
				continue
			}
			v /= row[r]
			if end := t.box(t.nx + t.ny + basic[r]); v < end.lo-near || v > end.hi+near {
				return false
			}
		}
		return true
	}
	return try(0, force, nil)
}

// Points of systems that are made around them, with followers that are curved, flat and neither, lie within the boxes that any statement of an interior leads to, whether it is inside or not, with some of their multipliers: the leader
// reads a few, which are as they were. Numbers are whole or halves, so that points are exact.
func TestInteriorsHoldPoints(t *testing.T) {
	rng := members.Rand(t, 77)
	bounded, both, reached, narrowed, free, reduced, read, squared := 0, 0, 0.0, 0, 0, 0, 0, 0
	for k := range members.Count(1000) * 800 {
		nx, ny, m := 1+rng.IntN(2), 1+rng.IntN(3), 1+rng.IntN(4)
		pairs := 0 // of rows with opposite coefficients, behind the others: the linear follower's multipliers can be large on both
		if rng.IntN(2) == 0 {
			pairs = ny
			m += 2 * pairs
		}
		number := func() float64 { return float64(rng.IntN(9)-4) / 2 }
		signs := rng.IntN(2) == 0 // of rows: they may be a network
		vector := func(n int) []float64 {
			v := make([]float64, n)
			for j := range v {
				v[j] = number()
			}
			return v
		}
		n := nx + ny
		g := &kkttest.Quadratic{Nx: nx, Ny: ny, M: make([]float64, n*n), C: make([]float64, n)}
		h := func(i, j int) *float64 { return &g.M[(nx+i)*n+nx+j] }
		kind := rng.IntN(4) // linear, semidefinite, definite, not convex
		if pairs > 0 {
			kind = 0
		}
		for r := range kind {
			v, sign := vector(ny), 1.0
			if kind == 3 && r == 0 {
				sign = -1
			}
			for i := range ny {
				for j := range ny {
					*h(i, j) += sign * v[i] * v[j]
				}
				if kind == 2 && r == 0 {
					*h(i, i)++
				}
			}
		}
		for c := range nx {
			for j, v := range vector(ny) {
				g.M[c*n+nx+j], g.M[(nx+j)*n+c] = v, v
			}
		}
		x, y, lambda := vector(nx), vector(ny), make([]float64, m)
		rows := &problem.Rows{}
		a, b := make([]float64, 0, m*nx), make([]float64, 0, m*ny)
		for i := range m {
			ai, bi := vector(nx), vector(ny)
			if signs {
				for j := range bi {
					bi[j] = float64(rng.IntN(3) - 1)
				}
			}
			if rng.IntN(3) == 0 { // a bound of an entry
				clear(ai)
				clear(bi)
				bi[rng.IntN(ny)] = []float64{-1, 1}[rng.IntN(2)]
			}
			if first := m - 2*pairs; i > first && (i-first)%2 == 1 {
				clear(ai)
				for j := range bi {
					bi[j] = -b[len(b)-ny+j]
				}
			}
			slack := 0.0
			rows.Kind = append(rows.Kind, problem.AtMost)
			switch kind := rng.IntN(5); {
			case kind == 0 && i < m-2*pairs:
				rows.Kind[i], lambda[i] = problem.Equal, number()
			case kind < 3:
				lambda[i] = math.Abs(number())
			default:
				slack = math.Abs(number())
			}
			rows.Rhs = append(rows.Rhs, slack-floats.Dot(bi, y)+floats.Dot(ai, x))
			a, b = append(a, ai...), append(b, bi...)
			for j := range ny {
				g.C[nx+j] += bi[j] * lambda[i]
			}
		}
		rows.A, rows.B = sparse.FromDense(m, nx, a), sparse.FromDense(m, ny, b)
		sigma := make([]float64, m) // what x_0 adds to multipliers that are stationary for all x
		for i := range sigma {
			sigma[i] = number() / 2
		}
		if pairs > 0 {
			for j := range ny {
				v := 0.0
				for i := range m {
					v += sigma[i] * rows.B.At(i, j)
				}
				g.M[nx+j], g.M[(nx+j)*n] = v, v
				for c := 1; c < nx; c++ {
					g.M[c*n+nx+j], g.M[(nx+j)*n+c] = 0, 0
				}
			}
		}
		squares := &sparseVector{} // of rows along which g may curve down; some are equations, or their slacks vanish together
		if rng.IntN(2) == 0 {
			for i := range m {
				if rows.Kind[i] == problem.Equal && rng.IntN(3) > 0 || rng.IntN(12) == 0 {
					squares.At, squares.Val = append(squares.At, i), append(squares.Val, []float64{1, 2, 4}[rng.IntN(3)])
					w := float64(rng.IntN(3))
					for a := range ny {
						for c := range ny {
							*h(a, c) -= w * rows.B.At(i, a) * rows.B.At(i, c)
						}
					}
				}
			}
		}
		force := make([]float64, ny) // stationarity: that of the quadratic part at the point, less what the multipliers push
		push := append([]float64(nil), g.C[nx:]...)
		clear(g.C)
		g.GradY(force, x, y)
		for j := range ny {
			g.C[nx+j] = push[j] - force[j]
		}
		set := &problem.Set{Lo: make([]float64, nx), Hi: make([]float64, nx)}
		for c := range nx {
			set.Lo[c], set.Hi[c] = x[c]-float64(rng.IntN(2)), x[c]+float64(rng.IntN(2))
		}
		var duals []int
		for i := range m {
			if rng.IntN(6) == 0 {
				duals = append(duals, i)
			}
		}
		p := &problem.Problem{Dx: nx, Dy: ny, F: affine{make([]float64, nx), make([]float64, ny+len(duals)), 0}, G: g, Rows: rows, X: set, Duals: duals, Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 1}}
		model := newTreeModel(p)
		part, partRows := model.part(rng.IntN(ny))
		statement := func() treeInterior {
			in := treeInterior{Answer: part[0], At: &sparseVector{}, Curvature: &sparseVector{}, Squares: &sparseVector{}}
			for k, i := range squares.At {
				if slices.Contains(partRows, i) {
					in.Squares.At, in.Squares.Val = append(in.Squares.At, i), append(in.Squares.Val, squares.Val[k])
				}
			}
			for _, j := range part {
				in.Curvature.At, in.Curvature.Val = append(in.Curvature.At, j), append(in.Curvature.Val, []float64{0.5, 1, 2}[rng.IntN(3)])
				in.At.At, in.At.Val = append(in.At.At, j), append(in.At.Val, y[j]+number())
			}
			for c := range nx {
				if rng.IntN(3) == 0 {
					v := number() / 2
					in.By = append(in.By, treeSlope{c, &sparseVector{At: part[:1], Val: []float64{v}}})
					in.At.Val[0] -= v * x[c]
				}
			}
			if pairs > 0 {
				in.Multipliers = &sparseVector{}
				of := &sparseVector{}
				more := 0.0
				for i := range m {
					if !slices.Contains(partRows, i) {
						continue
					}
					if first := m - 2*pairs; i >= first && (i-first)%2 == 0 {
						more = float64(rng.IntN(10) - 2)
					}
					v := lambda[i] - sigma[i]*x[0] + more + float64(rng.IntN(2))*0x1p-10
					in.Multipliers.At, in.Multipliers.Val = append(in.Multipliers.At, i), append(in.Multipliers.Val, v)
					of.At, of.Val = append(of.At, i), append(of.Val, sigma[i])
				}
				in.Slopes = []treeSlope{{0, of}}
			}
			return in
		}
		in := statement()
		within := model.of(&treeAdded{interiors: []treeInterior{in}, lift: &treeLift{}})
		in.Squares = nil
		plain := model.of(&treeAdded{interiors: []treeInterior{in}, lift: &treeLift{}})
		describe := func() string {
			return fmt.Sprintf("g %v, rows %v %v %v, x %v, y %v, multipliers %v, read %v, boxes %v %v", g, rows.Kind, a, b, x, y, lambda, duals, within.lo, within.hi)
		}
		if !within.holds(x, y, lambda) {
			t.Fatalf("case %d: no multipliers of the point are within the boxes: %s", k, describe())
		}
		for j, v := range append(append(append([]float64(nil), x...), y...), lambda...) {
			inside := v >= within.lo[j] && v <= within.hi[j]
			if i := j - nx - ny; !inside && (i < 0 || slices.Contains(duals, i)) {
				t.Fatalf("case %d: column %d is %v, outside of [%v, %v]: %s", k, j, v, within.lo[j], within.hi[j], describe())
			}
			switch before := model.hi[j]; {
			case !inside:
				reduced++
			case j < nx+ny:
				if within.hi[j] < plain.hi[j] {
					squared++
				}
				if within.hi[j] < before {
					if narrowed++; pairs > 0 && math.IsInf(before, 1) {
						free++
					}
				}
			case within.hi[j] < before:
				if bounded++; within.hi[j] > 0 {
					reached = math.Max(reached, v/within.hi[j])
				}
				if !math.IsInf(before, 1) {
					both++
				}
				if slices.Contains(duals, j-nx-ny) {
					read++
				}
			}
		}
	}
	if bounded == 0 || both == 0 || narrowed == 0 || reached < 0.5 || reduced == 0 || read == 0 || free == 0 || squared == 0 {
		t.Errorf("%d multipliers bounded (%d of them by other rows, too), %d entries of y (%d by multipliers alone, %d by squares of rows), up to %.2g of the bounds, %d given up for basic ones, %d of those that the leader reads", bounded, both, narrowed, free, squared, reached, reduced, read)
	}
	t.Logf("%d multipliers bounded (%d of them by other rows, too), %d entries of y (%d by multipliers alone, %d by squares of rows), up to %.2g of the bounds, %d given up for basic ones, %d of those that the leader reads", bounded, both, narrowed, free, squared, reached, reduced, read)
}

// Slacks that a map is said to have none of vanish at all points of the constraints, here those of a lattice; the map's own do where it is moved to its edge.
func TestSlacksThatVanish(t *testing.T) {
	rng := members.Rand(t, 79)
	equal, other, moved := 0, 0, 0
	for k := range members.Count(1000) * 100 {
		ny, m := 1+rng.IntN(3), 2+rng.IntN(4)
		p := follower(problem.AtMost, 1, 1)
		y0 := make([]float64, ny)
		for j := range y0 {
			y0[j] = float64(rng.IntN(5) - 2)
		}
		b, rhs, kinds := make([]float64, m*ny), make([]float64, m), make([]problem.Kind, m)
		for i := range m {
			row := b[i*ny : i*ny+ny]
			for j := range row {
				row[j] = float64(rng.IntN(3) - 1)
			}
			if i > 1 && rng.IntN(3) == 0 { // against two others
				for j := range row {
					row[j] = -b[(i-1)*ny+j] - b[(i-2)*ny+j]
				}
			}
			if rhs[i] = -floats.Dot(row, y0); rng.IntN(6) == 0 {
				kinds[i] = problem.Equal
			} else if rng.IntN(5) == 0 {
				rhs[i]++
			}
		}
		p.Dy, p.F, p.G = ny, affine{make([]float64, 1), make([]float64, ny), 0}, &kkttest.Quadratic{Nx: 1, Ny: ny, M: make([]float64, (1+ny)*(1+ny)), C: make([]float64, 1+ny)}
		p.Rows = &problem.Rows{A: sparse.FromDense(m, 1, make([]float64, m)), B: sparse.FromDense(m, ny, b), Rhs: rhs, Kind: kinds}
		p.X = &problem.Set{Lo: []float64{0}, Hi: []float64{1}}
		model := newTreeModel(p)
		y, _ := model.part(0)
		at := &sparseVector{}
		for _, j := range y {
			at.At, at.Val = append(at.At, j), append(at.Val, y0[j]+float64(rng.IntN(3)-1)*0x1p-50)
		}
		in := model.readInterior(&treeInterior{Answer: 0, At: at})
		in.ranges()
		for _, by := range in.moved {
			if by > 0 {
				moved++
				break
			}
		}
		exact := make([]float64, ny) // a point within what is said of the map
		for _, j := range y {
			exact[j] = y0[j]
			if v := in.value[j]; !(v.lo <= y0[j]+0x1p-50 && v.hi >= y0[j]-0x1p-50) {
				t.Fatalf("case %d: entry %d of the map is within [%v, %v], not next to %v", k, j, v.lo, v.hi, y0[j])
			}
		}
		for code := range int(math.Pow(9, float64(ny))) {
			v, feasible, slack := make([]float64, ny), true, make([]float64, m)
			for j := range v {
				v[j] = float64(code%9-4) + exact[j]
				code /= 9
			}
			for i := range m {
				slack[i] = rhs[i] + floats.Dot(b[i*ny:i*ny+ny], v)
				feasible = feasible && slack[i] >= 0 && (kinds[i] != problem.Equal || slack[i] == 0)
			}
			for _, i := range in.rows {
				if feasible && in.vanishes[i] && slack[i] != 0 {
					t.Fatalf("case %d: row %d has the slack %v at %v: rows %v %v %v", k, i, slack[i], v, kinds, b, rhs)
				}
			}
		}
		for _, i := range in.rows {
			if kinds[i] == problem.AtMost && in.vanishes[i] {
				equal++
			} else if kinds[i] == problem.AtMost {
				other++
			}
		}
	}
	if equal == 0 || other == 0 || moved == 0 {
		t.Errorf("%d inequalities that are equations, %d that are not, %d maps moved", equal, other, moved)
	}
	t.Logf("%d inequalities that are equations, %d that are not, %d maps moved", equal, other, moved)
}

// atMeeting is the model, within what is stated of interiors, of a linear follower with rows b y >= 0 or = 0 and y = 0 with the multipliers lambda.
func atMeeting(t *testing.T, b, lambda []float64, kinds []problem.Kind) *treeModel {
	t.Helper()
	m, ny := len(kinds), len(b)/len(kinds)
	p := follower(problem.AtMost, 1, 1)
	g := &kkttest.Quadratic{Nx: 1, Ny: ny, M: make([]float64, (1+ny)*(1+ny)), C: make([]float64, 1+ny)}
	for i := range m {
		for j := range ny {
			g.C[1+j] += lambda[i] * b[i*ny+j]
		}
	}
	p.Dy, p.F, p.G = ny, affine{make([]float64, 1), make([]float64, ny), 0}, g
	p.Rows = &problem.Rows{A: sparse.FromDense(m, 1, make([]float64, m)), B: sparse.FromDense(m, ny, b), Rhs: make([]float64, m), Kind: kinds}
	p.X = &problem.Set{Lo: []float64{0}, Hi: []float64{1}}
	model := newTreeModel(p)
	var all []treeInterior
	for j := range ny {
		all = append(all, treeInterior{Answer: j})
	}
	within := model.of(&treeAdded{interiors: all, lift: &treeLift{}})
	return within
}

// Multipliers of rows of which three meet in an entry of y grow as Fibonacci's numbers, and no network bounds them; also where there are three in each entry.
func TestMultipliersThatGrowAreNoNetwork(t *testing.T) {
	const n = 8
	for _, more := range []int{0, 2} { // rows without a force of their own, whose multipliers are at least 0
		m := n + more
		b, lambda, kinds := make([]float64, m*n), make([]float64, m), make([]problem.Kind, m)
		for i := n - 1; i >= 0; i-- { // entry i: lambda_i - lambda_i+1 - lambda_i+2 = 0, but 1 for the last
			b[i*n+i], kinds[i], lambda[i] = 1, problem.Equal, 1
			for k := i + 1; k < min(i+3, m); k++ {
				b[k*n+i] = -1
			}
			if i < n-2 {
				lambda[i] = lambda[i+1] + lambda[i+2]
			}
		}
		if more > 0 {
			b[(m-1)*n] = -1 // each row is of several entries
		}
		if within := atMeeting(t, b, lambda, kinds); !within.holds([]float64{0}, make([]float64, n), lambda) {
			t.Errorf("%d more rows: multipliers %v, boxes %v %v", more, lambda, within.lo[1+n:], within.hi[1+n:])
		}
	}
}

// Where all constraints of a linear follower meet, some multipliers are within the bounds that basic ones have: rows are networks, or hardly differ from one.
func TestBasicMultipliersHoldPoints(t *testing.T) {
	rng := members.Rand(t, 78)
	several, beyond := 0, 0
	for k := range members.Count(1000) * 1000 {
		ny, m := 2+rng.IntN(3), 2+rng.IntN(4)
		b, lambda, kinds := make([]float64, m*ny), make([]float64, m), make([]problem.Kind, m)
		for j := range ny {
			size, rows := []float64{0.5, 1, 2}[rng.IntN(3)], 1+rng.IntN(2)
			if rng.IntN(8) == 0 {
				rows = 3
			}
			for range rows {
				b[rng.IntN(m)*ny+j] = size * float64(2*rng.IntN(2)-1)
			}
			if rng.IntN(8) == 0 {
				b[rng.IntN(m)*ny+j] *= 2
			}
		}
		for i := range m {
			if lambda[i], kinds[i] = float64(rng.IntN(5)), problem.AtMost; rng.IntN(3) > 0 {
				lambda[i], kinds[i] = lambda[i]-2, problem.Equal
			}
		}
		within := atMeeting(t, b, lambda, kinds)
		p, y := within.p, make([]float64, ny)
		if !within.holds([]float64{0}, y, lambda) {
			t.Fatalf("case %d: no multipliers are within the boxes: rows %v %v, multipliers %v, boxes %v %v", k, kinds, b, lambda, within.lo, within.hi)
		}
		for i := range m {
			if end := within.box(1 + ny + i); end.finite() {
				if cols, _ := p.Rows.B.Row(i); len(cols) > 1 {
					several++
				}
				if lambda[i] < end.lo || lambda[i] > end.hi {
					beyond++
				}
			}
		}
	}
	if several == 0 || beyond == 0 {
		t.Errorf("%d multipliers of rows of several entries have bounds, %d are not within", several, beyond)
	}
	t.Logf("%d multipliers of rows of several entries have bounds, %d are not within", several, beyond)
}

// What cannot be a statement is refused.
func TestInteriorsAreChecked(t *testing.T) {
	p := follower(problem.AtMost, 1, 1)
	for name, in := range map[string]treeInterior{
		"no such entry of y":  {Answer: 1},
		"no number":           {Curvature: &sparseVector{[]int{0}, []float64{math.NaN()}}},
		"another entry of y":  {At: &sparseVector{[]int{1}, []float64{1}}},
		"an infinite number":  {At: &sparseVector{[]int{0}, []float64{math.Inf(1)}}},
		"no such entry of x":  {By: []treeSlope{{Entry: 1}}},
		"an entry of x twice": {By: []treeSlope{{Entry: 0}, {Entry: 0}}},
		"another row":         {Multipliers: &sparseVector{[]int{1}, []float64{1}}},
		"slopes of no entry":  {Slopes: []treeSlope{{Entry: 1}}},
	} {
		model := newTreeModel(p)
		if must.Try(func() { model.of(&treeAdded{interiors: []treeInterior{in}, lift: &treeLift{}}) }) == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
}

// TestMultipliersByInterior: a y(x) inside of y >= 0 and y <= 1 bounds the multiplier of y >= 0 by the box of y, where g is linear, and by the curvature of g and
// y(x) alone, where nothing else bounds y.
func TestMultipliersByInterior(t *testing.T) {
	one := []float64{1}
	for _, c := range []struct {
		name      string
		g         quadratic
		most      float64 // of y
		at        float64 // y(x)
		curvature *sparseVector
		want      float64
	}{
		{"theta = d (1/2 - 0) = 1/2 over a slack of 1/2", quadratic{d: one}, 1, 0.5, nil, 1},
		{"theta = 3^2/4 over a slack of 1, and 3 by the box of y", quadratic{a: one, d: []float64{2}}, math.Inf(1), 1, &sparseVector{At: []int{0}, Val: one}, 2.25},
	} {
		rows := &problem.Rows{Kind: []problem.Kind{problem.AtMost}, A: sparse.FromEntries(1, 1, nil), B: sparse.FromDense(1, 1, one), Rhs: []float64{0}}
		if !math.IsInf(c.most, 1) {
			rows = &problem.Rows{Kind: make([]problem.Kind, 2), A: sparse.FromEntries(2, 1, nil), B: sparse.FromDense(2, 1, []float64{1, -1}), Rhs: []float64{0, c.most}}
		}
		p := follower(problem.AtMost, 1, 1)
		p.G, p.Rows = c.g, rows
		model := newTreeModel(p)
		model.addInterior(&treeAdded{interiors: []treeInterior{{Answer: 0, At: &sparseVector{At: []int{0}, Val: []float64{c.at}}, Curvature: c.curvature}}})
		if most := model.hi[model.nx+model.ny]; !(math.Abs(most-c.want) <= 1e-9) {
			t.Errorf("%s: the multiplier is at most %v, not %v", c.name, most, c.want)
		}
	}
}
