// Package await bounds the wait for work that cannot be interrupted: reading from a
// pipe that nobody writes to, parsing, binding, proofs.
package await

import (
	"context"
	"fmt"
	"runtime/debug"
)

// Do does work on a goroutine of its own and returns what it returns, or, when ctx
// ends first, the cause of that. The work is then left to end by itself, and must
// share nothing that the caller goes on to change. A panic of the work is one of
// the caller, with a *Fault.
func Do[T any](ctx context.Context, work func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
		fault *Fault
	}
	ended := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if v := recover(); v != nil {
				o.fault = &Fault{Value: v, Stack: debug.Stack()}
			}
			ended <- o
		}()
		o.value, o.err = work()
	}()
	select {
	case o := <-ended:
		if o.fault != nil {
			panic(o.fault)
		}
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// Fault is a panic of the work, with the stack where it happened.
type Fault struct {
	Value any
	Stack []byte
}

func (f *Fault) Error() string { return fmt.Sprint(f.Value) }
