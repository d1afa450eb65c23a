package tree

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
)

// oneEntry is a random problem of one entry of x with a strongly convex follower, which has general rows around a point that is inside for all x, some equations, an f with a Hessian of any sign, and perhaps a row of the leader that reads y.
func oneEntry(rng *rand.Rand) *problem.Problem {
	ny := 1 + rng.IntN(6)
	f, g := newQuadratic(1, ny), newQuadratic(1, ny)
	for i := range 1 + ny {
		f.l[i] = rng.NormFloat64()
		for j := range i + 1 {
			f.set(i, j, float64(rng.IntN(2))*rng.NormFloat64())
		}
	}
	roots := make([]float64, ny*ny)
	for k := range roots {
		roots[k] = float64(rng.IntN(2)) * rng.NormFloat64()
	}
	for i := range ny {
		g.l[1+i] = rng.NormFloat64()
		g.set(0, 1+i, 2*rng.NormFloat64())
		for j := range i + 1 {
			v := 0.0
			for k := range ny {
				v += roots[i*ny+k] * roots[j*ny+k]
			}
			if i == j {
				v += 0.2 + rng.Float64()
			}
			g.set(1+i, 1+j, v)
		}
	}
	rows := &problem.Rows{A: sparse.Empty(1), B: sparse.Empty(ny)}
	for k := range 1 + rng.IntN(2*ny) {
		if rng.IntN(2) == 0 {
			rows.B.Append(rng.IntN(ny), float64(1-2*rng.IntN(2)))
		} else {
			for j := range ny {
				rows.B.Append(j, rng.NormFloat64())
			}
		}
		kind, rhs := problem.AtMost, 0.1+rng.Float64()
		if rng.IntN(3) == 0 {
			rows.A.Append(0, 0.05*rng.NormFloat64())
		}
		if k == 0 && ny > 2 && rng.IntN(3) == 0 {
			kind, rhs = problem.Equal, rng.NormFloat64()/4
		}
		rows.A.EndRow()
		rows.B.EndRow()
		rows.Kind, rows.Rhs = append(rows.Kind, kind), append(rows.Rhs, rhs)
	}
	return &problem.Problem{Name: "one", Dx: 1, Dy: ny, F: f, G: g, Rows: rows, X: &problem.Set{Lo: []float64{-1 - rng.Float64()}, Hi: []float64{1 + rng.Float64()}}, Facts: problem.Facts{JointlyQuadratic: true, Convex: true, DegreeF: 2}}
}

// The answer along one entry of x has the least value that a branch and bound finds, and no point of a grid has less; its proof is accepted, and no number of it can be another one such that it shows more.
func TestPathsAreLeast(t *testing.T) {
	rng := members.Rand(t, 51)
	followed, forged := 0, 0
	for k := range members.Of(30, 1000) {
		p := oneEntry(rng)
		sys, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Solve(context.Background(), sys, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.State == nil || !r.State.Parts[0].Path {
			continue
		}
		followed++
		near := 1e-8 * (1 + math.Abs(r.Best.F))
		other, err := Solve(context.Background(), sys, Options{Nodes: 500, Held: byBranches(sys, true)})
		if err != nil || other.Best.F < r.Best.F-near || other.Bound > r.Best.F+near || other.Proved && other.Best.F > r.Best.F+2e-6*(1+math.Abs(r.Best.F)) {
			t.Errorf("case %d: f is %.12g, and %.12g by branches: %v", k, r.Best.F, other.Best.F, other.Outcome)
		}
		answers, err := kkt.NewFollower(sys)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 201 {
			x := p.X.Lo[0] + (p.X.Hi[0]-p.X.Lo[0])*float64(i)/200
			if z, _ := answers.Solve(context.Background(), []float64{x}); sys.Value(z) < r.Best.F-near {
				t.Errorf("case %d: f is %.12g, and %.12g at %v", k, r.Best.F, sys.Value(z), x)
			}
		}
		text := proofOf(t, sys, r)
		report, err := certify.VerifyTree(p, bytes.NewReader(text), "")
		if err != nil || report.Bound < r.Claim() || report.Bound > r.Best.F+near {
			t.Errorf("case %d: %+v, %v of %.12g", k, report, err, r.Best.F)
		}
		for range 8 {
			if report, err := certify.VerifyTree(p, bytes.NewReader(otherNumber(t, rng, text)), ""); err == nil {
				if forged++; report.Bound > r.Best.F+near {
					t.Errorf("case %d: a forged proof shows %.12g of %.12g", k, report.Bound, r.Best.F)
				}
			}
		}
	}
	if followed < 20 || forged == 0 {
		t.Errorf("%d paths, %d other proofs that show something", followed, forged)
	}
}

// A segment whose multipliers have products with slacks shows no answer: of the follower y = max(0, x) one states y = x + 2, with the multiplier 2 of y >= 0, of which f = y would be 1 at the least, and is 0.
func TestSegmentsAreComplementary(t *testing.T) {
	f, g := newQuadratic(1, 1), newQuadratic(1, 1)
	f.l[1] = 1
	g.set(1, 1, 1)
	g.set(0, 1, -1)
	rows := &problem.Rows{A: sparse.Empty(1), B: sparse.Empty(1), Kind: []problem.Kind{problem.AtMost}, Rhs: []float64{0}}
	rows.A.EndRow()
	rows.B.Append(0, 1)
	rows.B.EndRow()
	p := &problem.Problem{Name: "max", Dx: 1, Dy: 1, F: f, G: g, Rows: rows, X: &problem.Set{Lo: []float64{-1}, Hi: []float64{1}}, Facts: problem.Facts{JointlyQuadratic: true, Convex: true, DegreeF: 1}}
	shows := func(least float64, segments ...string) {
		t.Helper()
		proof := "{\"tree\":1}\n"
		for _, of := range segments {
			proof += `{"segment":{"answer":0,"entry":0,"curvature":{"at":[0],"val":[1]},` + of + "}}\n"
		}
		report, err := certify.VerifyTree(p, bytes.NewReader([]byte(proof+`{"followed":true}`)), "")
		if err != nil || report.Bound > 0 || report.Bound < least {
			t.Errorf("%s: %+v, %v, not within %v and 0", segments, report, err, least)
		}
	}
	shows(math.Inf(-1), `"from":-1,"to":1,"at":{"at":[0],"val":[1]},"by":{"at":[0],"val":[1]},"multipliers":{"at":[0],"val":[2]}`)
	shows(-1e-9, `"from":-1,"to":0,"multipliers":{"at":[0],"val":[1]},"slopes":{"at":[0],"val":[-1]}`, `"from":0,"to":1,"by":{"at":[0],"val":[1]}`)
}

// otherNumber is a proof with another number in one of its segments, or with one segment less.
func otherNumber(t *testing.T, rng *rand.Rand, text []byte) []byte {
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	var at []int
	for k, line := range lines {
		if bytes.HasPrefix(line, []byte(`{"segment"`)) {
			at = append(at, k)
		}
	}
	k := at[rng.IntN(len(at))]
	if rng.IntN(10) == 0 {
		return bytes.Join(append(lines[:k:k], lines[k+1:]...), []byte("\n"))
	}
	var line struct {
		Segment map[string]any `json:"segment"`
	}
	if err := json.Unmarshal(lines[k], &line); err != nil {
		t.Fatal(err)
	}
	change := func(v float64) float64 {
		return v + rng.NormFloat64()*math.Pow(10, -8*rng.Float64())
	}
	names := []string{"from", "to", "at", "by", "multipliers", "slopes", "curvature"}
	switch name := names[rng.IntN(len(names))]; of := line.Segment[name].(type) {
	case float64:
		line.Segment[name] = change(of)
	case map[string]any:
		vals := of["val"].([]any)
		i := rng.IntN(len(vals))
		vals[i] = change(vals[i].(float64))
	}
	out, err := json.Marshal(line)
	if err != nil {
		t.Fatal(err)
	}
	lines[k] = out
	return bytes.Join(lines, []byte("\n"))
}

// Where a follower's answer meets its bound the proof shows what the search claims to rounding of the terms there: y = max(0, 1 - 2x/3) in (5 - 2x) y, whose least value on [0, 3] is the 0 of x >= 3/2.
func TestPathsShowTheirKinks(t *testing.T) {
	f, g := newQuadratic(1, 1), newQuadratic(1, 1)
	f.set(0, 1, -2)
	f.l[1] = 5
	g.set(0, 1, 2)
	g.set(1, 1, 3)
	g.l[1] = -3
	rows := &problem.Rows{A: sparse.Empty(1), B: sparse.Empty(1), Kind: []problem.Kind{problem.AtMost}, Rhs: []float64{0}}
	rows.B.Append(0, 1)
	rows.A.EndRow()
	rows.B.EndRow()
	p := &problem.Problem{Name: "kink", Dx: 1, Dy: 1, F: f, G: g, Rows: rows, X: &problem.Set{Lo: []float64{0}, Hi: []float64{3}}, Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 2}}
	sys, err := kkt.New(p)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Solve(context.Background(), sys, Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := proofOf(t, sys, r)
	report, err := certify.VerifyTree(p, bytes.NewReader(text), "")
	if err != nil || !bytes.Contains(text, []byte("followed")) || report.Bound > 0 || report.Bound < -1e-12 {
		t.Errorf("%v, %+v of %s", err, report, text)
	}
}
