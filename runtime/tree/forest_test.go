package tree

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// joined is a sum of functions, each of some of the entries of x and of the answer.
type joined struct {
	of   []problem.Function
	x, y [][]int
}

func (f *joined) ValueGrad(dx, dy, x, y []float64) (sum float64) {
	clear(dx)
	clear(dy)
	for k, of := range f.of {
		gx, gy := make([]float64, len(f.x[k])), make([]float64, len(f.y[k]))
		sum += of.ValueGrad(gx, gy, taken(x, f.x[k]), taken(y, f.y[k]))
		for i, j := range f.x[k] {
			dx[j] += gx[i]
		}
		for i, j := range f.y[k] {
			dy[j] += gy[i]
		}
	}
	return sum
}

func taken(v []float64, at []int) []float64 {
	out := make([]float64, len(at))
	for k, j := range at {
		out[k] = v[j]
	}
	return out
}

func (f *joined) Value(x, y []float64) float64 {
	return f.ValueGrad(make([]float64, len(x)), make([]float64, len(y)), x, y)
}
func (f *joined) GradX(dst, x, y []float64) { f.ValueGrad(dst, make([]float64, len(y)), x, y) }
func (f *joined) GradY(dst, x, y []float64) { f.ValueGrad(make([]float64, len(x)), dst, x, y) }
func (f *joined) ValueGradY(dst, x, y []float64) float64 {
	return f.ValueGrad(make([]float64, len(x)), dst, x, y)
}
func (f *joined) Clone() problem.Function { return f }

// join makes one problem of several, their entries of x and y, rows and constraints in a random order.
func join(rng *rand.Rand, parts []*problem.Problem) *problem.Problem {
	var n, ny, m, coupled int
	for _, p := range parts {
		n, ny, m = n+p.Dx, ny+p.Dy, m+p.Rows.Len()
	}
	px, py, pm := rng.Perm(n), rng.Perm(ny), rng.Perm(m)
	out := &problem.Problem{Name: "joined", Dx: n, Dy: ny, Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 2, AffineCoupled: true}, Integer: make([]bool, n)}
	rows := &problem.Rows{Kind: make([]problem.Kind, m), Rhs: make([]float64, m)}
	set := &problem.Set{Lo: make([]float64, n), Hi: make([]float64, n), E: sparse.Empty(n)}
	f, g := &joined{}, &joined{}
	var a, b, e []sparse.Entry
	var duals [][]int
	for _, p := range parts {
		x, y := px[:p.Dx], py[:p.Dy]
		px, py = px[p.Dx:], py[p.Dy:]
		place := pm[:p.Rows.Len()]
		pm = pm[p.Rows.Len():]
		f.of, g.of = append(f.of, p.F), append(g.of, p.G)
		f.x, g.x, g.y = append(f.x, x), append(g.x, x), append(g.y, y)
		for i, r := range place {
			rows.Kind[r], rows.Rhs[r] = p.Rows.Kind[i], p.Rows.Rhs[i]
			cols, vals := p.Rows.A.Row(i)
			for t, j := range cols {
				a = append(a, sparse.Entry{Row: r, Col: x[j], Val: vals[t]})
			}
			cols, vals = p.Rows.B.Row(i)
			for t, j := range cols {
				b = append(b, sparse.Entry{Row: r, Col: y[j], Val: vals[t]})
			}
		}
		for i, j := range x {
			set.Lo[j], set.Hi[j] = p.X.Lo[i], p.X.Hi[i]
			out.Integer[j] = p.Integer != nil && p.Integer[i]
		}
		for i := range p.X.Kind {
			cols, vals := p.X.E.Row(i)
			for t, j := range cols {
				e = append(e, sparse.Entry{Row: len(set.Kind), Col: x[j], Val: vals[t]})
			}
			set.Kind, set.Rhs = append(set.Kind, p.X.Kind[i]), append(set.Rhs, p.X.Rhs[i])
		}
		var mine []int
		for _, i := range p.Duals {
			mine = append(mine, len(out.Duals))
			out.Duals = append(out.Duals, place[i])
		}
		duals = append(duals, mine)
	}
	rows.A, rows.B, set.E = sparse.FromEntries(m, n, a), sparse.FromEntries(m, ny, b), sparse.FromEntries(len(set.Kind), n, e)
	for k, p := range parts {
		answer := append([]int(nil), g.y[k]...)
		for _, d := range duals[k] {
			answer = append(answer, ny+d)
		}
		if p.Coupled != nil {
			if out.Coupled == nil {
				out.Coupled = &problem.Coupled{}
			}
			answer = append(answer, ny+len(out.Duals)+coupled)
			out.Coupled.Kind, out.Coupled.Name = append(out.Coupled.Kind, p.Coupled.Kind...), append(out.Coupled.Name, p.Coupled.Name...)
			out.Coupled.Weight = append(out.Coupled.Weight, p.Coupled.Weight...)
			coupled++
		}
		f.y = append(f.y, answer)
	}
	out.F, out.G, out.Rows, out.X = f, g, rows, set
	return out
}

// apart is a problem whose leader and follower have nothing to do with each other: x is whole, or has a square in f, or neither.
func apart(rng *rand.Rand) *problem.Problem {
	f, g := newQuadratic(1, 2), newQuadratic(1, 2)
	for i := range f.l {
		f.l[i], g.l[i] = float64(rng.IntN(9)-4), float64(rng.IntN(9)-4)
	}
	f.set(0, 0, float64(rng.IntN(3)))
	g.set(1, 1, float64(1+rng.IntN(2)))
	g.set(1, 2, -1)
	g.set(2, 2, 2)
	rows := &problem.Rows{Kind: make([]problem.Kind, 3), Rhs: []float64{0, 0, 5}, A: sparse.FromEntries(3, 1, nil),
		B: sparse.FromEntries(3, 2, []sparse.Entry{{Row: 0, Col: 0, Val: 1}, {Row: 1, Col: 1, Val: 1}, {Row: 2, Col: 0, Val: -1}, {Row: 2, Col: 1, Val: -1}})}
	return &problem.Problem{Name: "apart", Dx: 1, Dy: 2, F: f, G: g, Rows: rows, X: &problem.Set{Lo: []float64{-1}, Hi: []float64{2}}, Integer: []bool{rng.IntN(2) == 0},
		Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 2}}
}

// sums is a joined problem, with the least value by enumeration: of each part alone.
func sums(t *testing.T, rng *rand.Rand, parts int) (*problem.Problem, float64) {
	t.Helper()
	var all []*problem.Problem
	want := 0.0
	for range parts {
		is := randomFeatures(rng)
		if rng.IntN(4) > 0 { // few of many parts are without a point, or an end
			is.coupled, is.wide, is.upperRow = false, false, false
		}
		p := random(rng, is)
		if rng.IntN(4) == 0 {
			p = apart(rng)
		}
		all = append(all, p)
		sys, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		if v := enumerate(t, sys); math.IsInf(want, 1) || math.IsInf(v, 1) {
			want = math.Inf(1)
		} else {
			want += v
		}
	}
	return join(rng, all), want
}

// What a search by parts says is what all branches of each part say, with a proof that certify reads.
func TestPartsAddUp(t *testing.T) {
	partsAddUp(t, members.Rand(t, 9))
	partsAddUp(t, rand.New(rand.NewPCG(498002759, 9))) // where rounding has an interior map inside of a row that it touches
}

func partsAddUp(t *testing.T, rng *rand.Rand) {
	count, parts := map[Outcome]int{}, 0
	for k := range 150 {
		p, want := sums(t, rng, 2+rng.IntN(3))
		sys, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Solve(context.Background(), sys, Options{})
		if err != nil {
			t.Fatal(err)
		}
		count[r.Outcome]++
		if r.Outcome == NoBound {
			continue
		}
		parts += len(r.State.Parts)
		size := 1 + math.Abs(want)
		switch r.Outcome {
		case Infeasible:
			if !math.IsInf(want, 1) {
				t.Fatalf("case %d: infeasible, and the least value is %g", k, want)
			}
		case Unbounded:
			if !math.IsInf(want, -1) {
				t.Fatalf("case %d: unbounded, and the least value is %g", k, want)
			}
		default:
			if r.Outcome != Proved && !(r.Outcome == LimitReached && r.open > tolerance.Target*math.Abs(want)) {
				t.Fatalf("case %d: %v: %s; %g in [%g, %g]", k, r.Outcome, r.Why, want, r.Bound, r.Best.F)
			}
			if math.Abs(r.Best.F-want) > 1e-5*size || r.Bound > want+1e-8*size {
				t.Fatalf("case %d: %g with the bound %g, and the least value is %.12g", k, r.Best.F, r.Bound, want)
			}
		}
		if r.Best != nil {
			feasible(t, sys, r.Best)
		}
		if r.Outcome == Unbounded {
			continue
		}
		text := proofOf(t, sys, r)
		report, err := certify.VerifyTree(p, bytes.NewReader(text), "")
		if err != nil {
			t.Fatalf("case %d: %v", k, err)
		}
		if report.Bound < r.Claim()-1e-12*size || report.Bound > want+1e-8*size {
			t.Errorf("case %d: claimed %.17g, proved %.17g, and the least value is %.17g", k, r.Claim(), report.Bound, want)
		}
		if r.Best != nil && math.Abs(report.Terms(sys.X(r.Best.Z), sys.Y(r.Best.Z), sys.Lambda(r.Best.Z))) < math.Abs(r.Best.F)*(1-1e-12) {
			t.Errorf("case %d: the terms of f are less than it", k)
		}
		for range 20 {
			forged, how, never := forgePart(rng, text)
			if forged == nil {
				forged, how, never = forge(rng, text)
			}
			report, err := certify.VerifyTree(p, bytes.NewReader(forged), "")
			if err == nil && (never && !math.IsInf(want, 1) || report.Bound > want+1e-8*size) { // that nothing is feasible shows without what a part is
				t.Fatalf("case %d: %s: proved %.17g, and the least value is %.17g:\n%s", k, how, report.Bound, want, forged)
			}
		}
	}
	if count[Proved] < 75 || count[Infeasible] == 0 || parts < 400 { // some 125, 15, and 500
		t.Errorf("%v, %d parts of 150 problems: too few to tell", count, parts)
	}
	t.Log(count, parts)
}

// forgePart changes what a proof says of parts in one of several ways; nil where it has none.
func forgePart(rng *rand.Rand, text []byte) (forged []byte, how string, never bool) {
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	var starts []int
	for i, line := range lines {
		if bytes.HasPrefix(line, []byte(`{"part"`)) {
			starts = append(starts, i)
		}
	}
	if len(starts) < 2 || rng.IntN(2) == 0 {
		return nil, "", false
	}
	k := rng.IntN(len(starts))
	end := len(lines)
	if k+1 < len(starts) {
		end = starts[k+1]
	}
	out := append([][]byte(nil), lines[:starts[k]]...)
	join := func() []byte { return append(bytes.Join(out, []byte("\n")), '\n') }
	read := func(i int) (columns []int) {
		var line struct{ Part struct{ Columns []int } }
		if err := json.Unmarshal(lines[i], &line); err != nil {
			panic(err)
		}
		return line.Part.Columns
	}
	write := func(columns []int) []byte {
		line, _ := json.Marshal(map[string]any{"part": map[string]any{"columns": columns}})
		return line
	}
	switch rng.IntN(5) {
	case 0:
		out = append(out, lines[end:]...)
		return join(), "a part dropped", true
	case 1:
		out = append(append(append(out, lines[starts[k]:end]...), lines[starts[k]:end]...), lines[end:]...)
		return join(), "a part twice", true
	case 2:
		columns := read(starts[k])
		at := rng.IntN(len(columns))
		out = append(append(out, write(append(columns[:at:at], columns[at+1:]...))), lines[starts[k]+1:]...)
		return join(), "a column dropped", true
	case 3: // of another part: its products, or its linear term
		other := starts[(k+1)%len(starts)]
		mine, its := read(starts[k]), read(other)
		out = append([][]byte(nil), lines...)
		at := rng.IntN(len(its))
		out[starts[k]] = write(append(mine, its[at]))
		out[other] = write(append(its[:at:at], its[at+1:]...))
		return join(), "a column of another part", false
	default:
		out = append(out, lines[starts[k]+1:]...)
		return join(), fmt.Sprintf("the line of part %d dropped", k), true
	}
}

// f = 2 x^2 - 3 x y + 2 y^2 - x - y, with y = x for the follower, is x^2 - 2 x: -1 at least. Without the product it is two squares, of -1/4 together.
func TestPartsHaveNoProductInCommon(t *testing.T) {
	f, g := newQuadratic(1, 1), newQuadratic(1, 1)
	f.set(0, 0, 4)
	f.set(1, 1, 4)
	f.l[0], f.l[1] = -1, -1
	g.set(1, 1, 1)
	g.set(0, 1, -1)
	p := &problem.Problem{Name: "product", Dx: 1, Dy: 1, F: f, G: g, Rows: &problem.Rows{A: sparse.Empty(1), B: sparse.Empty(1)},
		X: &problem.Set{Lo: []float64{0}, Hi: []float64{3}}, Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 2}}
	const text = `{"tree":1}
{"part":{"columns":[0]}}
{"bound":{"z":{"at":[0],"val":[0.25]}}}
{"part":{"columns":[1]}}
{"bound":{"z":{"at":[1],"val":[0.25]}}}
`
	if report, err := certify.VerifyTree(p, strings.NewReader(text), ""); err != nil || math.Abs(report.Bound+0.25) > 1e-12 {
		t.Errorf("two squares: %v, %v", report, err)
	}
	f.set(0, 1, -3)
	if report, err := certify.VerifyTree(p, strings.NewReader(text), ""); err == nil {
		t.Errorf("proved %g, and F is -1 at x = 1", report.Bound)
	}
}

// What links two problems makes one part of theirs: a product of f, a row of X, a constraint of the leader, a row or a product of the follower.
func TestWhatLinksPartsIsSearchedTogether(t *testing.T) {
	rng := members.Rand(t, 10)
	for k := range 60 {
		p := join(rng, []*problem.Problem{apart(rng), apart(rng)})
		f, g := p.F.(*joined), p.G.(*joined)
		link := newQuadratic(2, 0)
		switch k % 5 {
		case 0: // (x_1 + x_2)^2
			link.set(0, 0, 2)
			link.set(1, 1, 2)
			link.set(0, 1, 2)
			f.of, f.x, f.y = append(f.of, link), append(f.x, []int{0, 1}), append(f.y, nil)
		case 1:
			p.X.E, p.X.Kind, p.X.Rhs = sparse.FromEntries(1, 2, []sparse.Entry{{Col: 0, Val: 1}, {Col: 1, Val: 1}}), []problem.Kind{problem.AtMost}, []float64{1}
		case 2: // y_1 + y_2' <= 3
			link = newQuadratic(0, 3)
			link.set(0, 2, 1)
			link.set(1, 2, 1)
			link.l[2] = -3
			p.Coupled = &problem.Coupled{Kind: []problem.Kind{problem.AtMost}, Name: []string{"c"}, Weight: []float64{1}}
			f.of, f.x, f.y = append(f.of, link), append(f.x, nil), append(f.y, []int{g.y[0][0], g.y[1][1], 4})
		case 3: // y_1 + y_1' <= 2
			p.Rows.Kind, p.Rows.Rhs = append(p.Rows.Kind, problem.AtMost), append(p.Rows.Rhs, 2)
			p.Rows.A.EndRow()
			for _, j := range []int{min(g.y[0][0], g.y[1][0]), max(g.y[0][0], g.y[1][0])} {
				p.Rows.B.Append(j, -1)
			}
			p.Rows.B.EndRow()
		default: // x_1 y_1'
			link = newQuadratic(1, 1)
			link.set(0, 1, 1)
			g.of, g.x, g.y = append(g.of, link), append(g.x, g.x[0]), append(g.y, g.y[1][:1])
		}
		sys, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Solve(context.Background(), sys, Options{})
		if err != nil {
			t.Fatal(err)
		}
		// Entries of x on which nothing is branched are one part, where f has no squares of them.
		if n := len(r.State.Parts); n > 3 {
			t.Errorf("case %d: %d parts, not 3", k, n)
		}
		least := enumerate(t, sys)
		if math.IsInf(least, 1) && r.Outcome == Infeasible {
			continue
		}
		if r.Outcome != Proved || math.Abs(r.Best.F-least) > 1e-6*(1+math.Abs(least)) {
			t.Fatalf("case %d: %v, %v, and the least value is %g", k, r.Outcome, r.Best, least)
		}
		report, err := certify.VerifyTree(p, bytes.NewReader(proofOf(t, sys, r)), "")
		if err != nil || report.Bound > least+1e-8*(1+math.Abs(least)) {
			t.Errorf("case %d: %v: %v, and the least value is %g", k, err, report, least)
		}
	}
}

// A search that would end soon goes on beyond its budget to its end, and one that is far from it does not: by the work that whole searches take.
func TestMoreIsForWhatEndsSoon(t *testing.T) {
	t.Parallel()
	ended, left, all := 0, 0, 0
	for seed := range uint64(40) {
		p := larger(rand.New(rand.NewPCG(seed, 71)), 6, 8, 8)
		p.Integer = slices.Repeat([]bool{true, false}, 3)
		sys, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		solve := func(work, more int64) *Result {
			r, err := Solve(t.Context(), sys, Options{Work: work, More: more})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		whole := solve(0, 0)
		if whole.Nodes < 60 {
			continue
		}
		all++
		soon := solve(whole.Work*3/5, whole.Work)
		if soon.Proved {
			ended++
		}
		far, more := solve(whole.Work/6, 0), solve(whole.Work/6, whole.Work/3)
		if more.Work == far.Work {
			left++
		}
	}
	if all < 3 || 2*ended < all || 2*left < all {
		t.Errorf("of %d searches %d went on to their end, %d were left", all, ended, left)
	}
}
