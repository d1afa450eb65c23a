package outer

import (
	"bilevelc/internal/ablation"
	"context"
	"errors"
	"slices"
	"sort"

	"bilevelc/runtime/qp"
)

// chain samples gradients for a certificate where kinks meet. Near the center F
// is its own piece plus hinges, each of which enters the stationarity of the
// model with a slope theta_k in [0, 1]. With the thetas in descending order,
//
//	sum_k theta_k h_k = sum_j (theta_j - theta_{j+1}) sum_{k <= j} h_k
//
// is a convex combination over the pieces on which the first j hinges are bent
// and the others not: one more piece than there are kinks, instead of one for
// each subset. chain finds a point of each such piece within delta, by the
// hinges' own equations, and evaluates the gradient there. Pieces without such a
// point are left out; where several in a row have none the hinges are not of pieces side
// by side, and the others are left out, too.
func (m *goldstein) chain(ctx context.Context, run *Run, delta float64) ([]Sample, error) {
	if ablation.Off("chain") {
		return nil, nil
	}
	s := &m.state
	var near []qp.Affine
	for i := range s.Kinks {
		a, convex := m.hinge(&s.Kinks[i])
		if convex && -a.Offset <= delta/2*norm(a.Gradient) {
			near = append(near, a)
		}
	}
	if len(near) == 0 {
		return nil, nil
	}
	// Slopes of the stationary model; the curvature keeps its step within delta.
	largest := norm(s.Center.G)
	for _, a := range near {
		largest += norm(a.Gradient)
	}
	d := make([]float64, run.Dim())
	for j := range d {
		d[j] = largest / delta
	}
	step, err := run.projector.Step(s.Center.X, &qp.Model{H: qp.DiagonalCurvature(d), Pieces: []qp.Affine{{Gradient: s.Center.G}}, Hinges: near})
	if err != nil {
		return nil, err
	}
	order := make([]int, len(near))
	for k := range order {
		order[k] = k
	}
	sort.SliceStable(order, func(a, b int) bool { return step.Slopes[order[a]] > step.Slopes[order[b]] })
	var out []Sample
	missed := 0
	for bent := 0; bent <= len(near) && missed < mostMissed; bent++ {
		// Between equal slopes the weight of the piece is zero.
		above, below := 1.0, 0.0
		if bent > 0 {
			above = step.Slopes[order[bent-1]]
		}
		if bent < len(near) {
			below = step.Slopes[order[bent]]
		}
		if above-below <= 1e-12 {
			continue
		}
		x, err := m.inside(run, near, order[:bent], delta)
		if err != nil {
			return out, err
		}
		if missed++; x == nil {
			continue
		}
		missed = 0
		sample, err := run.Gradient(ctx, x)
		if err != nil {
			if outside(err) {
				continue
			}
			return out, err
		}
		out = append(out, *sample)
	}
	return out, nil
}

// mostMissed is how many pieces in a row may have no point: to show that there is none takes a tenth of a second with
// some hundred hinges.
const mostMissed = 3

// inside returns the point nearest to the center at which exactly the given
// hinges are bent, each hinge with a margin that shrinks until the point is
// within delta; nil where there is none.
func (m *goldstein) inside(run *Run, near []qp.Affine, bent []int, delta float64) ([]float64, error) {
	const least = 0x1p-12 // of delta
	c := m.state.Center.X
	x := make([]float64, len(c))
	cuts := make([]qp.Cut, len(near))
	// with sets x to the point nearest to the center with a margin, and reports whether there is one.
	with := func(margin float64) (bool, error) {
		for k, a := range near {
			sign := 1.0
			if slices.Contains(bent, k) {
				sign = -1
			}
			size := norm(a.Gradient)
			// sign (offset + gradient'(x - c)) <= -margin |gradient|
			cuts[k].Normal = plus(make([]float64, len(c)), sign/size, a.Gradient)
			cuts[k].Side = dot(cuts[k].Normal, c) - sign*a.Offset/size - margin
		}
		err := run.projector.ProjectWithin(x, c, cuts)
		var empty *qp.EmptySetError
		if errors.As(err, &empty) || err != nil && outside(err) {
			return false, nil
		}
		return err == nil, err
	}
	for margin := delta / 4; margin >= least*delta; margin /= 4 {
		some, err := with(margin)
		if err != nil {
			return nil, err
		}
		if some && distance(x, c) <= delta {
			return x, nil
		}
		if !some && margin == delta/4 {
			// Where there is none with the least margin there is none with a larger one.
			if some, err = with(least * delta); err != nil || !some {
				return nil, err
			}
		}
	}
	return nil, nil
}
