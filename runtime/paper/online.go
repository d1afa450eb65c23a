package paper

import (
	"context"
	"fmt"
	"math"
	"strings"

	"bilevelc/internal/must"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/outer"
)

// online is the online-to-nonconvex conversion that alg: IZO and alg: OIGRM
// share: x_t = x_{t-1} + Delta_t, gradients at z_t = x_{t-1} + s_t Delta_t, and
// online gradient descent on Delta, clipped to radius D. Blocks of M points z are
// averaged, and the output is one average drawn at random. Points are projected
// onto X and D, the whole space in the paper; Delta is then the step really
// taken.
type online struct {
	X     []float64 // x_{t-1}
	Delta []float64 // Delta_t
	T     int       // steps done
	Block []float64 // sum of the z of the unfinished block
	Out   []float64 // an average drawn uniformly from those of the finished blocks
	Done  int       // finished blocks
	Plan  plan
}

// plan are the parameters of a run, derived from (delta, epsilon) or set.
type plan struct {
	D   float64 // clipping radius
	Eta float64 // step size of the online gradient descent
	M   int     // block length
	K   int     // number of blocks
	// ByHand names the parameters that were set and not derived: then no theorem
	// speaks of the outcome.
	ByHand string
}

// radius is the delta of a plan: the theorem's, or how far from their mean the M
// points of a block can be. Steps are at most D long.
func (p plan) radius(delta float64) float64 {
	return math.Max(delta, p.D*float64(p.M))
}

// basis says where a plan comes from.
func (p plan) basis(theorem string, c *constants) string {
	if p.ByHand != "" {
		theorem = p.ByHand + " set by hand: no theorem speaks of the outcome"
	}
	return fmt.Sprintf("%s, M = %d, K = %d, with %s", theorem, p.M, p.K, c)
}

// given names the settings that are not zero.
func given(names []string, values ...float64) string {
	var set []string
	for i, v := range values {
		if v != 0 {
			set = append(set, names[i])
		}
	}
	return strings.Join(set, ", ")
}

// filled derives what nobody has set: M points of a block, which are within nu of each other, K blocks, D = nu/M and eta = D/(g sqrt M).
func (p plan) filled(nu, m, k, g float64) plan {
	if p.M == 0 && p.D > 0 {
		p.M = max(1, int(math.Min(nu/p.D, 1<<52)))
	}
	if p.M == 0 {
		p.M = count(m)
	}
	if p.K == 0 {
		p.K = count(k)
	}
	if p.D == 0 {
		p.D = nu / float64(p.M)
	}
	if p.Eta == 0 {
		p.Eta = p.D / (g * math.Sqrt(float64(p.M)))
	}
	return p
}

// onlineRun is the state of a run of either algorithm.
type onlineRun struct {
	Online    online
	F         float64
	LastStep  float64
	GradNorm  float64
	Constants constants
	Rho       float64 `json:",omitempty"` // smoothing radius of izo
}

// onlineMethod is what methods of either algorithm have in common.
type onlineMethod struct{ outer.Keeps[onlineRun] }

func (m *onlineMethod) begin(x []float64, p plan, c *constants) {
	m.State = onlineRun{Online: online{X: x, Delta: make([]float64, len(x)), Block: make([]float64, len(x)), Plan: p}, F: c.F0, Constants: *c}
}

// Iterate implements Method.
func (m *onlineMethod) Iterate() (x []float64, f, step, measure float64) {
	return m.State.Online.X, m.State.F, m.State.LastStep, m.State.GradNorm
}

func (m *onlineMethod) Valid(d outer.Dimensions) error { return m.State.Online.Valid(d) }

// finish is Finish for a radius of the Goldstein subdifferential.
func (m *onlineMethod) finish(ctx context.Context, run *outer.Run, result *outer.Result, delta float64) error {
	s := &m.State
	result.Parameters = s.Online.Plan.parameters(s.Constants.parameters())
	if s.Rho > 0 {
		result.Parameters["rho"] = s.Rho
	}
	return finishSampled(ctx, run, result, s.Online.sampled(), s.Online.Plan.radius(delta-s.Rho)+s.Rho)
}

// predict is the budget of K M steps of so many evaluations each.
func (r *onlineRun) predict(each float64, theorem string, chosen bool) *outer.Budget {
	p := r.Online.Plan
	t := float64(p.M) * float64(p.K)
	return &outer.Budget{Iterations: t, Evaluations: each * t, Chosen: chosen, Basis: p.basis(theorem, &r.Constants)}
}

// step is step t; gradient estimates that at z, with a value of F.
func (r *onlineRun) step(run *outer.Run, gradient func(z []float64) (g []float64, f float64, err error)) error {
	if r.Online.Done >= r.Online.Plan.K {
		return r.Online.spent()
	}
	x, z, err := r.Online.next(run)
	if err != nil {
		return err
	}
	g, f, err := gradient(z)
	if err != nil {
		return err
	}
	r.F, r.GradNorm, r.LastStep = f, linalg.Norm(g), linalg.Distance(x, r.Online.X)
	r.Online.advance(run, x, z, g)
	return nil
}

func (o *online) Valid(d outer.Dimensions) error {
	if p := o.Plan; o.T < 0 || o.Done < 0 || p.M < 1 || p.K < 1 || !(p.D > 0) || !(p.Eta > 0) {
		return fmt.Errorf("step %d, %d blocks done, %+v", o.T, o.Done, p)
	}
	if o.Out != nil {
		if err := outer.Vectors(d.X, o.Out); err != nil {
			return err
		}
	}
	return outer.Vectors(d.X, o.X, o.Delta, o.Block)
}

// next draws s_t and returns x_t and z_t, projected.
func (o *online) next(run *outer.Run) (x, z []float64, err error) {
	defer must.Catch(&err)
	s := run.Rand.Float64()
	x, z = linalg.Plus(o.X, 1, o.Delta), linalg.Plus(o.X, s, o.Delta)
	must.Do(run.Project(x, x))
	must.Do(run.Project(z, z))
	return x, z, nil
}

// advance ends step t with the gradient estimate g at z.
func (o *online) advance(run *outer.Run, x, z, g []float64) {
	step := linalg.Plus(linalg.Minus(x, o.X), -o.Plan.Eta, g)
	if n := linalg.Norm(step); n > o.Plan.D {
		step = linalg.Plus(make([]float64, len(step)), o.Plan.D/n, step)
	}
	o.X, o.Delta = x, step
	o.T++
	o.Block = linalg.Plus(o.Block, 1/float64(o.Plan.M), z)
	if o.T%o.Plan.M == 0 {
		o.Done++
		if run.Rand.IntN(o.Done) == 0 {
			o.Out = o.Block
		}
		o.Block = make([]float64, len(z))
	}
}

// spent is the end of a run whose blocks are done.
func (o *online) spent() error {
	if o.Plan.ByHand != "" {
		return outer.Spent(fmt.Sprintf("the budget of %d blocks of %d steps is used up; with %s set by hand no theorem speaks of the outcome", o.Plan.K, o.Plan.M, o.Plan.ByHand))
	}
	return outer.Spent(fmt.Sprintf("the theorem's budget of %d blocks of %d steps is used up, and it speaks of the mean of a block drawn at random", o.Plan.K, o.Plan.M))
}

// sampled is the point of the theorem, or the iterate where no block is done.
func (o *online) sampled() []float64 {
	if o.Out == nil {
		return o.X
	}
	return o.Out
}

// count rounds a real budget up, within what an int holds.
func count(v float64) int {
	return int(math.Min(math.Max(1, math.Ceil(v)), 1<<52))
}

func (p plan) parameters(into map[string]float64) map[string]float64 {
	into["D"], into["eta"], into["M"], into["K"] = p.D, p.Eta, float64(p.M), float64(p.K)
	return into
}
