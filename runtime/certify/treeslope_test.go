package certify

import (
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// Ranges of slopes are refused where their weights do not show them on the whole box. The follower's y is the greatest y <= -x at the cost (x - 3) y, x in [0, 1]: its multiplier is 3 - x, and the slope
// T = y - (3 - x) is -3 everywhere.
func TestTreeRefusesRangesThatShowNothing(t *testing.T) {
	p := &problem.Problem{Dx: 1, Dy: 1, F: affine{[]float64{0}, []float64{0}, 0}, G: crossed{affine{[]float64{0}, []float64{-3}, 0}},
		Rows:  &problem.Rows{Kind: []problem.Kind{problem.AtMost}, A: sparse.FromDense(1, 1, []float64{1}), B: sparse.FromDense(1, 1, []float64{-1}), Rhs: []float64{0}},
		X:     &problem.Set{Lo: []float64{0}, Hi: []float64{1}},
		Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 1}}
	const slope = `{"slope": {"answer": 0, "entry": 0}} {"strong": {"answer": 0}} `
	const by = `"stationarity": {"at": [0], "val": [1]}, "slopes": {"at": [0], "val": [1]}`
	for _, c := range []struct {
		name   string
		proof  string
		refuse string
	}{
		{"with y <= 0, T <= x - 3", `{"range": {"slope": 0, "most": -2, "by": {` + by + `}}} {"bound": {}}`, ""},
		{"which is -3 at the lower end of the box alone", `{"range": {"slope": 0, "most": -3, "by": {` + by + `}}} {"bound": {}}`, "weights show -2"},
		{"and -2.5 below 0.5", `{"entry": 0, "at": 0.5} {"range": {"slope": 0, "most": -2.5, "by": {` + by + `}}} {"bound": {}} {"bound": {}}`, ""},
		{"not above", `{"entry": 0, "at": 0.5} {"bound": {}} {"range": {"slope": 0, "most": -2.5, "by": {` + by + `}}} {"bound": {}}`, "weights show -2"},
		{"with y <= -x, T <= -3", `{"range": {"slope": 0, "most": -3, "by": {` + by + `, "lower": {"at": [0], "val": [1]}}}} {"bound": {}}`, ""},
		{"and no less", `{"range": {"slope": 0, "most": -3.001, "by": {` + by + `, "lower": {"at": [0], "val": [1]}}}} {"bound": {}}`, "weights show -3"},
		{"an empty leaf needs more than a row", `{"range": {"slope": 0, "most": -3, "by": {` + by + `, "lower": {"at": [0], "val": [1]}}}} {"empty": {"slopes": {"at": [3], "val": [1]}}}`, "prove 0 > 0"},
		{"McCormick's rows are not those of a range", `{"range": {"slope": 0, "most": -2, "by": {` + by + `}}} {"range": {"slope": 0, "most": -2, "by": {"slopes": {"at": [0, 3], "val": [1, 1]}}}} {"bound": {}}`, "wrong sign"},
		{"nor are there any without a range", `{"bound": {"slopes": {"at": [3], "val": [1]}}}`, "wrong sign"},
		{"w - x T <= 0 is no row of the wrong sign", `{"range": {"slope": 0, "most": -2, "by": {` + by + `}}} {"bound": {"slopes": {"at": [3], "val": [-1]}}}`, "wrong sign"},
		{"nor behind the child that has it", `{"entry": 0, "at": 0.5} {"range": {"slope": 0, "most": -2.5, "by": {` + by + `}}} {"bound": {}} {"bound": {"slopes": {"at": [3], "val": [1]}}}`, "wrong sign"},
		{"of no slope", `{"range": {"slope": 1, "most": -2, "by": {` + by + `}}} {"bound": {}}`, "a range is"},
		{"on both sides", `{"range": {"slope": 0, "most": -2, "least": -4, "by": {` + by + `}}} {"bound": {}}`, "a range is"},
		{"before there is a slope", `{"range": {"slope": 0, "most": -2, "by": {}}} ` + slope, "neither a branch nor a leaf"},
	} {
		proof := slope + c.proof
		_, err := VerifyTree(p, strings.NewReader(strings.ReplaceAll(`{"tree": 1} `+proof, "} {", "}\n{")), "")
		if c.refuse == "" && err != nil || c.refuse != "" && (err == nil || !strings.Contains(err.Error(), c.refuse)) {
			t.Errorf("%s: %v, and not %q", c.name, err, c.refuse)
		}
	}
}

// The rows of McCormick hold at every x and T of the box with w = x T, and each of them with equality at the two ends that it is made of; where x has one value they say w = x T.
func TestRowsOfMcCormick(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 19))
	for range 200 {
		a, lo := float64(rng.IntN(9)-4), float64(rng.IntN(9)-4)
		box := slopeBox{a, a + float64(rng.IntN(4)), lo, lo + float64(rng.IntN(4))}
		l := &treeLeaf{boxes: []slopeBox{box}}
		left := func(i int, x, T, w float64) float64 {
			side := l.slopeSide(i)
			if side.lo != side.hi {
				t.Fatalf("the side of row %d is %v", i, side)
			}
			return l.slopeCoef(i, 0, 0)*x + l.slopeCoef(i, 1, 0)*T + l.slopeCoef(i, 2, 0)*w - side.lo
		}
		for i := 1; i < slopeRows; i++ {
			met := 0
			for _, x := range [3]float64{box.a, (box.a + box.b) / 2, box.b} {
				for _, T := range [3]float64{box.lo, (box.lo + box.hi) / 2, box.hi} {
					if at := left(i, x, T, x*T); at < 0 {
						t.Fatalf("%+v: row %d is missed by %v at x = %v, T = %v", box, i, at, x, T)
					} else if at == 0 {
						met++
					}
				}
			}
			if met < 5 {
				t.Fatalf("%+v: row %d holds with equality at %d places", box, i, met)
			}
			if box.a == box.b && left(i, box.a, box.lo, box.a*box.lo+1)*left(i, box.a, box.lo, box.a*box.lo-1) >= 0 {
				t.Fatalf("%+v: row %d takes any w", box, i)
			}
		}
	}
}
