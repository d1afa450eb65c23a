package paper

import (
	"context"
	"math"

	"bilevelc/internal/must"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/method"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// izoSettings are the settings of the method `izo`.
type izoSettings struct {
	Delta     float64 `setting:"delta" doc:"radius of the Goldstein subdifferential" min:"1e-12"`
	Epsilon   float64 `setting:"epsilon" doc:"target for its smallest element" min:"1e-12"`
	Alpha     float64 `setting:"alpha" doc:"accuracy of the values of F" min:"0"`
	Lipschitz float64 `setting:"lipschitz" doc:"L, the Lipschitz constant of F; 0 estimates it from sampled differences" min:"0"`
	Gap       float64 `setting:"gap" doc:"F(x0) - inf F; 0 estimates it" min:"0"`
	Smoothing float64 `setting:"smoothing" doc:"smoothing radius rho; 0 derives min(delta/2, gap/L)" min:"0"`
	Clip      float64 `setting:"clip" doc:"clipping radius D, by hand; 0 derives nu/M" min:"0"`
	Rate      float64 `setting:"rate" doc:"step size eta; 0 derives D/(G sqrt M)" min:"0"`
	Block     int     `setting:"block" doc:"block length M; 0 derives 9 max(alpha^2 d^2/(rho^2 epsilon^2), L^2 d/epsilon^2), or nu/D where clip is set" min:"0"`
	Blocks    int     `setting:"blocks" doc:"number of blocks K; 0 derives 3 gap/(nu epsilon)" min:"0"`
}

func init() {
	outer.Register(outer.Spec{
		Name:      "izo",
		Summary:   "the zeroth-order form of oigrm: two values of F along a random direction make a gradient of a smoothed F",
		Reference: "alg: IZO, thm: Lipschitz-min-with-inexact-zero-oracle, thm:izo_complete_guarantees",
		Assumes:   []problem.Assumption{problem.StronglyConvexG, problem.LipschitzF},
	}, // of moderate accuracy: the theorem's budget grows like d delta^-1 epsilon^-3
		&izoSettings{Delta: 0.1, Epsilon: 0.1, Alpha: 1e-8}, func(s izoSettings, _ method.Values) (outer.Method, error) { return &izo{Settings: s}, nil })
}

// izo is the method `izo`, alg: IZO with the parameters of the proof:
// rho = min(delta/2, gap/L), nu = delta - rho, M >= 9 max(alpha^2 d^2/(rho^2
// epsilon^2), L^2 d/epsilon^2), K >= 3 gap/(nu epsilon), D = nu/M and
// eta = D/(G sqrt M) with G^2 = alpha^2 d^2/rho^2 + d L^2. Points of the
// difference that leave X or D are projected, and the difference is then over the
// distance between them.
type izo struct {
	Settings izoSettings
	onlineMethod
}

// Begin implements Method.
func (m *izo) Begin(ctx context.Context, run *outer.Run) (err error) {
	defer must.Catch(&err)
	set := &m.Settings
	c := must.Get(m.constants(ctx, run))
	d, l := float64(run.Dim()), c.Lipschitz
	rho := set.Smoothing
	if rho == 0 {
		rho = math.Min(set.Delta/2, c.Gap/l)
	}
	nu := math.Max(set.Delta-rho, set.Delta*1e-3)
	g := math.Hypot(set.Alpha*d/rho, l*math.Sqrt(d))
	p := plan{D: set.Clip, Eta: set.Rate, M: set.Block, K: set.Blocks,
		ByHand: given([]string{"smoothing", "clip", "rate", "block", "blocks"}, set.Smoothing, set.Clip, set.Rate, float64(set.Block), float64(set.Blocks))}
	p = p.filled(nu, 9/(set.Epsilon*set.Epsilon)*math.Max(math.Pow(set.Alpha*d/rho, 2), l*l*d), 3*c.Gap/(nu*set.Epsilon), g)
	m.begin(run.Start, p, c)
	m.State.Rho = rho
	return nil
}

// constants is estimate with values of F alone: L from differences along random
// directions, whose root mean square is |grad F| / sqrt(d).
func (m *izo) constants(ctx context.Context, run *outer.Run) (_ *constants, err error) {
	defer must.Catch(&err)
	set := &m.Settings
	first := must.Get(run.Value(ctx, run.Start))
	c := &constants{F0: first.F, Lipschitz: set.Lipschitz, Gap: set.Gap, GradError: set.Alpha, Given: set.Lipschitz > 0 && set.Gap > 0}
	return c, c.complete(run, func() (float64, error) {
		root := 0.0 // of the sum of squares, which may be beyond double precision
		w := make([]float64, run.Dim())
		for range tolerance.Draws {
			run.Direction(w)
			slope, _, err := m.slope(ctx, run, run.Start, w, set.Delta/2)
			if err != nil {
				return 0, err
			}
			root = math.Hypot(root, slope)
		}
		return root * math.Sqrt(float64(run.Dim())/tolerance.Draws), nil
	})
}

// slope is (F~(z + rho w) - F~(z - rho w)) / (2 rho) and the lower of the two.
func (m *izo) slope(ctx context.Context, run *outer.Run, z, w []float64, rho float64) (slope, f float64, err error) {
	defer must.Catch(&err)
	up, down := linalg.Plus(z, rho, w), linalg.Plus(z, -rho, w)
	must.Do(run.Project(up, up))
	must.Do(run.Project(down, down))
	apart := linalg.Dot(linalg.Minus(up, down), w)
	above := must.Get(run.Value(ctx, up))
	below := must.Get(run.Value(ctx, down))
	if apart <= 0 {
		return 0, math.Min(above.F, below.F), nil
	}
	return (above.F - below.F) / apart, math.Min(above.F, below.F), nil
}

// Predict is 2 K M values.
func (m *izo) Predict(*outer.Run) *outer.Budget {
	return m.State.predict(2, "thm: Lipschitz-min-with-inexact-zero-oracle", m.Settings.Block > 0 && m.Settings.Blocks > 0)
}

// Step implements Method.
func (m *izo) Step(ctx context.Context, run *outer.Run) (string, error) {
	return "", m.State.step(run, func(z []float64) ([]float64, float64, error) {
		w := make([]float64, run.Dim())
		run.Direction(w)
		slope, f, err := m.slope(ctx, run, z, w, m.State.Rho)
		return linalg.Plus(make([]float64, len(w)), float64(len(w))*slope, w), f, err
	})
}

// Finish implements Method.
func (m *izo) Finish(ctx context.Context, run *outer.Run, result *outer.Result) error {
	return m.finish(ctx, run, result, m.Settings.Delta)
}
