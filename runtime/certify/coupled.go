package certify

import (
	"math"
	"math/rand/v2"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// Constraints of the upper level that are not part of X (problem.Coupled) take part
// in a Goldstein certificate through an exact penalty: its gradients are those of
// F + sum_i w_i max(0, c_i), with |c_i| for equations. At a point that satisfies the
// constraints it is one of constrained stationarity, with the multipliers
// sum_k weight_k w_i s_ik, where s_ik in [-1, 1] says how c_i enters the piece of
// sample k. Samples name the constraints that are positive as m + i in Active.

// Coupled is what a document claims about such constraints.
type Coupled struct {
	Values      []float64 // c at (X, Y), one a constraint
	Penalty     []float64 // w, >= 0; nil where no certificate was made with it
	Multipliers []float64 // nil where none are claimed
}

// coupling is how a deriver sees the constraints at one sample.
type coupling struct {
	weight   []float64
	positive map[int]bool // those the document says are positive
}

// rows splits the rows of a sample into those of the lower level and the coupled
// constraints behind them.
func (v *verification) split(active []int) (rows []int, positive map[int]bool) {
	positive = map[int]bool{}
	if active == nil {
		return nil, positive
	}
	rows = []int{}
	for _, i := range active {
		if m := v.p.Rows.Len(); i < m {
			rows = append(rows, i)
		} else {
			positive[i-m] = true
		}
	}
	return rows, positive
}

// values of the coupled constraints at a derived point.
func (d *deriver) coupled(at *derived) []float64 {
	fy := make([]float64, d.p.AnswerLen())
	d.f.ValueGradY(fy, at.x, d.p.Answer(at.y, at.lambda))
	return d.p.CoupledPart(fy)
}

// signed are the weights with which the constraints enter F at a derived point. A
// constraint whose share of F is within its rounding is taken as the document says:
// if its gradient is not zero there, F has both pieces on open sets next to the
// point; if it is, they have the same gradient.
func (d *deriver) signed(at *derived) []float64 {
	c, of := d.coupled(at), problem.Coupled{Kind: d.p.Coupled.Kind, Weight: d.coupling.weight}
	return of.Signs(func(i int) bool {
		if of.Weight[i]*math.Abs(c[i]) <= tolerance.SolveAccuracy*d.s.value {
			return d.coupling.positive[i]
		}
		return c[i] > 0
	})
}

// coupled checks the claims about the values of the constraints, and where the
// document says that it is solved that they hold: that to first order a point within
// delta satisfies them.
func (v *verification) coupled() {
	if v.p.Coupled == nil {
		return
	}
	claimed := v.doc.Coupled
	if claimed == nil {
		v.fail("upper constraints", "the document does not say whether they hold")
		return
	}
	found := v.coupledValues()
	sizes := v.d.coupledSizes()
	for i, c := range claimed.Values {
		v.equal("upper constraint "+v.p.Coupled.Name[i], c, found[i], sizes[i])
	}
	strong := v.certificate().Strong != nil
	if !v.doc.Solved || !strong && (!v.doc.Stationary || v.at == nil) {
		return
	}
	terms, _ := v.termsOfCoupled(found)
	for i, c := range v.violations(found) {
		claim, most := "solved: "+v.p.Coupled.Name[i]+" holds", tolerance.Weak*terms[i] // at the point itself, as its rows do
		switch {
		case strong:
		case c <= 0:
			continue
		default:
			slope, err := v.d.coupledSlope(v.at, i)
			if err != nil {
				v.fail(claim, "its gradient could not be derived: %v", err)
				continue
			}
			most = math.Min(v.rounding(slope, sizes[i]), tolerance.Target*terms[i]) // a slope is that of one side, and X may end before it is met
		}
		v.within(claim, math.Max(0, c), most)
	}
}

// weighedSlack is the sum of the constraints' slacks by the multipliers that are claimed.
func (v *verification) weighedSlack() (sum float64) {
	c := v.doc.Coupled
	if c == nil || len(c.Multipliers) != len(c.Values) {
		return 0
	}
	for i, t := range v.coupledValues() {
		if v.p.Coupled.Kind[i] != problem.Equal {
			sum += math.Abs(c.Multipliers[i]) * math.Max(0, -t)
		}
	}
	return sum
}

// violations are the values of the constraints, for equations without their sign.
func (v *verification) violations(values []float64) []float64 {
	return each.Below(len(values), func(i int) float64 { return v.p.Coupled.Kind[i].Over(values[i]) })
}

// rounding is the violation of a constraint of that slope and size at which it counts as
// satisfied: to first order a point within delta satisfies it.
func (v *verification) rounding(slope, size float64) float64 {
	return slope*math.Max(tolerance.Target*v.d.s.x, v.delta()) + tolerance.SolveAccuracy*size
}

// coupledSizes are the largest values of the constraints that are seen at the document's
// point and at a few others of X, with y as far off as it moves.
func (d *deriver) coupledSizes() []float64 {
	sizes := make([]float64, len(d.p.Coupled.Kind))
	rng := rand.New(rand.NewPCG(5, uint64(d.p.Dx)))
	x, y := d.x, d.y
	for k := range 1 + probes {
		if k > 0 {
			x = d.s.probe(d.p, d.x, rng)
			y = each.Of(d.y, func(t float64) float64 { return t + d.s.response*(2*rng.Float64()-1) })
		}
		for i, c := range d.coupled(&derived{x: x, y: y, lambda: d.lambda}) {
			sizes[i] = math.Max(sizes[i], finite(math.Abs(c)))
		}
	}
	return sizes
}

// coupledSlope is the norm of the gradient of c_i(x, y*(x), lambda*(x)) on a face.
func (d *deriver) coupledSlope(at *derived, i int) (_ float64, err error) {
	defer must.Catch(&err)
	plain := must.Get(d.gradientSigned(at, nil))
	one := make([]float64, len(d.p.Coupled.Kind))
	one[i] = 1
	with := must.Get(d.gradientSigned(at, one))
	return distance(with, plain), nil
}

// penalized prepares the deriver for the samples of a certificate; false where the
// document's weights are not such.
func (v *verification) penalized() bool {
	if v.p.Coupled == nil {
		return true
	}
	n := len(v.p.Coupled.Kind)
	if v.doc.Coupled == nil || len(v.doc.Coupled.Penalty) != n {
		v.fail("Goldstein certificate", "the weights of the %d upper constraints are missing", n)
		return false
	}
	for i, w := range v.doc.Coupled.Penalty {
		if !(w >= 0) || math.IsInf(w, 1) {
			v.fail("Goldstein certificate", "the weight of %s is %v", v.p.Coupled.Name[i], w)
			return false
		}
	}
	v.d.coupling = &coupling{weight: v.doc.Coupled.Penalty}
	return true
}

// multipliers checks those that the samples show.
func (v *verification) multipliers(found []float64) {
	if v.p.Coupled == nil {
		return
	}
	if len(v.doc.Coupled.Multipliers) != len(found) {
		v.fail("multipliers of the upper constraints", "%d are claimed for %d constraints", len(v.doc.Coupled.Multipliers), len(found))
		return
	}
	v.vector("multipliers of the upper constraints", v.doc.Coupled.Multipliers, found, tolerance.SolveAccuracy*norm(v.doc.Coupled.Penalty))
}
