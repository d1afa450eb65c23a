package certify

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// affine is a linear function of (x, y), with 1/2 curve y'y.
type affine struct {
	x, y  []float64
	curve float64
}

func (a affine) Value(x, y []float64) float64 {
	return floats.Dot(a.x, x) + floats.Dot(a.y, y) + 0.5*a.curve*floats.Dot(y, y)
}
func (a affine) GradX(dst, _, _ []float64) { copy(dst, a.x) }
func (a affine) GradY(dst, _, y []float64) {
	for j := range dst {
		dst[j] = a.y[j] + a.curve*y[j]
	}
}
func (a affine) ValueGradY(dst, x, y []float64) float64 {
	a.GradY(dst, x, y)
	return a.Value(x, y)
}
func (a affine) ValueGrad(dx, dy, x, y []float64) float64 {
	a.GradX(dx, x, y)
	a.GradY(dy, x, y)
	return a.Value(x, y)
}
func (a affine) Clone() problem.Function { return a }

// crossed is an affine function and x_0 y_0.
type crossed struct{ affine }

func (c crossed) GradY(dst, x, y []float64) {
	c.affine.GradY(dst, x, y)
	dst[0] += x[0]
}
func (c crossed) Clone() problem.Function { return c }

// follower has y at x by the row x - y = 0 or <= 0 (coef -1), or y - x >= 0 (coef 1), and g = y^2/2; the leader minimizes price y, x in [0, 1].
func follower(kind problem.Kind, coef, price float64) *problem.Problem {
	return &problem.Problem{Dx: 1, Dy: 1, F: affine{[]float64{0}, []float64{price}, 0}, G: affine{[]float64{0}, []float64{0}, 1},
		Rows:  &problem.Rows{Kind: []problem.Kind{kind}, A: sparse.FromDense(1, 1, []float64{coef}), B: sparse.FromDense(1, 1, []float64{coef}), Rhs: []float64{0}},
		X:     &problem.Set{Lo: []float64{0}, Hi: []float64{1}},
		Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 1}}
}

// cubic says of a problem that its f is of degree 3.
func cubic(p *problem.Problem) *problem.Problem {
	p.Facts.DegreeF = 3
	return p
}

// whole says of a problem that x is a whole number.
func whole(p *problem.Problem) *problem.Problem {
	p.Integer = []bool{true}
	return p
}

// Each rule of a leaf refuses weights that would show something false without it, or finds weights next to them that show what is true.
func TestTreeRefusesWeightsThatShowNothing(t *testing.T) {
	for _, c := range []struct {
		name   string
		p      *problem.Problem
		proof  string
		refuse string // part of the reason; "": it is accepted
		bound  float64
	}{
		{"an equation: y = x, at least -1", follower(problem.Equal, 1, -1), `{"bound": {"lower": {"at": [0], "val": [-1]}}}`, "", -1},
		{"the multiplier of an equation is free: other weights show -1", follower(problem.Equal, -1, -1), `{"bound": {"stationarity": {"at": [0], "val": [-1]}}}`, "", -1},
		{"and so is that with the other sign", follower(problem.Equal, 1, -1), `{"bound": {"stationarity": {"at": [0], "val": [-1]}}}`, "", -1},
		{"y >= x, at least 0", follower(problem.AtMost, 1, 1), `{"bound": {"lower": {"at": [0], "val": [1]}}}`, "", 0},
		{"an inequality's weight has a sign", follower(problem.AtMost, 1, -1), `{"bound": {"lower": {"at": [0], "val": [-1]}}}`, "wrong sign", 0},
		{"which it has not where the slack is zero", follower(problem.AtMost, 1, -1), `{"pair": 0} {"bound": {"lower": {"at": [0], "val": [-1]}}} {"bound": {"stationarity": {"at": [0], "val": [-1]}}}`, "", -1},
		{"the second child has no such row", follower(problem.AtMost, 1, -1), `{"pair": 0} {"bound": {"lower": {"at": [0], "val": [-1]}}} {"bound": {"lower": {"at": [0], "val": [-1]}}}`, "wrong sign", 0},
		{"a multiplier is a column where its slack is zero", follower(problem.AtMost, 1, -1), `{"pair": 0} {"bound": {"stationarity": {"at": [0], "val": [-1]}}} {"bound": {"stationarity": {"at": [0], "val": [-1]}}}`, "", -1},
		{"f is of degree 3", cubic(follower(problem.Equal, 1, -1)), `{"bound": {"lower": {"at": [0], "val": [-1]}}}`, "f is not quadratic", 0},
		{"a column without weights", follower(problem.AtMost, 1, -1), `{"bound": {}}`, "has no end", 0},
		{"nothing is empty", follower(problem.AtMost, 1, -1), `{"empty": {}}`, "prove 0 > 0", 0},
		{"a leaf is missing", follower(problem.AtMost, 1, -1), `{"pair": 0} {"bound": {"lower": {"at": [0], "val": [-1]}}}`, "ends before", 0},
		{"a leaf too many", follower(problem.Equal, 1, -1), `{"bound": {"lower": {"at": [0], "val": [-1]}}} {"bound": {}}`, "goes on", 0},
		{"a pair twice", follower(problem.AtMost, 1, -1), `{"pair": 0} {"pair": 0}`, "fixed already", 0},
		{"an equation is no pair", follower(problem.Equal, 1, -1), `{"pair": 0}`, "no pair", 0},
		{"no such entry", follower(problem.Equal, 1, -1), `{"entry": 1, "at": 0}`, "no entry 1 of x", 0},
		{"an entry that splits nowhere", follower(problem.Equal, 1, -1), `{"entry": 0, "at": 1e999}`, "JSON", 0},
		{"an entry: y >= x is at least 0.25, and else x is", follower(problem.AtMost, 1, 1), `{"entry": 0, "at": 0.25} {"bound": {"lower": {"at": [0], "val": [1]}}} {"bound": {"lower": {"at": [0], "val": [1]}}}`, "", 0},
		{"no such row", follower(problem.Equal, 1, -1), `{"bound": {"lower": {"at": [1], "val": [-1]}}}`, "at place 1 of 1", 0},
		{"a square with a negative weight", follower(problem.Equal, 1, -1), `{"concave": {"weight": -1, "of": {"at": [0], "val": [1]}}} {"bound": {"lower": {"at": [0], "val": [-1]}}}`, "has the weight", 0},
		{"one of nothing", follower(problem.Equal, 1, -1), `{"concave": {"weight": 1}} {"bound": {"lower": {"at": [0], "val": [-1]}}}`, "no vector", 0},
		{"one of a column twice", follower(problem.Equal, 1, -1), `{"concave": {"weight": 1, "of": {"at": [0, 0], "val": [1, 1]}}} {"bound": {"lower": {"at": [0], "val": [-1]}}}`, "there twice", 0},
		{"one of no column", follower(problem.Equal, 1, -1), `{"concave": {"weight": 1, "of": {"at": [3], "val": [1]}}} {"bound": {"lower": {"at": [0], "val": [-1]}}}`, "place 3 of 3", 0},
		{"one of fewer numbers than places", follower(problem.Equal, 1, -1), `{"concave": {"weight": 1, "of": {"at": [0, 1], "val": [1]}}} {"bound": {"lower": {"at": [0], "val": [-1]}}}`, "2 places for 1 numbers", 0},
		{"no such constraint", follower(problem.Equal, 1, -1), `{"bound": {"lower": {"at": [0], "val": [-1]}, "curved": {"at": [0], "val": [1]}}}`, "at place 0 of 0", 0},
		{"a part without columns", follower(problem.Equal, 1, -1), `{"part": {"columns": []}} {"bound": {}}`, "without columns", 0},
		{"a part within a tree", follower(problem.AtMost, 1, -1), `{"pair": 0} {"part": {"columns": [0, 1, 2]}} {"bound": {}}`, "within a tree", 0},
		{"whole numbers up to 0.5 and from 1.5 on leave out 1", whole(follower(problem.AtMost, 1, 1)), `{"entry": 0, "at": 0.5} {"bound": {"lower": {"at": [0], "val": [1]}}} {"bound": {"lower": {"at": [0], "val": [1]}}}`, "splits at 0.5", 0},
		{"and those from 2^53 + 1 on are from 2^53 on", whole(follower(problem.AtMost, 1, 1)), `{"entry": 0, "at": 9007199254740992} {"bound": {"lower": {"at": [0], "val": [1]}}} {"bound": {"lower": {"at": [0], "val": [1]}}}`, "splits at 9.007", 0},
		{"an unknown field", follower(problem.Equal, 1, -1), `{"bound": {"lowest": {}}}`, "unknown field", 0},
	} {
		report, err := VerifyTree(c.p, strings.NewReader(strings.ReplaceAll(`{"tree": 1} `+c.proof, "} {", "}\n{")), "")
		switch {
		case c.refuse == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.refuse == "" && (report.Bound > c.bound || report.Bound < c.bound-1e-9):
			t.Errorf("%s: proved %v, not %v", c.name, report.Bound, c.bound)
		case c.refuse != "" && (err == nil || !strings.Contains(err.Error(), c.refuse)):
			t.Errorf("%s: %v, and not %q", c.name, err, c.refuse)
		}
	}
}

// Lines that state products and strong duality are refused where they do not hold, and weights of their rows where the row has no such sign on the leaf. The follower's y is
// the least y >= x with cost 1, x is 0 or 1, f = -y; the multiplier is 1, and so p = x.
func TestTreeRefusesProductsThatShowNothing(t *testing.T) {
	binary := func(change func(*problem.Problem)) *problem.Problem {
		p := &problem.Problem{Dx: 1, Dy: 1, F: affine{[]float64{0}, []float64{-1}, 0}, G: affine{[]float64{0}, []float64{1}, 0},
			Rows:    &problem.Rows{Kind: []problem.Kind{problem.AtMost}, A: sparse.FromDense(1, 1, []float64{1}), B: sparse.FromDense(1, 1, []float64{1}), Rhs: []float64{0}},
			X:       &problem.Set{Lo: []float64{0}, Hi: []float64{1}},
			Integer: []bool{true}, Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 1}}
		change(p)
		return p
	}
	same := func(*problem.Problem) {}
	const product = `{"product": {"entry": 0, "multiplier": 0, "levels": [1]}} `
	for _, c := range []struct {
		name   string
		change func(*problem.Problem)
		proof  string
		refuse string
	}{
		{"by the product with what the multiplier is above 0.5, too", same, `{"product": {"entry": 0, "multiplier": 0, "above": 0.5, "levels": [1]}} {"strong": {"answer": 0}} {"bound": {"duality": {"at": [0], "val": [-1]}}}`, ""},
		{"strong duality is of a part in which g is linear", func(p *problem.Problem) { p.G = affine{[]float64{0}, []float64{1}, 1} }, product + `{"strong": {"answer": 0}} {"bound": {}}`, "curved"},
		{"x without a box", func(p *problem.Problem) { p.X.Lo, p.X.Hi = []float64{0}, []float64{math.Inf(1)} }, `{"strong": {"answer": 0}} {"bound": {}}`, "nothing bounds"},
		{"an equation's multiplier has no sign", func(p *problem.Problem) { p.Rows.Kind[0] = problem.Equal }, `{"strong": {"answer": 0}} {"bound": {}}`, "nothing bounds"},
		{"strong duality by the box of x is no equation", same, `{"strong": {"answer": 0}} {"bound": {"duality": {"at": [0], "val": [1]}}}`, "wrong sign"},
		{"p <= multiplier, not more", same, product + `{"bound": {"levels": {"at": [0], "val": [1]}}}`, "wrong sign"},
		{"not on the branch x = 0 either", same, product + `{"entry": 0, "at": 0} {"bound": {"levels": {"at": [0], "val": [1]}}}`, "wrong sign"},
		{"p is the multiplier where x = 1", same, product + `{"entry": 0, "at": 0} {"bound": {"stationarity": {"at": [0], "val": [-1]}}} {"bound": {"levels": {"at": [0], "val": [1]}}}`, "no end"},
		{"above a level of x", func(p *problem.Problem) { p.X.Lo, p.X.Hi = []float64{1}, []float64{2} }, product + `{"bound": {"levels": {"at": [0], "val": [-1]}}}`, "wrong sign"},
		{"y is not known to be above 1", same, `{"product": {"entry": 0, "answer": 0, "above": 1, "levels": [1]}} {"bound": {"levels": {"at": [0], "val": [-1]}}}`, "wrong sign"},
		{"a product twice", same, product + product + `{"bound": {}}`, "already"},
		{"no such entry", same, `{"product": {"entry": 1, "multiplier": 0}} {"bound": {}}`, "no such entry of x"},
		{"no such row", same, `{"product": {"entry": 0, "multiplier": 1}} {"bound": {}}`, "no such row"},
		{"of two factors", same, `{"product": {"entry": 0, "multiplier": 0, "answer": 0}} {"bound": {}}`, "it is one of"},
		{"behind the tree's first line", same, `{"entry": 0, "at": 0} ` + product, "neither a branch nor a leaf"},
	} {
		report, err := VerifyTree(binary(c.change), strings.NewReader(strings.ReplaceAll(`{"tree": 1} `+c.proof, "} {", "}\n{")), "")
		switch {
		case c.refuse == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.refuse == "" && (report.Bound > -1 || report.Bound < -1-1e-9):
			t.Errorf("%s: proved %v", c.name, report.Bound)
		case c.refuse != "" && (err == nil || !strings.Contains(err.Error(), c.refuse)):
			t.Errorf("%s: %v, and not %q", c.name, err, c.refuse)
		}
	}
}

// What two columns of whole numbers leave is decided exactly, and the Hessian of an objective is, too.
func TestSemidefinitenessIsDecided(t *testing.T) {
	third := 1.0 / 3
	for _, c := range []struct {
		a    []float64
		n    int
		want bool
	}{
		{[]float64{1, 1, 1, 1}, 2, true}, // singular
		{[]float64{1, 1, 1, math.Nextafter(1, 0)}, 2, false},
		{[]float64{0, 0, 0, 1}, 2, true},
		{[]float64{0, 1, 1, 0}, 2, false},
		{[]float64{9, 3, 3, 1}, 2, true},
		{[]float64{1, third, third, third * third}, 2, third*third >= third*third && math.FMA(third, third, -third*third) <= 0},
		{[]float64{2, 1, 1, 1, 2, 1, 1, 1, -1e-300}, 3, false},
	} {
		if got := semidefiniteExactly(c.a, c.n); got != c.want {
			t.Errorf("%v: %v", c.a, got)
		}
		trace := 0.0
		for i := range c.n {
			trace += math.Abs(c.a[i*c.n+i])
		}
		if definite(c.a, c.n, trace, 0, 0) {
			t.Errorf("%v is called definite", c.a)
		}
	}
	if !definite([]float64{2, 1, 1, 2}, 2, 4, 0, 0) || definite([]float64{2, 1, 1, 2}, 2, 4, 1, 0) {
		t.Error("eigenvalues 1 and 3: definite within any radius below 1")
	}
}

// A proof is of one model: where its digest is given, no other proof is read.
func TestProofsAreOfOneModel(t *testing.T) {
	for _, c := range []struct {
		has, want string
		ok        bool
	}{{"a", "a", true}, {"a", "", true}, {"", "", true}, {"b", "a", false}, {"", "a", false}} {
		proof := fmt.Sprintf(`{"tree": 1, "digest": %q}`, c.has) + "\n" + `{"bound": {"lower": {"at": [0], "val": [-1]}}}`
		if _, err := VerifyTree(follower(problem.Equal, 1, -1), strings.NewReader(proof), c.want); (err == nil) != c.ok {
			t.Errorf("of %q where %q is asked for: %v", c.has, c.want, err)
		}
	}
}

// A leaf that shows less than it is to is refused, and another one, that shows as much, takes its place.
func TestLeavesShowTheirClaim(t *testing.T) {
	p, leaf := follower(problem.Equal, 1, -1), []byte(`{"bound": {"lower": {"at": [0], "val": [-1]}}}`)
	shown, err := VerifyTree(p, strings.NewReader("{\"tree\": 1}\n"+string(leaf)), "")
	if err != nil {
		t.Fatal(err)
	}
	v := NewTreeVerifier(p, "")
	for _, line := range []struct {
		text  []byte
		least float64
		ok    bool
	}{{[]byte(`{"tree": 1}`), math.Inf(-1), true}, {leaf, math.Nextafter(shown.Bound, math.Inf(1)), false}, {leaf, math.Inf(1), false}, {leaf, shown.Bound, true}} {
		if err := v.Take(line.text, line.least); (err == nil) != line.ok {
			t.Errorf("%s, to show %v: %v", line.text, line.least, err)
		}
	}
	if again, err := v.Report(); err != nil || again.Bound != shown.Bound || again.Leaves != 1 {
		t.Errorf("%+v, %v: the bound is %v", again, err, shown.Bound)
	}
}

// Rational numbers are enclosed from both sides.
func TestEnclosuresOfRationalNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 1000 {
		r := big.NewRat(int64(rng.IntN(2001)-1000), int64(1+rng.IntN(1000)))
		in := enclosure(r)
		if rat(in.lo).Cmp(r) > 0 || rat(in.hi).Cmp(r) < 0 || in.hi-in.lo > 0x1p-50*math.Abs(in.lo) {
			t.Errorf("%v is not in %v", r, in)
		}
	}
}

// An enclosure holds the solution in rational numbers, of matrices of any condition, or there is none.
func TestEnclosuresHoldTheSolution(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	found, refused := 0, 0
	for k := range 400 {
		n := 1 + rng.IntN(6)
		mat, rhs, rows := make([]interval, n*n), make([]interval, n), make([][]*big.Rat, n)
		for i := range n {
			rows[i] = make([]*big.Rat, n+1)
			for j := range n {
				v := rng.NormFloat64()
				if i == n-1 && n > 1 { // the last row is nearly the one before
					v = mat[(i-1)*n+j].lo + math.Ldexp(rng.NormFloat64(), -k%60)
				}
				mat[i*n+j], rows[i][j] = point(v), new(big.Rat).SetFloat64(v)
			}
			v := rng.NormFloat64()
			rhs[i], rows[i][n] = point(v), new(big.Rat).SetFloat64(v)
		}
		var got []interval
		var want []*big.Rat
		err := must.Try(func() { got = enclose(mat, rhs, n) })
		if must.Try(func() { want = eliminate(rows) }); err != nil {
			refused++
			continue
		}
		found++
		for i, v := range want {
			if new(big.Rat).SetFloat64(got[i].lo).Cmp(v) > 0 || new(big.Rat).SetFloat64(got[i].hi).Cmp(v) < 0 {
				f, _ := v.Float64()
				t.Fatalf("entry %d is %v, outside of %v", i, f, got[i])
			}
		}
	}
	if found < 200 || refused == 0 {
		t.Errorf("%d enclosed, %d refused", found, refused)
	}
}
