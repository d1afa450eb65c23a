package certify

import (
	"testing"

	"bilevelc/internal/planted"
)

// A problem of the size of the benchmarks is verified within seconds.
func TestLarge(t *testing.T) {
	in, err := planted.New(planted.Options{Dx: 200, Dy: 400, Links: 20, Floors: 200, Active: 100, Kinks: 30, Weak: 5,
		Implied: 20, UpperActive: 10, Condition: 1e4, Seed: 9})
	if err != nil {
		t.Fatal(err)
	}
	doc := plantedDocument(in, in.Problem.Start)
	doc.Certificate.Goldstein = goldsteinOf(1e-3, []Sample{{Point: doc.X, Gradient: doc.Hypergradient, Weight: 1}}, nil, 0)
	requireOK(t, "large", Verify(doc, in.Problem))
	doc.Hypergradient[7] += 1e-2
	if Verify(doc, in.Problem).OK() {
		t.Error("a changed hypergradient passed")
	}
}
