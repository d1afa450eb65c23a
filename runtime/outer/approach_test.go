package outer

import (
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/planted"
	"bilevelc/runtime/central"
)

// A path whose points cost systems of the size of the rows alone begins with the Hessian that they need, which lower solves along the rows have not measured.
func TestApproachesKnowTheHessian(t *testing.T) {
	rng := members.Rand(t, 21)
	begun := 0
	for range members.Of(4, 40) {
		in, err := planted.New(planted.Options{Family: planted.Convex, Dx: 20 + rng.IntN(10), Dy: 50 + rng.IntN(20), Floors: 10 + rng.IntN(20), Active: 3, Kinks: 2, Condition: 10, Seed: rng.Uint64()})
		if err != nil {
			t.Fatal(err)
		}
		if !central.Condenses(in.Problem) {
			t.Fatal("a problem with few rows and no pattern")
		}
		h := hyper(t, in.Problem)
		projector := h.Projector()
		run := &Run{Rand: rng, h: h, projector: projector, published: &published{}, Start: in.Problem.Start}
		run.width = run.widthAt(run.Start)
		c, err := run.Gradient(t.Context(), run.Start)
		if err != nil {
			t.Fatal(err)
		}
		m := &bundle{Settings: *defaultBundle(), Keeps: Keeps[bundleState]{bundleState{Center: *c}}}
		m.rescale(run)
		if err := m.prepare(t.Context(), run, c); err != nil {
			t.Fatal(err)
		}
		if m.State.Approach == nil {
			continue
		}
		if begun++; !m.State.Approach.Recalled {
			t.Errorf("%d and %d variables, %d rows: a path without the Hessian", in.Problem.Dx, in.Problem.Dy, in.Problem.Rows.Len())
		}
	}
	if begun == 0 {
		t.Error("no path began")
	}
}

// Whatever stages take, mu falls by a tenth to a half.
func TestStages(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for k := range 100 {
		scale := 0.1 + rng.Float64()
		a := &approach{Mu: scale, Ratio: approachRatio, Scale: central.Barrier{Mu: scale}}
		for a.Mu > 1e-6*scale {
			steps := rng.IntN(3 * manySteps)
			ratio := a.Ratio
			a.fall(steps)
			if by := a.Mu / a.Last; !(by >= approachRatio*(1-1e-12) && by <= mostRatio) {
				t.Fatalf("run %d: mu falls by %g", k, by)
			}
			if steps > manySteps && a.Ratio < ratio || steps <= fewSteps && a.Ratio > ratio || steps > fewSteps && steps <= manySteps && a.Ratio != ratio {
				t.Fatalf("run %d: after %d steps the ratio is %g, before %g", k, steps, a.Ratio, ratio)
			}
		}
	}
}

// A descent that has come to need a matrix has those after it begin with one; whether they still
// need it is asked after 1, 2, 4, ... of them.
func TestStagesThatBeginWithAMatrix(t *testing.T) {
	a, whole := &approach{}, ""
	for range 12 {
		if a.Whole > 0 {
			whole += "w"
		} else {
			whole += "."
		}
		a.learn(&smoothDescent{metric: &metric{}})
	}
	if whole != ".w.ww.wwww.w" {
		t.Error(whole)
	}
	a = &approach{Wholes: 4}
	if a.learn(&smoothDescent{}); a.Whole != 0 || a.Wholes != 0 {
		t.Errorf("%d of %d stages to come begin with a matrix that the last did not need", a.Whole, a.Wholes)
	}
}
