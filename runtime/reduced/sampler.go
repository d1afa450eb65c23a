package reduced

// Sampler gives values of F at points, each from the rows that held at the one before: a few exchanges of block principal pivoting where they are near.
type Sampler struct {
	p    *piece
	warm bool
	work Work
}

// Sampler prepares values of F, with Options.Multipliers or nil.
func (s *Space) Sampler(multipliers func(x []float64) []float64) *Sampler {
	return &Sampler{p: s.solver(Options{NoPath: true, Multipliers: multipliers}).newPiece()}
}

// Value is F at x, in X; false where the follower has no answer there, or rounding keeps it from being found.
func (a *Sampler) Value(x []float64) (f float64, ok bool) {
	p := a.p
	before := p.counted()
	defer func() { a.work.add(p.counted(), before) }()
	st, err := p.start(x)
	if err != nil {
		return 0, false
	}
	if !a.warm {
		p.seed(st)
	}
	a.warm = p.returnTo(st.W)
	if !a.warm {
		return 0, false
	}
	return p.calc.value(p.point()), true
}

// Work is what all values have taken so far, in multiplications.
func (a *Sampler) Work() int64 { return a.work.Operations }
