package paper

import (
	"context"
	"fmt"
	"math"

	"bilevelc/internal/must"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/tolerance"
)

// constants are what the theorems ask to be known of F.
type constants struct {
	F0        float64
	Lipschitz float64 // L
	Gap       float64 // F(x0) - inf F
	GradError float64 // alpha of a gradient oracle
	Given     bool    // both L and the gap were set by hand
}

func (c *constants) String() string {
	how := "estimated at the start"
	if c.Given {
		how = "as given"
	}
	return fmt.Sprintf("L = %.3g and F(x0) - inf F = %.3g, %s", c.Lipschitz, c.Gap, how)
}

func (c *constants) parameters() map[string]float64 {
	return map[string]float64{"L": c.Lipschitz, "gap": c.Gap, "alpha": c.GradError}
}

// estimate finds L as the largest of a few gradients within delta of the start,
// and the gap as the decrease that such a gradient suggests over a distance of
// 1 + |x0|. Neither is a bound; values given by hand take their place.
func estimate(ctx context.Context, run *outer.Run, delta, lipschitz, gap float64) (_ *constants, err error) {
	defer must.Catch(&err)
	first := must.Get(run.Gradient(ctx, run.Start))
	c := &constants{F0: first.F, Lipschitz: lipschitz, Gap: gap, GradError: first.GError, Given: lipschitz > 0 && gap > 0}
	return c, c.complete(run, func() (float64, error) {
		steep := linalg.Norm(first.G)
		samples, err := sampleBall(ctx, run, run.Start, math.Max(delta, 1e-6), 3)
		for _, s := range samples {
			steep = math.Max(steep, linalg.Norm(s.G))
			c.GradError = math.Max(c.GradError, s.GError)
		}
		return steep, err
	})
}

// complete makes what is not given: L as measured, and the gap from it. A theorem speaks of none that is no number.
func (c *constants) complete(run *outer.Run, measured func() (float64, error)) (err error) {
	if c.Lipschitz == 0 {
		if c.Lipschitz, err = measured(); err != nil {
			return err
		}
		if c.Lipschitz == 0 {
			c.Lipschitz = 1
		}
	}
	if c.Gap == 0 {
		c.Gap = c.Lipschitz * run.Size(run.Start)
	}
	if !linalg.Finite([]float64{c.Lipschitz, c.Gap, c.GradError}) {
		return outer.Stuck(fmt.Sprintf("the theorem's constants are beyond double precision (%s)", c))
	}
	return nil
}

// finishSampled evaluates the point that a theorem speaks of and certifies the
// best one at radius delta.
func finishSampled(ctx context.Context, run *outer.Run, result *outer.Result, sampled []float64, delta float64) (err error) {
	defer must.Catch(&err)
	x := linalg.Clone(sampled)
	if err := run.Project(x, x); err == nil {
		if pt, err := run.Point(ctx, x); err == nil {
			result.Sampled = pt
		}
	}
	samples := must.Get(sampleBall(ctx, run, result.Best.X, delta, min(tolerance.Draws, run.Dim()+1)))
	result.Certificate = must.Get(outer.Certify(ctx, run, result.Best, samples, delta))
	if result.Certificate == nil {
		return outer.ErrNoCertificate
	}
	result.Measure = outer.Measure{Name: outer.GoldsteinMeasure,
		Value: result.Certificate.Norm, Delta: delta}
	return nil
}

// sampleBall evaluates count gradients at points drawn from the ball of radius
// delta around x, projected onto X and D. Points where F has no value are left
// out.
func sampleBall(ctx context.Context, run *outer.Run, x []float64, delta float64, count int) ([]outer.Sample, error) {
	var out []outer.Sample
	direction := make([]float64, len(x))
	for range count {
		run.Direction(direction)
		// Uniform in radius rather than in volume: near points matter most.
		radius := delta * run.Rand.Float64()
		s, err := run.Try(ctx, linalg.Plus(x, radius, direction))
		if err != nil {
			return out, err
		}
		if s != nil {
			out = append(out, *s)
		}
	}
	return out, nil
}
