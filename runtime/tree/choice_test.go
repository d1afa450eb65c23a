package tree

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// game is a random program in which followers choose one of several options each, by costs that read x, and f has products of x and what they choose. Beside them there may be a follower who does not
// choose, whole numbers, a mixed strategy, costs of x that curve up or down, prices in f, and a constraint of the leader on the other follower.
func game(rng *rand.Rand, nx int, options []int, other bool) *problem.Problem {
	whole := func(k int) float64 { return float64(rng.IntN(2*k+1) - k) }
	ny := 0
	for _, n := range options {
		ny += n
	}
	if other {
		ny += 2
	}
	p := &problem.Problem{Name: "game", Dx: nx, Dy: ny, Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 2, AffineCoupled: true}}
	rows := &problem.Rows{A: sparse.Empty(nx), B: sparse.Empty(ny)}
	end := func(kind problem.Kind, rhs float64) {
		rows.A.EndRow()
		rows.B.EndRow()
		rows.Kind, rows.Rhs = append(rows.Kind, kind), append(rows.Rhs, rhs)
	}
	for j := range ny {
		rows.B.Append(j, [3]float64{1, 1, 3}[rng.IntN(3)])
		end(problem.AtMost, 0)
	}
	at := 0
	for _, n := range options {
		if rng.IntN(3) == 0 {
			p.Duals = append(p.Duals, rows.Len())
		}
		coef := [4]float64{1, 1, -2, 0.7}[rng.IntN(4)]
		for range n {
			rows.B.Append(at, coef)
			at++
		}
		end(problem.Equal, -coef*[4]float64{1, 1, 2, 0.3}[rng.IntN(4)])
	}
	if other {
		for range 2 {
			rows.A.Append(rng.IntN(nx), whole(2))
			rows.B.Append(at, -1-float64(rng.IntN(2)))
			rows.B.Append(at+1, -1-float64(rng.IntN(2)))
			end(problem.AtMost, 4)
		}
		if rng.IntN(3) == 0 {
			p.Coupled = &problem.Coupled{Kind: []problem.Kind{problem.AtMost}, Name: []string{"c"}, Weight: []float64{1}}
		}
	}
	p.Rows = rows
	f, g := newQuadratic(nx, p.AnswerLen()), newQuadratic(nx, ny)
	f.k = whole(3)
	for i := range nx + ny {
		f.l[i], g.l[i] = whole(5), whole(5)
	}
	for c := range nx {
		for j := range ny {
			if g.set(c, nx+j, whole(3)); j < at && rng.IntN(3) > 0 {
				f.set(c, nx+j, whole(4))
			}
		}
	}
	if bend := rng.IntN(3); bend > 0 {
		for c := range nx {
			f.set(c, c, float64(rng.IntN(3)*(3-2*bend))) // up or down
		}
	}
	for k := range p.Duals {
		f.l[nx+ny+k] = float64(rng.IntN(3) - 1)
	}
	if other {
		for j := at; j < ny; j++ {
			g.set(nx+j, nx+j, float64(rng.IntN(2)))
		}
	}
	if p.Coupled != nil {
		w := nx + p.AnswerLen() - 1
		f.l[w] = -float64(1 + rng.IntN(4))
		f.set(w, rng.IntN(nx), whole(2))
		f.set(w, nx+at, whole(2))
	}
	p.F, p.G = f, g
	x := &problem.Set{Lo: make([]float64, nx), Hi: make([]float64, nx), E: sparse.Empty(nx)}
	mixed := rng.IntN(3) == 0
	for c := range nx {
		x.Lo[c], x.Hi[c] = float64(-rng.IntN(3)), float64(1+rng.IntN(3))
		if mixed {
			x.Lo[c], x.Hi[c] = 0, math.Inf(1)
		}
		x.E.Append(c, 1)
	}
	x.E.EndRow()
	if mixed {
		x.Kind, x.Rhs = []problem.Kind{problem.Equal}, []float64{1.5}
	} else {
		x.Kind, x.Rhs = []problem.Kind{problem.AtMost}, []float64{1}
		if rng.IntN(3) == 0 {
			p.Integer = make([]bool, nx)
			p.Integer[rng.IntN(nx)] = true
		}
	}
	p.X = x
	return p
}

// byOptions is the least f over the options that followers take, by the programs that this leaves of those of p: on each, options are numbers. Pairs of others are enumerated. ok is false where one is
// not convex.
func byOptions(t *testing.T, sys *kkt.System) (best float64, ok bool) {
	t.Helper()
	var groups [][]int // pairs of options, by their equation
	grouped := make([]bool, len(sys.Pairs))
	for i, kind := range sys.P.Rows.Kind {
		if kind != problem.Equal {
			continue
		}
		var group []int
		cols, _ := sys.P.Rows.B.Row(i)
		for _, j := range cols {
			for k, pair := range sys.Pairs {
				if pair.Slack.Var == sys.Nx+j {
					group, grouped[k] = append(group, k), true
				}
			}
		}
		groups = append(groups, group)
	}
	best, ok = math.Inf(1), true
	fix := make([]kkt.Fix, len(sys.Pairs))
	var bounds activeset.Bounds
	hess, lin := sys.ScaledObjective(&sys.Objective.Quadratic)
	if hess == nil {
		hess = sparse.FromEntries(sys.N, sys.N, nil)
	}
	solve := func() {
		sys.Bounds(&bounds, fix)
		// Options as numbers.
		y := make([]float64, sys.N)
		for i, kind := range sys.P.Rows.Kind {
			if kind != problem.Equal {
				continue
			}
			cols, vals := sys.P.Rows.B.Row(i)
			for e, j := range cols {
				if col := sys.Nx + j; bounds.Hi[col] > 0 {
					y[col] = -sys.P.Rows.Rhs[i] / vals[e] / sys.ColScale[col]
				}
			}
		}
		prog := *sys.Relaxation
		prog.C = append([]float64(nil), lin...)
		entries := []sparse.Entry{}
		for i := range sys.N {
			cols, vals := hess.Row(i)
			for e, j := range cols {
				switch {
				case anOption(sys, grouped, i):
				case anOption(sys, grouped, j):
					prog.C[i] += vals[e] * y[j]
				default:
					entries = append(entries, sparse.Entry{Row: i, Col: j, Val: vals[e]})
				}
			}
		}
		if prog.Q = sparse.FromEntries(sys.N, sys.N, entries); !kkt.Semidefinite(prog.Q) {
			ok = false
			return
		}
		solver, err := activeset.New(&prog)
		if err != nil {
			t.Fatal(err)
		}
		var whole func(j int)
		whole = func(j int) {
			if j < sys.Nx {
				if sys.P.Integer == nil || !sys.P.Integer[j] {
					whole(j + 1)
					return
				}
				lo, hi := bounds.Lo[j], bounds.Hi[j]
				for v := math.Ceil(lo * sys.ColScale[j]); v <= hi*sys.ColScale[j]; v++ {
					bounds.Lo[j], bounds.Hi[j] = v/sys.ColScale[j], v/sys.ColScale[j]
					whole(j + 1)
				}
				bounds.Lo[j], bounds.Hi[j] = lo, hi
				return
			}
			sol := solver.Solve(context.Background(), &bounds, nil, activeset.Options{})
			switch sol.Status {
			case activeset.Optimal:
				confirm(t, &prog, &bounds, sol)
				best = min(best, sol.Value+sys.Objective.Const)
			case activeset.Infeasible:
				refute(t, &prog, &bounds, sol)
			case activeset.Unbounded:
				best = math.Inf(-1)
			default:
				t.Fatalf("a branch is %v", sol.Status)
			}
		}
		whole(0)
	}
	var choose func(n int)
	choose = func(n int) {
		if n < len(groups) {
			for _, k := range groups[n] {
				for _, o := range groups[n] {
					fix[o] = kkt.SlackZero
				}
				fix[k] = kkt.MultZero
				choose(n + 1)
			}
			return
		}
		var rest []int
		for k := range fix {
			if !grouped[k] {
				rest = append(rest, k)
			}
		}
		for code := range 1 << len(rest) {
			for b, k := range rest {
				fix[k] = kkt.SlackZero + kkt.Fix(code>>b&1)
			}
			if solve(); !ok {
				return
			}
		}
	}
	choose(0)
	return best, ok
}

// rowsHold checks the rows of a relaxation at a point of the system, with its products: none is cut off.
func rowsHold(t *testing.T, s *search, z []float64) {
	t.Helper()
	if s.lift == nil {
		return
	}
	scaled := s.sys.Scaled(z)
	for k := range s.lift.cols {
		of := &s.lift.cols[k]
		scaled = append(scaled, z[of.Entry]*of.t(s, scaled)/of.scale)
	}
	for k := range s.lift.slopes {
		of, t := &s.lift.slopes[k], 0.0
		for _, e := range of.coef {
			t += e.val * z[e.col]
		}
		scaled = append(scaled, t/of.scale, t/of.scale*scaled[of.Entry])
	}
	var b activeset.Bounds
	s.sys.Bounds(&b, nil)
	if s.concave != nil {
		b.RowLo, b.RowHi = append(b.RowLo, s.concave.Lo...), append(b.RowHi, s.concave.Hi...)
	}
	s.lift.bounds(s, &b)
	for i := s.prog.A.Rows; i < len(b.RowLo); i++ {
		if v := s.lift.program.A.RowDot(i, scaled); v < b.RowLo[i]-1e-7*(1+math.Abs(v)) || v > b.RowHi[i]+1e-7*(1+math.Abs(v)) {
			t.Fatalf("row %d is %g, outside of [%g, %g]", i, v, b.RowLo[i], b.RowHi[i])
		}
	}
}

// anOption reports that a column is that of an option.
func anOption(sys *kkt.System, grouped []bool, col int) bool {
	for k, is := range grouped {
		if is && sys.Pairs[k].Slack.Var == col {
			return true
		}
	}
	return false
}

var forgeries = regexp.MustCompile(`-?\d+\.?\d*(e[+-]?\d+)?`)

// forgeChoice changes a number somewhere in a proof, or the words of a branch.
func forgeChoice(rng *rand.Rand, text []byte) []byte {
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	at := 1 + rng.IntN(len(lines)-1)
	switch rng.IntN(4) {
	case 0:
		for i, line := range lines {
			if bytes.Contains(line, []byte(`"option"`)) && rng.IntN(2) == 0 {
				lines[i] = bytes.Replace(line, []byte("option"), []byte("pair"), 1)
				break
			}
		}
	case 1:
		for i, line := range lines {
			if bytes.Contains(line, []byte(`"pair"`)) && rng.IntN(2) == 0 {
				lines[i] = bytes.Replace(line, []byte("pair"), []byte("option"), 1)
				break
			}
		}
	default:
		lines[at] = forgeNumber(rng, lines[at])
	}
	return append(bytes.Join(lines, []byte("\n")), '\n')
}

// forgeNumber changes a number of a line.
func forgeNumber(rng *rand.Rand, line []byte) []byte {
	places := forgeries.FindAllIndex(line, -1)
	if len(places) == 0 {
		return line
	}
	place, with := places[rng.IntN(len(places))], fmt.Sprintf("%g", 2*rng.NormFloat64())
	if rng.IntN(2) == 0 {
		with = fmt.Sprint(rng.IntN(8))
	}
	return append(append(append([]byte(nil), line[:place[0]]...), with...), line[place[1]:]...)
}

// Where followers choose, the optimum is that of all options, or of all faces of all branches, and its proof shows it; none that is forged shows more.
func TestChoicesAreProved(t *testing.T) {
	rng := members.Rand(t, 20)
	proved, chosen, hulls, split, short, count, forged := 0, 0, 0, 0, 0, map[string]int{}, map[string]int{}
	for k := range 60 {
		small := k%2 == 0
		nx, options := 2+rng.IntN(3), []int{2 + rng.IntN(3), 2 + rng.IntN(2), 2}[:1+rng.IntN(3)]
		if small {
			nx, options = 2, []int{2, 2}[:1+rng.IntN(2)]
		}
		p := game(rng, nx, options, !small && rng.IntN(2) == 0)
		sys, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		s, _, err := newSearch(context.Background(), kkt.Part{System: sys}, units(sys), Options{Gap: tolerance.Target}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var from *State
		if k%4 > 1 && len(sys.Parts()) == 1 { // one that begins without hulls
			s.hulls = false
			s.lift = s.newLift()
			from = &State{Gap: tolerance.Target, Parts: []partState{s.state()}}
		}
		r, err := Solve(context.Background(), sys, Options{Nodes: 20000, Resume: from})
		if err != nil {
			t.Fatal(err)
		}
		want, ok := byOptions(t, sys)
		by := "options"
		if small && p.Integer == nil && !sys.Objective.Convex {
			if every, all := faces(t, sys); all {
				if ok && math.Abs(every-want) > 1e-8*(1+math.Abs(want)) {
					t.Fatalf("case %d: the least is %.12g over options, %.12g over faces", k, want, every)
				}
				want, ok, by = every, true, "faces"
			}
		}
		if !ok {
			continue
		}
		count[by]++
		if s.choices != nil {
			if chosen++; s.concave != nil {
				split++
			}
			if s.hulls {
				hulls++
			}
		}
		switch {
		case math.IsInf(want, 1):
			if r.Outcome != Infeasible {
				t.Errorf("case %d: %v, and nothing is feasible", k, r.Outcome)
			}
		case math.IsInf(want, -1):
			if r.Outcome == Proved || r.Outcome == Infeasible {
				t.Errorf("case %d: %v, and f has no end", k, r.Outcome)
			}
		case r.Outcome == LimitReached && r.Best != nil && r.Bound <= want && math.Abs(r.Best.F-want) < 1e-6: // beside rounding of its terms, F is small
			short++
		case r.Outcome != Proved || math.Abs(r.Best.F-want) > 2e-6*(1+math.Abs(want)) || r.Bound > want+1e-8*(1+math.Abs(want)):
			t.Errorf("case %d: %v, %s, %v, bound %.12g, and the least by %s is %.12g", k, r.Outcome, r.Why, r.Best, r.Bound, by, want)
		}
		if r.Outcome != Proved && r.Outcome != Infeasible {
			continue
		}
		proved++
		if r.Outcome == Proved {
			feasible(t, sys, r.Best)
			for range 2 {
				rowsHold(t, s, r.Best.Z)
				s.hulls = !s.hulls
				s.lift = s.newLift()
			}
		}
		text := proofOf(t, sys, r)
		report, err := certify.VerifyTree(p, bytes.NewReader(text), "")
		if s.concave != nil && (err != nil || report.Bound < r.Claim() && report.Bound > r.Claim()-1e-6*(1+math.Abs(want))) { // as with other squares, rounding may leave the weights of a leaf short: the one who asked for the proof is told
			t.Logf("case %d: %v", k, err)
			short++
			continue
		}
		if err != nil || report.Bound < r.Claim() || report.Bound > want+1e-8*(1+math.Abs(want)) {
			t.Errorf("case %d: %v, %+v, claimed %.12g, least %.12g", k, err, report, r.Claim(), want)
			continue
		}
		for range 15 {
			other := forgeChoice(rng, text)
			report, err := certify.VerifyTree(p, bytes.NewReader(other), "")
			switch {
			case err != nil:
				forged["refused"]++
			case report.Bound > want+1e-8*(1+math.Abs(want)):
				t.Fatalf("proved %.17g, least value %.17g:\n%s\nfrom\n%s", report.Bound, want, other, text)
			case report.Bound < r.Claim():
				forged["shows less"]++
			default:
				forged["shows as much"]++
			}
		}
	}
	t.Logf("%d proved, %d with choices, %d of them with hulls, %d with squares beside, truth by %v, forged %v", proved, chosen, hulls, split, count, forged)
	if proved < 20 || chosen < 20 || hulls < 5 || hulls > chosen-5 || split == 0 || short > split/4 || count["faces"] == 0 || forged["refused"] == 0 {
		t.Error("too few to tell")
	}
}
