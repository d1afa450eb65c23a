package codegen

import (
	"bilevelc/codegen/kernel"
	"math"
	"slices"
)

// Evaluator computes a program's outputs. It holds the arena, and what
// depends on x only from the last call; it is not safe for concurrent use.
// Destinations must not overlap x or y.
type Evaluator struct {
	program *Program
	arena   []float64
	x       []float64 // the x of the last call; NaN before the first
	fresh   []bool    // which instructions of the x stage have run for it
	all     [entryCount]bool
	base    [inData][]float64
	crew    crew
	frame   Frame // of native code
}

// NewEvaluator returns an evaluator with an arena of its own.
func (p *Program) NewEvaluator() *Evaluator {
	e := &Evaluator{program: p, arena: make([]float64, p.arena), x: make([]float64, p.dx), fresh: make([]bool, len(p.hold))}
	kernel.Fill(e.x, math.NaN())
	e.base[inArena] = e.arena
	if p.native != nil {
		e.frame = e.newFrame()
	}
	return e
}

// Clone returns an independent evaluator of the same program.
func (e *Evaluator) Clone() *Evaluator { return e.program.NewEvaluator() }

// Value returns the value at (x, y).
func (e *Evaluator) Value(x, y []float64) float64 {
	return e.call(entryValue, nil, nil, x, y)
}

// GradX sets dst (len dx) to the gradient in x.
func (e *Evaluator) GradX(dst, x, y []float64) { e.call(entryGradX, dst, nil, x, y) }

// GradY sets dst (len dy) to the gradient in y.
func (e *Evaluator) GradY(dst, x, y []float64) { e.call(entryGradY, nil, dst, x, y) }

// ValueGradY returns the value and sets dst (len dy) to the gradient in y.
func (e *Evaluator) ValueGradY(dst, x, y []float64) float64 {
	return e.call(entryValueGradY, nil, dst, x, y)
}

// ValueGrad returns the value and sets dstX and dstY to the gradients.
func (e *Evaluator) ValueGrad(dstX, dstY, x, y []float64) float64 {
	return e.call(entryValueGrad, dstX, dstY, x, y)
}

// call runs one entry: what is stale of the x stage, then the y stage.
func (e *Evaluator) call(k entry, gx, gy, x, y []float64) float64 {
	p := e.program
	e.base[inX], e.base[inY], e.base[inGradX], e.base[inGradY] = x[:p.dx], y[:p.dy], gx, gy
	if p.native != nil {
		e.frame.X, e.frame.Y, e.frame.GradX, e.frame.GradY = x[:p.dx], y[:p.dy], gx, gy
	}
	if p.readsX[k] {
		e.refresh(k, x)
	}
	if p.native != nil {
		p.native.Entry[k](&e.frame)
	} else {
		code := p.code[k]
		for i := range code {
			e.run(&code[i])
		}
	}
	if v := p.value[k]; v.n == 1 {
		return e.at(v)[0]
	}
	return 0
}

// refresh runs the part of the x stage that entry k needs and that has not
// run for this x.
func (e *Evaluator) refresh(k entry, x []float64) {
	if !slices.Equal(e.x, x[:len(e.x)]) {
		copy(e.x, x)
		clear(e.fresh)
		e.all = [entryCount]bool{}
	}
	if e.all[k] {
		return
	}
	hold := e.program.hold
	for i := range hold {
		if hold[i].need&(1<<k) != 0 && !e.fresh[i] {
			if n := e.program.native; n != nil {
				n.Hold[i](&e.frame)
			} else {
				e.run(&hold[i])
			}
			e.fresh[i] = true
		}
	}
	e.all[k] = true
}

// at is the slice at a place.
func (e *Evaluator) at(r ref) []float64 {
	if r.base == inData {
		return e.program.data[r.off]
	}
	return e.base[r.base][r.off : r.off+r.n]
}
