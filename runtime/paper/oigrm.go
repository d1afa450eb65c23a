package paper

import (
	"context"
	"math"

	"bilevelc/internal/must"
	"bilevelc/runtime/method"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/problem"
)

// oigrmSettings are the settings of the method `oigrm`.
type oigrmSettings struct {
	Delta     float64 `setting:"delta" doc:"radius of the Goldstein subdifferential" min:"1e-12"`
	Epsilon   float64 `setting:"epsilon" doc:"target for its smallest element" min:"1e-12"`
	Lipschitz float64 `setting:"lipschitz" doc:"L, the Lipschitz constant of F; 0 estimates it from sampled gradients" min:"0"`
	Gap       float64 `setting:"gap" doc:"F(x0) - inf F; 0 estimates it" min:"0"`
	Clip      float64 `setting:"clip" doc:"clipping radius D, by hand; 0 derives delta/M" min:"0"`
	Rate      float64 `setting:"rate" doc:"step size eta; 0 derives D/(G sqrt M)" min:"0"`
	Block     int     `setting:"block" doc:"block length M; 0 derives 4 G^2/epsilon^2, or delta/D where clip is set" min:"0"`
	Blocks    int     `setting:"blocks" doc:"number of blocks K; 0 derives 2 gap/(delta epsilon)" min:"0"`
}

func init() {
	outer.Register(outer.Spec{
		Name:      "oigrm",
		Summary:   "online gradient descent on the steps, from inexact gradients at random points of each step",
		Reference: "alg: OIGRM, thm:Lipschitz-min-with-inexact-grad-oracle",
		Assumes:   []problem.Assumption{problem.StronglyConvexG, problem.LipschitzF},
	}, // of moderate accuracy: the theorem's budget grows like delta^-1 epsilon^-3
		&oigrmSettings{Delta: 0.1, Epsilon: 0.1}, func(s oigrmSettings, _ method.Values) (outer.Method, error) { return &oigrm{Settings: s}, nil })
}

// oigrm is the method `oigrm`, alg: OIGRM with the parameters of the proof:
// with G = sqrt(L^2 + alpha^2), M >= 4 G^2/epsilon^2, K >= 2 gap/(delta epsilon),
// D = delta/M, eta = D/(G sqrt M).
type oigrm struct {
	Settings oigrmSettings
	onlineMethod
}

// Begin implements Method.
func (m *oigrm) Begin(ctx context.Context, run *outer.Run) (err error) {
	defer must.Catch(&err)
	set := &m.Settings
	c := must.Get(estimate(ctx, run, set.Delta, set.Lipschitz, set.Gap))
	g := math.Hypot(c.Lipschitz, c.GradError)
	p := plan{D: set.Clip, Eta: set.Rate, M: set.Block, K: set.Blocks,
		ByHand: given([]string{"clip", "rate", "block", "blocks"}, set.Clip, set.Rate, float64(set.Block), float64(set.Blocks))}
	p = p.filled(set.Delta, 4*g*g/(set.Epsilon*set.Epsilon), 2*c.Gap/(set.Delta*set.Epsilon), g)
	m.begin(run.Start, p, c)
	return nil
}

// Predict is K M gradients.
func (m *oigrm) Predict(*outer.Run) *outer.Budget {
	return m.State.predict(1, "thm:Lipschitz-min-with-inexact-grad-oracle", m.Settings.Block > 0 && m.Settings.Blocks > 0)
}

// Step implements Method.
func (m *oigrm) Step(ctx context.Context, run *outer.Run) (string, error) {
	return "", m.State.step(run, func(z []float64) ([]float64, float64, error) {
		g, err := run.Gradient(ctx, z)
		if err != nil {
			return nil, 0, err
		}
		return g.G, g.F, nil
	})
}

// Finish implements Method.
func (m *oigrm) Finish(ctx context.Context, run *outer.Run, result *outer.Result) error {
	return m.finish(ctx, run, result, m.Settings.Delta)
}
