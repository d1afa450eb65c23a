package runtime_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/runtime"
)

// curved has a dense Hessian that is data.
const curved = `
model curved
param n: int
data Q: matrix[n, n]
data c: vector[n]
upper {
  var x: vector[n] in box(0, 1)
  minimize sumsq(y - 1)
}
lower {
  var y: vector[n]
  minimize 0.5 * y' * Q * y + (x + c)' * y
  subject to
    y <= 1
}
`

// Constants that an update proves again hold, whatever the new numbers are, one update
// after another: they are those of the Hessian, whose eigenvalues say so, but for a
// half of a modulus and as much of a bound; and what Bind refuses is refused, in its
// words.
func TestUpdateProvesAgain(t *testing.T) {
	model, err := runtime.Compile("curved.blv", curved)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(21, 1))
	const n = 60
	draw := func(least, most float64) [][]float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = least + (most-least)*float64(i)/(n-1)
		}
		return symmetric(rng, values)
	}
	q := draw(1, 5)
	zero := make([]float64, n)
	p, err := model.Bind(runtime.Data{"n": n, "Q": q, "c": zero}, runtime.BindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	refused, weaker := 0, 0
	for round := range 40 {
		switch round % 8 {
		case 0:
			q = draw(1, 5)
		case 1: // much less curvature
			q = draw(1e-3, 5)
		case 2: // much more
			q = draw(1e3, 2e3)
		case 3: // one direction bends down
			q = draw(-0.01, 5)
		case 4: // one direction bends down where it did not
			q = draw(1, 5)
			q[7][7] = -1
		default: // a little of everything
			q = draw(1, 5)
			if p, err = p.Update(runtime.Data{"Q": q}); err != nil {
				t.Fatal(err)
			}
			for i := range q {
				for j := range i + 1 {
					q[i][j] += 1e-3 * rng.NormFloat64()
					q[j][i] = q[i][j]
				}
			}
		}
		dense := mat.NewSymDense(n, nil)
		for i := range n {
			for j := range i + 1 {
				dense.SetSym(i, j, q[i][j])
			}
		}
		var eig mat.EigenSym
		if !eig.Factorize(dense, false) {
			t.Fatal("no eigenvalues")
		}
		least, most := eig.Values(nil)[0], eig.Values(nil)[n-1]
		next, err := p.Update(runtime.Data{"Q": q})
		bound, want := model.Bind(runtime.Data{"n": n, "Q": q, "c": zero}, runtime.BindOptions{})
		if (err == nil) != (want == nil) || err != nil && err.Error() != want.Error() {
			t.Fatalf("round %d: %v, and Bind says %v", round, err, want)
		}
		if err != nil {
			if refused++; least > 1e-9 {
				t.Errorf("round %d: %v is refused: %v", round, least, err)
			}
			continue
		}
		p = next
		const rounding = 1e-12
		facts, full := p.Numeric.Facts, bound.Numeric.Facts
		if mu := facts.StrongConvexity; !(mu <= least+rounding*most && mu >= full.StrongConvexity/2-rounding*most) {
			t.Errorf("round %d: mu = %v, Bind proves %v, and it is %v", round, mu, full.StrongConvexity, least)
		}
		if c := facts.Smoothness; !(c >= most*(1-rounding) && c <= 1.5*full.Smoothness) {
			t.Errorf("round %d: C_g = %v, Bind proves %v, and it is %v", round, c, full.Smoothness, most)
		}
		if facts.StrongConvexity < full.StrongConvexity {
			weaker++
		}
		// What is read off the structure is the same.
		facts.StrongConvexity, facts.Smoothness = full.StrongConvexity, full.Smoothness
		if math.Abs(facts.SmoothnessF-full.SmoothnessF) > 0 || facts.QuadraticInY != full.QuadraticInY || facts.FixedHessian != full.FixedHessian {
			t.Errorf("round %d: %+v, of Bind %+v", round, facts, full)
		}
	}
	if refused < 5 || weaker < 10 {
		t.Errorf("%d refused, %d with a smaller modulus than Bind's: this test sees nothing", refused, weaker)
	}
}

// symmetric is a random matrix with the given eigenvalues.
func symmetric(rng *rand.Rand, values []float64) [][]float64 {
	n := len(values)
	d := draws{Rand: rng}
	rows := d.matrix(n, n)
	a := mat.NewDense(n, n, nil)
	for i, row := range rows {
		a.SetRow(i, row)
	}
	var qr mat.QR
	qr.Factorize(a)
	var q, scaled, out mat.Dense
	qr.QTo(&q)
	scaled.Mul(&q, mat.NewDiagDense(n, values))
	out.Mul(&scaled, q.T())
	for i := range rows {
		for j := range i + 1 {
			rows[i][j] = (out.At(i, j) + out.At(j, i)) / 2
			rows[j][i] = rows[i][j]
		}
	}
	return rows
}
