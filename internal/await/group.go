package await

import (
	"runtime/debug"
	"sync"
)

// Group is a sync.WaitGroup whose functions may panic: Wait then does, with the *Fault
// of the first, where the caller can recover it. The zero Group is ready.
type Group struct {
	wait  sync.WaitGroup
	mu    sync.Mutex
	fault *Fault
}

// Go runs a function on a goroutine of its own.
func (g *Group) Go(work func()) {
	g.wait.Go(func() {
		defer g.Catch()
		work()
	})
}

// Catch is deferred by work on goroutines that the group has not started: a panic of
// the work is one of the group.
func (g *Group) Catch() {
	v := recover()
	if v == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.fault != nil {
		return
	}
	if inner, ok := v.(*Fault); ok {
		g.fault = inner
	} else {
		g.fault = &Fault{Value: v, Stack: debug.Stack()}
	}
}

// Wait waits for all functions, and panics where one of them did.
func (g *Group) Wait() {
	g.wait.Wait()
	g.Rethrow()
}

// Rethrow panics where work did that has ended.
func (g *Group) Rethrow() {
	g.mu.Lock()
	fault := g.fault
	g.fault = nil
	g.mu.Unlock()
	if fault != nil {
		panic(fault)
	}
}
