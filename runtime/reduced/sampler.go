package reduced

import "bilevelc/runtime/kkt"

// Sampler gives values of F at points, each from the rows that held at the one before: a few exchanges of block principal pivoting where they are near.
type Sampler struct {
	p      *piece
	warm   bool
	factor int64
}

// NewSampler prepares values of F on a system as Solve takes it, with Options.Multipliers or nil.
func NewSampler(sys *kkt.System, multipliers func(x []float64) []float64) (*Sampler, error) {
	s, err := newSolver(sys, Options{NoPath: true, Multipliers: multipliers})
	if err != nil {
		return nil, err
	}
	a := &Sampler{p: s.newPiece()}
	if n := int64(s.f.n); s.f.sparse == nil {
		a.factor = n * n * n / 6
	}
	return a, nil
}

// Value is F at x, in X; false where the follower has no answer there, or rounding keeps it from being found.
func (a *Sampler) Value(x []float64) (f float64, ok bool) {
	p := a.p
	st, err := p.start(x)
	if err != nil {
		return 0, false
	}
	if !a.warm {
		p.seed(st)
	}
	a.warm = p.returnTo(st.W)
	if !a.warm {
		p.z.begin()
		return 0, false
	}
	return p.calc.value(p.point()), true
}

// Work is what all values have taken so far, in multiplications, with the follower's factor.
func (a *Sampler) Work() int64 { return a.factor + a.p.counted().Operations }
