package runtime

import (
	"context"
	"sync"

	"bilevelc/runtime/compile"
)

// shared is what all goroutines that use one problem have in common.
type shared struct {
	idle   sync.Pool // of *Problem: copies with evaluators of their own
	once   sync.Once // of digest
	digest string

	findFree sync.Once // of free
	free     []string  // see freeEntries

	layers sync.Pool // of *Layer, see Evaluate

	slopes   sync.Once         // of slope
	slope    *compile.Function // see slopeGradients
	slopeErr error
}

// borrow is the problem with evaluators of its own, for one call, from those that
// earlier calls have left. done gives them back, unless ctx has ended: then what was
// given up may still use them.
func (p *Problem) borrow(ctx context.Context) (own *Problem, done func()) {
	if kept, ok := p.shared.idle.Get().(*Problem); ok {
		own = kept
	} else {
		own = p.apart()
	}
	return own, func() {
		if ctx.Err() == nil {
			own.f.Trace() // the next one does not hear of faults of this one
			own.g.Trace()
			p.shared.idle.Put(own)
		}
	}
}

// counted is the problem with a count of its own of calls.
func (p *Problem) counted() *Problem {
	own := *p
	own.Numeric = p.Numeric.Counted()
	return &own
}

// apart is the problem with evaluators, and faults found by them, of its own.
func (p *Problem) apart() *Problem {
	own := *p
	own.f, own.g = p.f.Apart(), p.g.Apart()
	numeric := p.Numeric.Clone()
	numeric.F, numeric.G = own.f, own.g
	own.Numeric = numeric
	if p.ties != nil {
		t := *p.ties
		t.g = t.g.Apart()
		own.ties = &t
	}
	if p.exact != nil {
		own.exact = p.exact.apart()
	}
	return &own
}
