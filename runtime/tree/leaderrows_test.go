package tree

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/each"
	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
)

// boxedFollower is a random follower 1/2 sum of h_j y_j^2 + (p_j x + q_j) y_j over 0 <= y (<= u), of one entry of x.
func boxedFollower(rng *rand.Rand, ny int) (g *quadratic, rows *problem.Rows) {
	g, rows = newQuadratic(1, ny), &problem.Rows{A: sparse.Empty(1), B: sparse.Empty(ny)}
	end := func(j int, coef, rhs float64) {
		rows.B.Append(j, coef)
		rows.A.EndRow()
		rows.B.EndRow()
		rows.Kind, rows.Rhs = append(rows.Kind, problem.AtMost), append(rows.Rhs, rhs)
	}
	for j := range ny {
		g.set(1+j, 1+j, 1+float64(rng.IntN(3)))
		g.set(0, 1+j, float64(rng.IntN(5)-2))
		g.l[1+j] = -float64(rng.IntN(7))
		if end(j, 1, 0); rng.IntN(2) == 0 {
			end(j, -1, float64(1+rng.IntN(4)))
		}
	}
	return g, rows
}

// boxes are those of the answers of such a follower, and boxedAnswer is its answer to x.
func boxes(rows *problem.Rows, ny int) (lo, hi []float64) {
	lo, hi = slices.Repeat([]float64{math.Inf(-1)}, ny), slices.Repeat([]float64{math.Inf(1)}, ny)
	for i := range rows.Len() {
		if j, coef := rows.Bound(i); coef > 0 {
			lo[j] = -rows.Rhs[i] / coef
		} else {
			hi[j] = rows.Rhs[i] / -coef
		}
	}
	return lo, hi
}

func boxedAnswer(g *quadratic, lo, hi []float64, x float64) []float64 {
	return each.Below(len(lo), func(j int) float64 {
		return min(max(lo[j], -(g.l[1+j]+g.m[1+j]*x)/g.m[(1+j)*g.n+1+j]), hi[j])
	})
}

// boxedAnswers is a random problem of such a follower, an f with a Hessian of any sign, and one or two rows of the leader that read y.
func boxedAnswers(rng *rand.Rand) *problem.Problem {
	ny, leaders := 1+rng.IntN(2), 1+rng.IntN(2)
	whole := func(k int) float64 { return float64(rng.IntN(2*k+1) - k) }
	f := newQuadratic(1, ny+leaders)
	g, rows := boxedFollower(rng, ny)
	for i := range 1 + ny {
		f.l[i] = whole(5)
		for j := range i + 1 {
			f.set(i, j, whole(3))
		}
	}
	for k := range leaders {
		for i := range 1 + ny {
			f.set(1+ny+k, i, whole(2))
		}
		f.l[1+ny+k] = -float64(rng.IntN(5))
	}
	p := &problem.Problem{Name: "boxed", Dx: 1, Dy: ny, F: f, G: g, Rows: rows, X: &problem.Set{Lo: []float64{0}, Hi: []float64{float64(1 + rng.IntN(4))}},
		Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 2, AffineCoupled: true}}
	p.Coupled = &problem.Coupled{}
	for range leaders {
		p.Coupled.Kind, p.Coupled.Name, p.Coupled.Weight = append(p.Coupled.Kind, problem.AtMost), append(p.Coupled.Name, "c"), append(p.Coupled.Weight, 1)
	}
	return p
}

// leastOnGrid is the least f of such a problem at points of a grid, with the follower's answers in closed form; +Inf where none satisfies the leader's rows.
func leastOnGrid(p *problem.Problem, points int) float64 {
	f := p.F.(*quadratic)
	lo, hi := boxes(p.Rows, p.Dy)
	best := math.Inf(1)
	for k := range points + 1 {
		x, answer := []float64{p.X.Hi[0] * float64(k) / float64(points)}, make([]float64, p.AnswerLen())
		copy(answer, boxedAnswer(p.G.(*quadratic), lo, hi, x[0]))
		slopes := make([]float64, p.AnswerLen())
		f.GradY(slopes, x, answer)
		inside := true
		for _, c := range slopes[p.Dy:] {
			inside = inside && c <= 0
		}
		if inside {
			best = min(best, f.Value(x, answer))
		}
	}
	return best
}

// byBranches are the sides that a search begins with: none of which is held, so that it branches where it would follow the answer to one entry of x; nil where it may.
func byBranches(sys *kkt.System, is bool) []kkt.Fix {
	if !is {
		return nil
	}
	return make([]kkt.Fix, len(sys.Pairs))
}

// What a row of the leader says of a multiplier does not keep a statement of an interior from saying more: every proof of a problem that has both is accepted, and true of each point of a grid.
func TestLeaderRowsOverAnswersAreProved(t *testing.T) {
	rng := members.Rand(t, 41)
	count, split := map[Outcome]int{}, 0
	for k := range 20 * members.Count(100) {
		p := boxedAnswers(rng)
		sys, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Solve(context.Background(), sys, Options{Nodes: 20000, Held: byBranches(sys, k%2 == 0)})
		if err != nil {
			t.Fatal(err)
		}
		least := leastOnGrid(p, 1000)
		near := 1e-8 * (1 + math.Abs(least))
		if r.Bound > least+near {
			t.Errorf("case %d: %v, bound %.12g, and f is %.12g at a point", k, r.Outcome, r.Bound, least)
		}
		if count[r.Outcome]++; r.Outcome != Proved && r.Outcome != Infeasible {
			continue
		}
		if !sys.Objective.Convex {
			split++
		}
		report, err := certify.VerifyTree(p, bytes.NewReader(proofOf(t, sys, r)), "")
		if err != nil || report.Bound < r.Claim() || report.Bound > least+near {
			t.Errorf("case %d: %v, %+v, claimed %.12g, f is %.12g at a point", k, err, report, r.Claim(), least)
		}
	}
	if count[Proved] < 10 || count[Infeasible] == 0 || split < 10 {
		t.Errorf("%v, %d with an f that is not convex", count, split)
	}
	t.Logf("%v, %d with an f that is not convex", count, split)
}

// Where leaves are refused, proofs go on below them: on pairs, or on halves of the ranges of directions. What is written is accepted, and true of each point of a grid.
func TestRefusedLeavesAreBranchedOn(t *testing.T) {
	rng := members.Rand(t, 42)
	written, open, deeper := 0, 0, 0
	for k := range 10 * members.Count(100) {
		p := boxedAnswers(rng)
		sys, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Solve(context.Background(), sys, Options{Nodes: 20000, Held: byBranches(sys, true)})
		if err != nil {
			t.Fatal(err)
		}
		if r.Outcome != Proved || sys.Objective.Convex {
			continue
		}
		plain := bytes.Count(proofOf(t, sys, r), []byte("\n"))
		verifier, refused := certify.NewTreeVerifier(p, ""), 0
		accepts := func(line []byte, least float64) error {
			if bytes.HasPrefix(line, []byte(`{"bound"`)) && refused < 10 && rng.IntN(4) > 0 {
				refused++
				return errors.New("refused")
			}
			return verifier.Take(line, least)
		}
		var out bytes.Buffer
		if err := WriteProof(context.Background(), &out, sys, r.State, Statement{Bound: r.Claim(), Accepts: accepts}); err != nil {
			open++
			continue
		}
		if written++; refused > 0 && bytes.Count(out.Bytes(), []byte("\n")) > plain {
			deeper++
		}
		report, err := certify.VerifyTree(p, bytes.NewReader(out.Bytes()), "")
		if err == nil && report.Bound < r.Claim() { // it ends with a weaker leaf, and so does what is claimed
			open++
		}
		if least := leastOnGrid(p, 1000); err != nil || report.Bound > least+1e-8*(1+math.Abs(least)) {
			t.Errorf("case %d: %v, %+v, claimed %.12g, f is %.12g at a point", k, err, report, r.Claim(), least)
		}
	}
	if deeper < 10 || open > written/10 {
		t.Errorf("%d proofs, %d of them deeper, %d not written", written, deeper, open)
	}
	t.Logf("%d proofs, %d of them deeper, %d not written", written, deeper, open)
}
