package qp

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// rowsOf builds lower-level rows A x - B y <= b (equality where equal[i]).
func rowsOf(dx, dy int, a, b, rhs []float64, equal ...int) *problem.Rows {
	m := len(rhs)
	r := &problem.Rows{Kind: make([]problem.Kind, m), A: sparse.FromDense(m, dx, a), B: sparse.FromDense(m, dy, b),
		Rhs: rhs, Name: make([]string, m)}
	for _, i := range equal {
		r.Kind[i] = problem.Equal
	}
	return r
}

func freeSet(dx int) *problem.Set {
	s := &problem.Set{Lo: make([]float64, dx), Hi: make([]float64, dx), E: sparse.FromDense(0, dx, nil)}
	for j := range s.Lo {
		s.Lo[j], s.Hi[j] = math.Inf(-1), math.Inf(1)
	}
	return s
}

// Bard's example 1: 3x - y >= 3, x - y/2 <= 4, x + y <= 7, y >= 0 leave x in [1, 5].
func TestProjectOntoD(t *testing.T) {
	rows := rowsOf(1, 1, []float64{-3, 1, 1, 0}, []float64{-1, 0.5, -1, 1}, []float64{-3, 4, 7, 0})
	p := NewProjector(freeSet(1), rows, 1, 1)
	for _, c := range [][2]float64{{-10, 1}, {0.999, 1}, {1, 1}, {3, 3}, {5, 5}, {5.5, 5}, {1e6, 5}} {
		x := []float64{0}
		if err := p.Project(x, []float64{c[0]}); err != nil || math.Abs(x[0]-c[1]) > 1e-14*math.Max(1, math.Abs(c[0])) {
			t.Errorf("projection of %g: %v (%v), want %g", c[0], x, err, c[1])
		}
	}
}

// The projection onto X and D is compared with the nearest point found on
// (x, y) jointly: minimize |x - x0|^2 + w|y - y_k|^2, iterated as a proximal
// point method in y, which converges to the same x and learns nothing of D.
func TestProjectAgreesWithJointProjection(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for trial := 0; trial < 60; trial++ {
		dx, dy := 1+rng.IntN(6), 1+rng.IntN(6)
		m := 2 + rng.IntN(2*dy)
		a, b := normals(rng, m*dx), normals(rng, m*dy)
		x1, y1 := normals(rng, dx), normals(rng, dy)
		equal := rng.IntN(2)
		rhs := make([]float64, m)
		for i := range rhs {
			rhs[i] = linalg.Dot(a[i*dx:(i+1)*dx], x1) - linalg.Dot(b[i*dy:(i+1)*dy], y1)
			if i >= equal {
				rhs[i] += rng.Float64()
			}
		}
		rows := rowsOf(dx, dy, a, b, rhs)
		if equal == 1 {
			rows.Kind[0] = problem.Equal
		}
		set := freeSet(dx)
		for j := range x1 {
			set.Lo[j], set.Hi[j] = x1[j]-rng.Float64(), x1[j]+rng.Float64()
		}
		p := NewProjector(set, rows, dx, dy)
		for range 5 {
			x0 := normals(rng, dx)
			for j := range x0 {
				x0[j] = x1[j] + 3*x0[j]
			}
			got := make([]float64, dx)
			if err := p.Project(got, x0); err != nil {
				t.Fatalf("trial %d: %v", trial, err)
			}
			want := jointProjection(set, rows, x0, dy)
			for j := range got {
				if math.Abs(got[j]-want[j]) > 1e-8 {
					t.Fatalf("trial %d: projection %v, jointly %v", trial, got, want)
				}
			}
		}
	}
}

func jointProjection(set *problem.Set, rows *problem.Rows, x0 []float64, dy int) []float64 {
	const weight = 1e-4
	dx, m := len(x0), rows.Len()
	d, c := make([]float64, dx+dy), make([]float64, dx+dy)
	lo, hi := make([]float64, dx+dy), make([]float64, dx+dy)
	var entries []sparse.Entry
	equal := make([]bool, m)
	for i := 0; i < m; i++ {
		equal[i] = rows.Kind[i] == problem.Equal
		cols, vals := rows.A.Row(i)
		for k, j := range cols {
			entries = append(entries, sparse.Entry{Row: i, Col: j, Val: vals[k]})
		}
		cols, vals = rows.B.Row(i)
		for k, j := range cols {
			entries = append(entries, sparse.Entry{Row: i, Col: dx + j, Val: -vals[k]})
		}
	}
	for j := range d {
		d[j], lo[j], hi[j] = weight, math.Inf(-1), math.Inf(1)
		if j < dx {
			d[j], c[j], lo[j], hi[j] = 1, -x0[j], set.Lo[j], set.Hi[j]
		}
	}
	var z []float64
	for range 2000 {
		s := Solve(&Problem{H: Diagonal(d), C: c, A: sparse.FromEntries(m, dx+dy, entries), Equal: equal, B: rows.Rhs, Lo: lo, Hi: hi}, nil)
		moved := 0.0
		for j := range s.Z {
			if j >= dx {
				c[j] = -weight * s.Z[j]
			}
			if z != nil {
				moved = math.Max(moved, math.Abs(s.Z[j]-z[j]))
			}
		}
		if z != nil && moved < 1e-12 {
			break
		}
		z = s.Z
	}
	return z[:dx]
}

// Balls: against the closed form alone, and against the optimality conditions
// with bounds and a row.
func TestProjectOntoBalls(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	none := rowsOf(3, 1, nil, nil, nil)
	set := freeSet(3)
	set.Balls = []problem.Ball{{Start: 0, End: 3, Radius: 2, Name: "x"}}
	p := NewProjector(set, none, 3, 1)
	x := make([]float64, 3)
	if err := p.Project(x, []float64{3, 0, 4}); err != nil || math.Abs(x[0]-1.2) > 1e-14 || math.Abs(x[2]-1.6) > 1e-14 {
		t.Errorf("projection of (3, 0, 4) onto the ball of radius 2: %v (%v)", x, err)
	}
	for trial := 0; trial < 50; trial++ {
		n := 4 + rng.IntN(5)
		set := freeSet(n)
		set.Balls = []problem.Ball{{Start: 0, End: 2, Radius: 0.5, Center: normals(rng, 2)}, {Start: 2, End: n, Radius: 1}}
		inner := make([]float64, n)
		copy(inner, set.Balls[0].Center)
		e := normals(rng, n)
		set.Kind, set.E, set.Rhs = []problem.Kind{problem.AtMost}, sparse.FromDense(1, n, e), []float64{linalg.Dot(e, inner) + 0.1}
		set.Lo[0] = inner[0] - 0.2
		p := NewProjector(set, rowsOf(n, 1, nil, nil, nil), n, 1)
		far := normals(rng, n)
		for j := range far {
			far[j] *= 4
		}
		got := make([]float64, n)
		if err := p.Project(got, far); err != nil {
			t.Fatal(err)
		}
		// The projection is the point of the set at which far - got makes an
		// obtuse angle with the way to every other point of it.
		for k := range set.Balls {
			if r := set.Balls[k].Distance(got); r > set.Balls[k].Radius*(1+1e-13) {
				t.Fatalf("trial %d: radius %v of %v", trial, r, set.Balls[k].Radius)
			}
		}
		gap := make([]float64, n)
		for j := range gap {
			gap[j] = far[j] - got[j]
		}
		other := make([]float64, n)
		for range 200 {
			if err := p.Project(other, normals(rng, n)); err != nil {
				t.Fatal(err)
			}
			s := 0.0
			for j := range gap {
				s += gap[j] * (other[j] - got[j])
			}
			if s > 1e-11*linalg.Norm(gap) {
				t.Fatalf("trial %d: angle %.2e", trial, s)
			}
		}
	}
}

func TestProjectEmptySets(t *testing.T) {
	// y >= x and y <= x - 1.
	rows := rowsOf(1, 1, []float64{1, -1}, []float64{1, -1}, []float64{0, -1})
	rows.Name = []string{"above", "below"}
	err := NewProjector(freeSet(1), rows, 1, 1).Project([]float64{0}, []float64{0})
	var empty *EmptySetError
	if !errors.As(err, &empty) || !empty.Lower || len(empty.Rows) != 2 {
		t.Errorf("contradicting lower rows: %v", err)
	}
	set := freeSet(2)
	set.Kind, set.E, set.Rhs = make([]problem.Kind, 2), sparse.FromDense(2, 2, []float64{1, 1, -1, -1}), []float64{0, -1}
	set.Name = []string{"low", "high"}
	err = NewProjector(set, rowsOf(2, 1, nil, nil, nil), 2, 1).Project(make([]float64, 2), make([]float64, 2))
	if !errors.As(err, &empty) || empty.Lower || len(empty.Rows) != 2 {
		t.Errorf("contradicting upper rows: %v", err)
	}
	// x <= -1 above, y >= 0 and y <= x below.
	set = freeSet(1)
	set.Hi[0] = -1
	err = NewProjector(set, rowsOf(1, 1, []float64{0, -1}, []float64{1, -1}, []float64{0, 0}), 1, 1).Project([]float64{0}, []float64{0})
	if !errors.As(err, &empty) || !empty.Lower {
		t.Errorf("X outside D: %v", err)
	}
}

func TestRecourse(t *testing.T) {
	for _, c := range []struct {
		name   string
		rows   *problem.Rows
		always bool
	}{
		{"y >= 0, y >= x", rowsOf(1, 1, []float64{0, 1}, []float64{1, 1}, []float64{0, 0}), true},
		{"y >= 0, y <= x", rowsOf(1, 1, []float64{0, -1}, []float64{1, -1}, []float64{0, 0}), false},
		{"y1 + y2 = x", rowsOf(1, 2, []float64{1}, []float64{1, 1}, []float64{0}, 0), true},
		{"y1 + y2 = x twice", rowsOf(1, 2, []float64{1, 1}, []float64{1, 1, 1, 1}, []float64{0, 0}, 0, 1), false},
		{"none", rowsOf(1, 2, nil, nil, nil), true},
	} {
		if got := newRecourse(c.rows, c.rows.B.Cols).Always(); got != c.always {
			t.Errorf("%s: always %v", c.name, got)
		}
	}
}

// Extra cuts bind for one projection and are forgotten.
func TestProjectWithin(t *testing.T) {
	// y >= 0 and y <= x1 leave x1 >= 0.
	p := NewProjector(freeSet(2), rowsOf(2, 1, []float64{0, 0, -1, 0}, []float64{1, -1}, []float64{0, 0}), 2, 1)
	x := make([]float64, 2)
	extra := []Cut{{Normal: []float64{0, 1}, Side: -1}}
	if err := p.ProjectWithin(x, []float64{-3, 2}, extra); err != nil || math.Abs(x[0]) > 1e-14 || math.Abs(x[1]+1) > 1e-14 {
		t.Errorf("within x2 <= -1: %v (%v), want (0, -1)", x, err)
	}
	if err := p.Project(x, []float64{-3, 2}); err != nil || math.Abs(x[0]) > 1e-14 || math.Abs(x[1]-2) > 1e-14 {
		t.Errorf("afterwards: %v (%v), want (0, 2)", x, err)
	}
}

// Projecting a point in place gives what projecting it to another slice gives, on
// balls and where facets of D are learned on the way.
func TestProjectInPlace(t *testing.T) {
	inf := math.Inf(1)
	set := &problem.Set{Lo: []float64{-inf, -inf, -inf}, Hi: []float64{inf, inf, inf},
		Balls: []problem.Ball{{Start: 0, End: 2, Radius: 1, Name: "ball"}}}
	// y <= x_3 - 1 and y >= x_1 + x_2: D is x_1 + x_2 <= x_3 - 1.
	rows := &problem.Rows{Kind: []problem.Kind{problem.AtMost, problem.AtMost},
		A: sparse.FromDense(2, 3, []float64{0, 0, -1, 1, 1, 0}), B: sparse.FromDense(2, 1, []float64{-1, 1}),
		Rhs: []float64{-1, 0}, Name: []string{"above", "below"}}
	for _, x := range [][]float64{{3, 1, 5}, {3, 4, -2}, {0.5, 0.2, 0}} {
		apart, inPlace := make([]float64, 3), append([]float64(nil), x...)
		if err := NewProjector(set, rows, 3, 1).Project(apart, x); err != nil {
			t.Fatal(err)
		}
		if err := NewProjector(set, rows, 3, 1).Project(inPlace, inPlace); err != nil {
			t.Fatal(err)
		}
		for j := range apart {
			if apart[j] != inPlace[j] {
				t.Errorf("%v goes to %v, in place to %v", x, apart, inPlace)
				break
			}
		}
	}
}

// Whether every x has a feasible y takes a quadratic program of all rows: it is looked into when it
// is first asked, ends with the context, and is then found when it is asked again.
func TestRecourseAttends(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 80))
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	asked := 0
	for trial := range 50 {
		n := 2 + rng.IntN(20)
		m := 1 + rng.IntN(n)
		a, b := make([]float64, m*2), make([]float64, m*n)
		for k := range a {
			a[k] = rng.NormFloat64()
		}
		for k := range b {
			b[k] = rng.NormFloat64()
		}
		rows := &problem.Rows{Kind: make([]problem.Kind, m), Rhs: make([]float64, m), A: sparse.FromDense(m, 2, a), B: sparse.FromDense(m, n, b)}
		for i := range rows.Kind {
			rows.Kind[i] = []problem.Kind{problem.AtMost, problem.Equal}[rng.IntN(2)]
		}
		r := newRecourse(rows, n)
		if kept, _ := presolve(r.minusB, r.equal); len(kept) == 0 {
			continue // their signs tell
		}
		asked++
		r.ctx = ended
		if r.Always() {
			t.Errorf("trial %d: found out though the context has ended", trial)
		}
		if ok, err := r.contains([]float64{1e3, -1e3}); ok || err == nil {
			t.Errorf("trial %d: a point is within (%v) though the context has ended: %v", trial, ok, err)
		}
		// Rows that are independent let y satisfy any right-hand side.
		if r.ctx = context.Background(); !r.Always() {
			t.Errorf("trial %d: %d independent rows on %d entries restrict x", trial, m, n)
		}
	}
	if asked < 25 {
		t.Errorf("a program was needed in %d trials of 50", asked)
	}
}

// Far out along a direction in which rows allow it, with two of them between which there is little room and one that bounds x by what y may be, projections meet all rows to the rounding of
// their terms, of 1e8 to 1e11.
func TestProjectionsFarOut(t *testing.T) {
	for seed := range members.Seeds(t, 1000) {
		rng := rand.New(rand.NewPCG(seed, 21))
		n, far := 3, math.Pow(10, 8+3*rng.Float64())
		a, c, x := normals(rng, n), normals(rng, n), make([]float64, n)
		linalg.Axpy(c, -linalg.Dot(a, c)/linalg.Dot(a, a), a)
		for j := range x { // all three are orthogonal
			x[j] = far * (a[(j+1)%3]*c[(j+2)%3] - a[(j+2)%3]*c[(j+1)%3])
		}
		least, off := 2-rng.Float64(), 64*0x1p-53*rng.Float64()*linalg.Norm(a)*linalg.Norm(x) // what the second row asks for, and what x crosses it by, as if by rounding
		linalg.Axpy(x, 4*rng.NormFloat64(), c)
		linalg.Axpy(x, (least-off-linalg.Dot(a, x))/linalg.Dot(a, a), a)
		all := slices.Concat(a, linalg.Plus(make([]float64, n), -3, a), c, make([]float64, n))
		rows := rowsOf(n, 1, all, []float64{0, 0, 1, -1}, []float64{2, -3 * least, 0.5, 1})
		p := NewProjector(freeSet(n), rows, n, 1)
		at := make([]float64, n)
		if err := p.Project(at, x); err != nil {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		for i := range rows.Len() {
			y := 1.0 // all that there may be
			h := rows.A.RowDot(i, at) - rows.B.RowDot(i, []float64{y}) - rows.Rhs[i]
			terms := rows.A.RowTerms(i, at) + rows.B.RowTerms(i, []float64{y}) + math.Abs(rows.Rhs[i])
			if h > 2*float64(n+3)*0x1p-53*terms { // those of the projection's own sum, and of this one
				t.Errorf("seed %d: row %d is crossed by %v, %.0f roundings of its terms, at %v", seed, i, h, h/(0x1p-53*terms), at)
			}
		}
	}
}
