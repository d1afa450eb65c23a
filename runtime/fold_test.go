package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// peaked is a random convex function of x with kinks: as text, and as the affine functions of
// which it is the largest.
type peaked struct {
	text  string
	sides [][]float64 // coefficients of x, then a constant
}

func randomPeaked(r *rand.Rand, n, depth int) peaked {
	number := func() float64 { return math.Round(r.NormFloat64()*64) / 64 }
	affine := func() peaked {
		side := make([]float64, n+1)
		var parts []string
		for j := range n {
			if r.IntN(2) == 0 {
				side[j] = number()
				parts = append(parts, fmt.Sprintf("(%v) * x[%d]", side[j], j+1))
			}
		}
		side[n] = number() / 4
		return peaked{strings.Join(append(parts, fmt.Sprint(side[n])), " + "), [][]float64{side}}
	}
	add := func(u, v []float64, a, b float64) []float64 {
		out := make([]float64, n+1)
		for j := range out {
			out[j] = a*u[j] + b*v[j]
		}
		return out
	}
	zero := make([]float64, n+1)
	if depth == 0 {
		return affine()
	}
	switch r.IntN(5) {
	case 0:
		a, b := randomPeaked(r, n, depth-1), affine()
		return peaked{"max(" + a.text + ", " + b.text + ")", append(a.sides, b.sides...)}
	case 1:
		a := affine()
		weight := float64(1+r.IntN(3)) / 2
		return peaked{fmt.Sprintf("%v * abs(%s)", weight, a.text), [][]float64{add(a.sides[0], zero, weight, 0), add(a.sides[0], zero, -weight, 0)}}
	case 2:
		a, b := affine(), affine()
		return peaked{"-min(" + a.text + ", " + b.text + ")", [][]float64{add(a.sides[0], zero, -1, 0), add(b.sides[0], zero, -1, 0)}}
	case 3:
		out := peaked{text: "norm1(x)"}
		for signs := range 1 << n {
			side := make([]float64, n+1)
			for j := range n {
				side[j] = float64(2*(signs>>j&1) - 1)
			}
			out.sides = append(out.sides, side)
		}
		return out
	}
	a, b := randomPeaked(r, n, depth-1), randomPeaked(r, n, depth-1)
	out := peaked{text: "(" + a.text + ") + (" + b.text + ")"}
	for _, u := range a.sides {
		for _, v := range b.sides {
			out.sides = append(out.sides, add(u, v, 1, 1))
		}
	}
	return out
}

func (b peaked) at(x []float64) float64 {
	most := math.Inf(-1)
	for _, side := range b.sides {
		v := side[len(x)]
		for j, t := range x {
			v += side[j] * t
		}
		most = math.Max(most, v)
	}
	return most
}

// nearest is the point nearest to a where all sides are at most a limit, by the method of
// Hildreth (1957), which goes round the rows; ok is false where it has not settled.
func (b peaked) nearest(a []float64, limit float64) (x []float64, ok bool) {
	n := len(a)
	x = append([]float64(nil), a...)
	lambda := make([]float64, len(b.sides))
	for range 200_000 {
		moved := 0.0
		for i, side := range b.sides {
			size, gap := 0.0, side[n]-limit
			for j := range n {
				size += side[j] * side[j]
				gap += side[j] * x[j]
			}
			if size == 0 {
				continue
			}
			step := math.Max(gap/size, -lambda[i])
			lambda[i] += step
			for j := range n {
				x[j] -= step * side[j]
			}
			moved += math.Abs(step) * math.Sqrt(size)
		}
		if moved < 1e-13 {
			return x, true
		}
	}
	return nil, false
}

// TestKinkedSets has leaders who want to be near a point under random constraints on x
// alone with kinks: the answer is the point of X nearest to it, known from all of the affine
// functions that the constraint stands for. Nothing of it is left to penalties, and nobody
// hears of further variables.
func TestKinkedSets(t *testing.T) {
	held, extra := 0, 0
	enough := func() bool { return held >= members.Part(30, 60) && extra >= members.Part(40, 60) }
	for trial := range members.SeedsUntil(t, 60, enough) {
		r := rand.New(rand.NewPCG(trial, 42))
		n := 2 + r.IntN(4)
		b := randomPeaked(r, n, 1+r.IntN(3))
		inside := make([]float64, n)
		for j := range inside {
			inside[j] = r.NormFloat64() / 2
		}
		limit := b.at(inside) + r.Float64()
		a := make([]float64, n)
		for j := range a {
			a[j] = 3 * r.NormFloat64()
		}
		want, ok := b.nearest(a, limit)
		if !ok {
			continue
		}
		relation := fmt.Sprintf("%s <= %v", b.text, limit)
		if trial%3 == 0 {
			relation = fmt.Sprintf("%v >= %s", limit, b.text)
		}
		source := fmt.Sprintf(`model m
data a: vector[%d] = %s
upper {
  var x: vector[%d]
  minimize sumsq(y - a)
  subject to cap: %s
}
lower {
  var y: vector[%d]
  minimize sumsq(y - x)
}
`, n, text(a), n, relation, n)
		p := bindText(t, source)
		if len(p.IR.Coupled) > 0 || p.IR.Restated != nil {
			t.Fatalf("trial %d: the constraint is not part of X\n%s", trial, source)
		}
		res, err := p.Solve(context.Background(), runtime.Options{Seed: trial})
		if err != nil || res.Status != runtime.Solved {
			t.Errorf("trial %d: %v %v\n%s", trial, err, res.Reason, source)
			continue
		}
		x, _ := res.Upper.Variables.Get("x")
		for j := range want {
			if math.Abs(x.Data[j]-want[j]) > 1e-6*(1+math.Abs(want[j])) {
				t.Errorf("trial %d: x is %v, the nearest point is %v\n%s", trial, x.Data, want, source)
				break
			}
		}
		if got := b.at(x.Data) - limit; got > 1e-9*(1+math.Abs(limit)) {
			t.Errorf("trial %d: the constraint is off by %v\n%s", trial, got, source)
		}
		if report, err := p.Verify(res); err != nil || !report.OK() {
			t.Errorf("trial %d: %v %v\n%s", trial, err, report.Failures(), source)
		}
		if b.at(a) > limit {
			held++
			// A point outside of X is refused, wherever it is written.
			forged := *res
			forged.Upper.Variables = runtime.Values{{Name: "x", Shape: []int{n}, Data: a}}
			if report, err := p.Verify(&forged); err == nil && report.OK() {
				t.Errorf("trial %d: a point outside of X passed\n%s", trial, source)
			}
		}
		if len(res.Upper.Variables) != 1 || len(res.Lower.Variables) != 1 {
			t.Errorf("trial %d: variables that nobody has declared", trial)
		}
		extra += p.IR.X.Extended.Extra()
	}
	if !enough() {
		t.Errorf("%d constraints that hold x, %d further variables: that says too little", held, extra)
	}
}

// TestKinkedSetsBesideFollowers has followers whom X with kinks leaves an answer at some x
// only, and compares whole solves with those under all of the affine rows.
func TestKinkedSetsBesideFollowers(t *testing.T) {
	joint := 0
	for trial := range members.Seeds(t, 24) {
		r := rand.New(rand.NewPCG(trial, 2))
		n := 2 + r.IntN(3)
		b := randomPeaked(r, n, 2)
		limit := b.at(make([]float64, n)) + 0.5 + r.Float64()
		var rows []string
		for _, side := range b.sides {
			row := fmt.Sprintf("    %v", side[n])
			for j := range n {
				row += fmt.Sprintf(" + (%v) * x[%d]", side[j], j+1)
			}
			if strings.Count(row, "(0)") < n {
				rows = append(rows, row+fmt.Sprintf(" <= %v", limit))
			}
		}
		a, c := make([]float64, n), make([]float64, n)
		for j := range a {
			a[j], c[j] = 2*r.NormFloat64(), r.NormFloat64()
		}
		model := fmt.Sprintf(`model m
data a: vector[%[1]d] = %[2]s
data c: vector[%[1]d] = %[3]s
upper {
  var x: vector[%[1]d] in box(-2, 2)
  minimize sumsq(y - a) + 0.1 * sumsq(x)
  subject to
%%s
}
lower {
  var y: vector[%[1]d] in box(-1.5, 1.5)
  minimize sumsq(y - x)
  subject to
    sum(y) + c' * x >= -0.5
    y[1] <= 0.2 + x[2]
    y[1] >= -0.2 - x[2] + c[1]
}
`, n, text(a), text(c))
		var F [2]float64
		for k, with := range []string{fmt.Sprintf("    %s <= %v", b.text, limit), strings.Join(rows, "\n")} {
			p := bindText(t, fmt.Sprintf(model, with))
			res, err := p.Solve(context.Background(), runtime.Options{})
			if err != nil {
				t.Fatal(err)
			}
			F[k] = float64(res.Upper.Objective)
			if res.Status == runtime.Infeasible {
				F[k] = math.Inf(1)
				continue
			}
			if report, err := p.Verify(res); res.Status != runtime.Solved || err != nil || !report.OK() {
				t.Errorf("trial %d: %s %s %v %v\n"+model, trial, res.Status, res.Reason, err, report.Failures(), with)
			}
			joint += p.IR.X.Extended.Extra()
		}
		if math.IsInf(F[0], 1) != math.IsInf(F[1], 1) || F[0] < F[1]-1e-6*(1+math.Abs(F[1])) || F[0] > F[1]+1e-6*(1+math.Abs(F[1])) {
			t.Errorf("trial %d: F %v with kinks, %v with their rows\n"+model, trial, F[0], F[1], b.text)
		}
	}
	if members.Full() && joint < 20 { // a few members may have none
		t.Errorf("%d further variables say too little", joint)
	}
}

// TestBudgetOfMany has a budget in absolute value over so many entries that the run begins along
// the central path: the same F as with the positive and negative parts as variables of their own.
func TestBudgetOfMany(t *testing.T) {
	t.Parallel()
	const model = `model lone
param n: int = 60
data a: vector[n] ~ normal(0, 2)
upper {
%s
  minimize sumsq(y - a) + 0.1 * sumsq(x)
  subject to total: %s <= 15
}
lower {
  var y: vector[n] in box(-1, 1)
  minimize sumsq(y - x)
}
`
	var F [2]float64
	for k, with := range [][2]string{{"  var x: vector[n]", "norm1(x)"}, {"  var p: vector[n] in nonneg\n  var q: vector[n] in nonneg\n  let x = p - q", "sum(p) + sum(q)"}} {
		p := bindText(t, fmt.Sprintf(model, with[0], with[1]))
		res, err := p.Solve(context.Background(), runtime.Options{Search: runtime.SearchNone})
		if err != nil || res.Status != runtime.Solved {
			t.Fatalf("%v %s: %s", err, res.Status, res.Reason)
		}
		if report, err := p.Verify(res); err != nil || !report.OK() {
			t.Errorf("%v %v", err, report.Failures())
		}
		F[k] = float64(res.Upper.Objective)
	}
	if math.Abs(F[0]-F[1]) > 1e-7*F[1] {
		t.Errorf("F = %v, and %v with positive and negative parts", F[0], F[1])
	}
}
