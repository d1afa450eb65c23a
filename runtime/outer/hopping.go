package outer

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"bilevelc/internal/ablation"
	"bilevelc/runtime/parametric"
	"bilevelc/runtime/problem"
)

// hopping is the way from the start to where bundles take over where the lower level is a parametric quadratic
// program, of which F and its gradient cost a small part of a lower solve: monotonic basin hopping (Wales and Doye
// 1997; Leary 2000). A descent by L-BFGS leads to a local minimum, a jump away from the lowest one so far begins the
// next; local minima of F lie in funnels, along which such jumps lead down, where as many starts from all of X each
// end at a minimum of their own. Each step of the run is a round of descents (hopRound), after which what it has
// found is evaluated in full. Nothing that is said of the result comes from here.
//
// The search ends after as many descents in a row that gain nothing as there were before, hopLeast at least, when it
// has read hopEnough numbers or they are hopMost; after hopAlike dear descents that have all ended next to each other;
// or, in any case, when it has read hopRead.
type hopping struct {
	Seed   uint64
	Round  int
	Tried  int       // descents
	Gained int       // of these, up to the last that gained
	Apart  float64   // how far their ends are from each other at the most, in F
	X      []float64 // the lowest point; nil before there is one
	F      float64   // there, by the program
	First  float64   // where the first descent began
	Read   float64   // numbers
	Start  float64   // F where the run began
}

const (
	hopRound = 2e8    // numbers read: a twentieth of a second
	hopRead  = 1.6e10 // four seconds
	hopLeast = 80
	// Where descents are dear, hopAlike of which the ends are less than hopApart of what F has fallen by from each other
	// are enough: F seems to have one minimum, next to which descents end where it has kinks. That is asked when hopDear
	// numbers have been read, a second's: where descents cost little, many more tell more.
	hopAlike = 20
	hopApart = 1e-3
	hopDear  = 4e9
	// hopEnough is what a search reads in any case, a tenth of a second: where a descent takes half a millisecond many
	// more may fail before one gains.
	hopEnough = 4e8
	// hopMost is how many in vain are enough even so: descents that end at once read next to nothing.
	hopMost = 1000
	// hopPrepare is how much of hopRead it may take to make the program.
	hopPrepare = 0.25
	// hopFewest is how many evaluations it has to last for: ten descents.
	hopFewest = 2000
	// A gain that counts, and a step that a descent ends after, three times in a row, as a part of what F has fallen by.
	hopGain      = 1e-6
	hopTolerance = 1e-7
	hopSteps     = 1000 // evaluations of a descent
	hopMemory    = 10   // pairs of L-BFGS
	hopFirst     = 1e-2 // the first step of a descent, relative to the size of x
	// hopArrival is how far a step from where hops have led may go at first, relative to the size of x: descents
	// end next to a minimum.
	hopArrival = 1e-3
	// hopMu is the mu that the path goes on with then, of that of its first stage. Slacks and multipliers of its
	// size move x by about the root of it, 3 %: less than the shortest jump.
	hopMu = 1e-3
)

// jumps are the lengths of jumps, in turn, relative to the reach of the search: half the interval of an entry with
// bounds, and of the others what a typical one is away from the start by. Where F has few minima long ones find more,
// where it has many short ones do; jumps of a twentieth find next to nothing.
var jumps = [...]float64{1, 0.5, 0.25}

// hop makes the run begin with hops from the start; false where the lower level is no parametric program, X more than
// a box, or the program does not give F at the start.
func (m *bundle) hop(ctx context.Context, run *Run, start *Sample) bool {
	if ablation.Off("hopping") {
		return false
	}
	s := &m.State
	p := run.h.Problem()
	if run.limits.Gain > 0 || !hops(p) {
		return false
	}
	m.program = run.h.(pathful).Parametric(ctx, false)
	if m.program == nil {
		return false
	}
	const same = 1e-6 // of what values of F are known to it may round more than a lower solve
	f, ok := m.program.Evaluate(make([]float64, len(start.X)), start.X)
	if !ok || math.Abs(f-start.F) > same*(math.Abs(start.F)+run.Size(start.X)*norm(start.G)) {
		return false
	}
	s.Hopping = &hopping{Seed: run.Rand.Uint64(), F: f, First: f, Start: start.F}
	return true
}

// hops reports whether a search on p can be by hops, and is worth its preparation.
func hops(p *problem.Problem) bool {
	if x := p.X; !parametric.Applies(p) || x.Lo == nil || x.Hi == nil || len(x.Rhs) > 0 || len(x.Balls) > 0 || x.Extended != nil {
		return false
	}
	prepare, evaluate := parametric.Work(p)
	return prepare <= hopPrepare*hopRead && hopFewest*evaluate <= hopRead
}

// round is one round of descents.
func (m *bundle) round(ctx context.Context, run *Run) error {
	s := &m.State
	b := *s.Hopping
	if h, ok := run.h.(pathful); ok && m.program == nil && hops(h.Problem()) {
		m.program = h.Parametric(ctx, true)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if m.program == nil {
		return Stuck("the state is of a problem whose lower level is a parametric program")
	}
	d := &descent{run: run, program: m.program}
	d.program.Reset()
	d.read()
	rng := rand.New(rand.NewPCG(b.Seed, uint64(b.Round)))
	before, until := b.F, math.Min(b.Read+hopRound, hopRead)
	for b.Read < until && !b.over() {
		x, f, err := d.minimize(ctx, b.next(run, rng), b.First-b.F)
		b.Read += d.read()
		if err != nil {
			return err
		}
		b.Tried++
		if x == nil {
			continue
		}
		if b.X != nil {
			b.Apart = math.Max(b.Apart, math.Abs(f-b.F))
		}
		if b.X == nil || b.F-f > hopGain*(b.First-b.F) {
			b.Gained = b.Tried
		}
		if b.X == nil || f < b.F {
			b.X, b.F = x, f
		}
	}
	if b.Round++; b.X != nil && (b.F < before || b.Round == 1) {
		if err := m.land(ctx, run, b.X); err != nil {
			return err
		}
	}
	if s.Hopping = nil; !b.over() {
		s.Hopping = &b
		return nil
	}
	m.rescale(run)
	s.Continued = "no descent on the follower's parametric program led lower than the start"
	if !(s.Center.F < b.Start-run.Noise(&s.Center)) {
		return nil
	}
	s.Approached, s.Continued = true, b.text()
	s.Reach = math.Min(s.Reach, hopArrival*run.Size(s.Center.X))
	return m.settle(ctx, run, &b)
}

// text says how the search has ended.
func (b *hopping) text() string {
	return fmt.Sprintf("reached by descents on the follower's parametric program, the lowest of %d", b.Tried)
}

// settle has the last stages of an approach along the central path lead from where hops have ended to the minimum
// next to it: with hundreds of kinks around, bundles take longer.
func (m *bundle) settle(ctx context.Context, run *Run, b *hopping) error {
	s := &m.State
	path := run.h.(pathful).Central(true)
	pt, err := run.h.Value(ctx, s.Center.X)
	if err != nil || path == nil {
		return ignoring(err)
	}
	scale := path.Of(pt.X, pt.Lower.Y, pt.Lower.Lambda)
	path.Begin(pt.Lower.Y, scale)
	if mu := hopMu * scale.Mu; mu > 0 && path.At(ctx, pt.X, mu) == nil {
		length := hopArrival * run.Size(pt.X)
		s.Approach = &approach{Mu: mu, Ratio: approachRatio, X: clone(pt.X), Y: clone(pt.Lower.Y), Moved: length, Radius: length,
			Scale: scale, Start: b.Start, Descents: b.text(), Recalled: true}
		m.path = path
	}
	return nil
}

// land evaluates F where a round has led, in full.
func (m *bundle) land(ctx context.Context, run *Run, x []float64) error {
	inside := make([]float64, len(x))
	err := run.Project(inside, x)
	var now *Sample
	if err == nil {
		now, err = run.Gradient(ctx, inside)
	}
	if err != nil {
		if Outside(err) {
			return nil
		}
		return err
	}
	if s := &m.State; now.F < s.Center.F {
		s.LastStep = distance(now.X, s.Center.X)
		s.Center = *now
	}
	return nil
}

// over reports that the search has ended.
func (b *hopping) over() bool {
	vain := b.Tried - b.Gained
	if b.Tried >= hopAlike && b.Apart <= hopApart*(b.First-b.F) && b.Read >= hopDear {
		return true
	}
	return vain >= max(hopLeast, b.Gained) && (b.Read >= hopEnough || vain >= hopMost) || b.Read >= hopRead
}

// next is where the next descent begins: at the start of the run, and then a jump away from the lowest point.
func (b *hopping) next(run *Run, rng *rand.Rand) []float64 {
	switch {
	case b.Tried == 0 || b.X == nil:
		return clone(run.Start)
	}
	lo, hi := run.box()
	free, away := 0.0, 0.0
	for j, v := range b.X {
		if math.IsInf(hi[j]-lo[j], 1) {
			free++
			away += (v - run.Start[j]) * (v - run.Start[j])
		}
	}
	if away = math.Sqrt(away / math.Max(free, 1)); away == 0 {
		away = run.width
	}
	x := clone(b.X)
	share := jumps[b.Tried%len(jumps)]
	for j := range x {
		reach := away
		if width := hi[j] - lo[j]; !math.IsInf(width, 1) {
			reach = width / 2
		}
		x[j] = math.Max(lo[j], math.Min(hi[j], x[j]+share*reach*rng.NormFloat64()))
	}
	return x
}

func (b *hopping) Valid(d Dimensions) error {
	if b.X != nil {
		if err := Vectors(d.X, b.X); err != nil {
			return err
		}
	}
	if b.Round < 0 || b.Gained < 0 || b.Tried < b.Gained || !(b.Read >= 0) || !(b.Apart >= 0) || !finite(b.F, b.First, b.Read, b.Start, b.Apart) {
		return fmt.Errorf("its descents are none")
	}
	return nil
}
