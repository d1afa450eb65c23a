package oracle

import (
	"context"
	"math"
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// DifferenceSettings are the settings of the oracle `difference`.
type DifferenceSettings struct {
	Central bool    `setting:"central" doc:"difference over +delta and -delta, error O(delta^2), instead of over delta and 0, error O(delta)"`
	Reach   float64 `setting:"reach" doc:"how far delta moves y, relative to 1 + |y|; ignored where delta is set" min:"1e-12" max:"1"`
	Delta   float64 `setting:"delta" doc:"the perturbation g + delta f itself; 0 derives it from reach" min:"0"`
}

// DefaultDifference are the defaults: a central difference with its truncation
// error, of order reach^2 = 1e-10, below the error of the lower solves, about
// 1e-13/reach = 1e-8.
func DefaultDifference() *DifferenceSettings {
	return &DifferenceSettings{Central: true, Reach: 1e-5}
}

func init() {
	register(Spec{
		Name:        "difference",
		Summary:     "perturbs the lower level to g + delta f and differences the Lagrangians; on inequality rows, on the frozen face of the active ones",
		Reference:   "alg:LE-inexact-gradient-oracle, eq:part-hypergrad-approx-lin-eq, lem:lineq-finitediff-equals-gradf",
		Assumes:     []problem.Assumption{problem.StronglyConvexG, problem.SmoothG, problem.StrictComplementarity},
		Multipliers: true,
	}, DefaultDifference(), func(s DifferenceSettings) Oracle { return &Difference{Settings: s} })
}

// Difference is the oracle `difference`: the paper's v_x + grad_x f, with y_delta
// and lambda_delta from min g + delta f. Where rows are inequalities, the active
// ones at y* are kept as equalities and the others dropped, so that the perturbed
// solution stays on the smooth piece of F to which x belongs.
type Difference struct{ Settings DifferenceSettings }

// Gradient implements Oracle.
func (o *Difference) Gradient(ctx context.Context, dst []float64, at *At) (float64, error) {
	p := at.Problem
	rhs := newAdjointRHS(dst, at)
	c := rhs.force(p, at.held())
	d := &differences{at: at, rhs: rhs, face: lower.NewFaceSolver(), slope: linalg.Norm(c)}
	defer d.face.Release()
	if d.slope == 0 {
		return 0, nil
	}
	scratch := make([]float64, p.Dy)
	f := freeze(at)
	d.perturb = func(delta float64) lower.Objective {
		return &perturbed{g: lower.G(p, at.X), f: f, delta: delta, grad: scratch}
	}
	scale := at.size()
	delta := o.Settings.Delta
	if delta == 0 {
		delta = d.stepFor(o.Settings.Reach*scale, c)
	}
	v := make([]float64, len(dst))
	order := 2.0
	solve := d.central
	if !o.Settings.Central {
		order, solve = 1, d.forward
	}
	again := func(dst []float64, delta float64) (speed float64, err error) {
		d.force = 0
		return solve(ctx, dst, delta)
	}
	speed, err := again(v, delta)
	// An ill-conditioned g lets y move much further than its curvature along
	// the force suggests.
	if moved := speed * delta; err == nil && o.Settings.Delta == 0 && moved > 3*o.Settings.Reach*scale {
		delta *= o.Settings.Reach * scale / moved
		speed, err = again(v, delta)
	}
	// Where rows leave y nowhere to go nothing is curved over a longer step, which the rounding of
	// the forces that they hold is small beside.
	if longer := d.held / d.slope; err == nil && o.Settings.Delta == 0 && d.vertex && longer > delta && d.noise(linalg.Norm(v)) > tolerance.Target*linalg.Norm(v) {
		delta = longer
		speed, err = again(v, delta)
	}
	off, uncertain, known := 0.0, 0.0, true
	// Nor does it know a g that is curved on a length far below the step. Shorter ones are tried, down to where rounding hides more of the equation of the way than it is off, and the best is kept.
	size, best, kept := linalg.Norm(v), math.Inf(1), struct {
		v                            []float64
		delta, speed, off, uncertain float64
		d                            differences
	}{}
	for attempt, step := 1, delta; err == nil && !p.Facts.QuadraticInY; attempt++ {
		off, uncertain = d.defect(d.moved, step, scale)
		size = math.Max(size, linalg.Norm(v))
		if total := math.Max(off, uncertain)*size + d.noise(linalg.Norm(v)); total < best || attempt == 1 {
			best = total
			kept.v, kept.delta, kept.speed, kept.off, kept.uncertain, kept.d = slices.Clone(v), step, speed, off, uncertain, *d
		}
		if off <= math.Max(tolerance.Target, uncertain) || o.Settings.Delta != 0 || attempt == tolerance.Halvings {
			known = attempt == 1 && uncertain <= tolerance.Target
			v, delta, speed, off, uncertain, *d = kept.v, kept.delta, kept.speed, kept.off, kept.uncertain, kept.d
			break
		}
		step /= 64
		speed, err = again(v, step)
	}
	// Where the length is not known on which g is curved, half of the step shows the error
	// of the whole, and has half of it or less.
	halved := 0.0
	if err == nil && !known {
		half := make([]float64, len(v))
		delta /= 2
		speed, err = again(half, delta)
		halved = linalg.Distance(half, v)
		copy(v, half)
	}
	if err != nil {
		return 0, err
	}
	at.Terms = d.terms(linalg.Norm(dst), linalg.Norm(v))
	linalg.Axpy(dst, 1, v)
	// The truncation error, taken to be of the order of the relative step, or of the
	// relative change of the force grad_y f over it, to the power of the order, as far
	// as the derivative's own equation can tell.
	step := math.Max(speed*delta/scale, d.forceChange(f))
	size = d.uncancelled(v)
	truncation := math.Max(halved, size*math.Max(math.Pow(step, order), math.Max(off, uncertain)))
	return truncation + d.noise(size) + tolerance.FewRoundings*linalg.Norm(dst), nil
}
