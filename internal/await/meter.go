package await

import "context"

// Meter ends work that has many small steps, each of which it is told of: parsing,
// checking, binding. A nil Meter ends nothing. It serves one goroutine.
type Meter struct {
	ctx   context.Context
	steps uint
}

// stride is how many steps are taken between two looks at the context: a look takes
// some ten nanoseconds, about as long as the shortest steps (one token), and 256 of
// the longest (a row of constraints) some milliseconds.
const stride = 256

// ended is the panic with which Step leaves work whose context has ended.
type ended struct{ meter *Meter }

// Step counts a step. Where the context has ended it does not return: Within does.
func (m *Meter) Step() {
	if m == nil {
		return
	}
	if m.steps++; m.steps%stride == 0 {
		m.Look()
	}
}

// Look is Step before something long: it looks at the context at once.
func (m *Meter) Look() {
	if m != nil && m.ctx.Err() != nil {
		panic(ended{m})
	}
}

// Within does work in steps. The error is the cause of the end of ctx, if that came
// first: what the work has made is then of no use.
func Within(ctx context.Context, work func(m *Meter)) (err error) {
	m := &Meter{ctx: ctx}
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if e, ok := v.(ended); !ok || e.meter != m {
			panic(v)
		}
		err = context.Cause(ctx)
	}()
	m.Look()
	work(m)
	return nil
}
