package curvature

import (
	"slices"

	"bilevelc/internal/extended"
	"bilevelc/ir"
	"bilevelc/ir/expr"
	"bilevelc/ir/facts"
)

// Earlier is a problem with what was proved of it, of which another one has the shapes
// and some of the numbers. What it depends on is compared to the last bit, so that a
// claim which is taken over is what a proof from the beginning would find. A claim on
// other numbers is proved again, and begins with the cheapest proof (recheck.go).
type Earlier struct {
	Problem *ir.Problem
	Proof   *Proof
}

// renewal says which claims of an earlier proof hold again without being looked at.
type renewal struct {
	*Earlier
	f, g     bool // an objective is the same, and so are its regions
	hessianF bool // the second derivatives of f are the same, and so is X
	hessianY bool // the second derivatives of g in y are the same, and so is X
	rows     bool // what depends on the rows of the lower level alone is the same
}

// compare finds what a problem has in common with an earlier one.
func (pr *prover) compare(e *Earlier) renewal {
	r := renewal{Earlier: e}
	if e == nil || e.Proof == nil || e.Problem.Lower.Dim != pr.Lower.Dim || e.Problem.Upper.Dim != pr.Upper.Dim {
		return renewal{}
	}
	before := e.Problem
	everywhere, feasible, _ := domains(before)
	if !slices.Equal(everywhere.x, pr.everywhere.x) || !sameRows(before.X.Rows, pr.X.Rows) || !expr.SameMatrix(before.X.E, pr.X.E) ||
		!expr.SameBits(before.X.Rhs, pr.X.Rhs) || !slices.Equal(before.X.Balls, pr.X.Balls) || !sameExtended(before.X.Extended, pr.X.Extended) || !slices.Equal(before.Duals, pr.Duals) {
		return renewal{}
	}
	normals := sameRows(before.Rows, pr.Rows) && expr.SameMatrix(before.B, pr.B)
	r.rows = normals && expr.SameMatrix(before.A, pr.A) && expr.SameBits(before.Rhs, pr.Rhs)
	if q := e.Proof.Qualification; normals && !r.rows { // independent rows are so with any other side
		r.rows = q.Rank >= 0 && len(q.Dependent) == 0 && slices.Equal(opposites(before), opposites(pr.Problem))
	}
	regions := normals && slices.Equal(feasible.y, pr.feasible.y)
	numbers := &expr.Comparison{}
	same := func(wrt expr.Deps, a, b *expr.Node) bool {
		degrees := [2]*facts.Degrees{facts.NewDegrees(before.Graph, wrt), facts.NewDegrees(pr.Graph, wrt)}
		return sameHessian(numbers, degrees, a, b)
	}
	const both = expr.DependsX | expr.DependsY
	r.hessianF = same(both, before.Upper.Objective, pr.Upper.Objective)
	r.hessianY = same(expr.DependsY, before.Lower.Objective, pr.Lower.Objective)
	r.f = regions && numbers.Same(before.Upper.Objective, pr.Upper.Objective)
	r.g = regions && numbers.Same(before.Lower.Objective, pr.Lower.Objective)
	return r
}

func sameExtended(a, b *extended.Rows) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.Equal(a.Of, b.Of) && expr.SameMatrix(a.E, b.E) && expr.SameBits(a.Rhs, b.Rhs)
}

func sameRows(a, b []ir.Row) bool {
	return slices.EqualFunc(a, b, func(u, v ir.Row) bool { return u.Equal == v.Equal })
}

// sameHessian reports that two sums have the same second derivatives in the variables of
// the degrees, term by term: terms that are affine in them may differ.
func sameHessian(numbers *expr.Comparison, degrees [2]*facts.Degrees, a, b *expr.Node) bool {
	if degrees[0].Affine(a) && degrees[1].Affine(b) {
		return true
	}
	if a.Op != b.Op || a.Shape != b.Shape {
		return false
	}
	switch a.Op {
	case expr.Add, expr.Sub, expr.Neg:
		for i := range a.Args {
			if a.Args[i].Shape != b.Args[i].Shape || !sameHessian(numbers, degrees, a.Args[i], b.Args[i]) {
				return false
			}
		}
		return true
	}
	return numbers.Same(a, b)
}

// bound takes a bound over where it holds again: it is of the same expression over the
// same regions, or of second derivatives that are the same, and holds for every y.
// Otherwise it is found anew.
func (r renewal) bound(same, hessian bool, of func(*Proof) Bound, anew func() Bound) Bound {
	if r.Earlier != nil {
		if b := of(r.Proof); b.Known && (same || hessian && b.Scope == everywhere) {
			return b
		}
	}
	return anew()
}

// convexity is a proof that holds again, or not one.
func (r renewal) convexity() Convexity {
	if r.Earlier != nil {
		if c := r.Proof.Convexity; c.Outcome == proved && (r.g || r.hessianY && c.Scope == everywhere) {
			return c
		}
	}
	return Convexity{}
}
