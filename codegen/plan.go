package codegen

import (
	"fmt"
	"slices"

	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
)

// Bases of a ref.
const (
	inArena = iota
	inX
	inY
	inGradX // the caller's destination
	inGradY
	inData // dense data: ref.off is an index into Program.data
)

// ref is a place: n entries from off on.
type ref struct {
	base   uint8
	off, n int
}

// instr is one step of a compiled program.
type instr struct {
	op             op
	out, in        []ref
	rows, cols     int // of the matrix argument as stored: opMatVec, opMatMul, opTranspose
	rowsB, colsB   int // of the second matrix: opMatMul
	transA, transB bool
	symmetric      bool
	alpha          float64
	index          []int
	sparse         *sparse.CSR // opMatVec, opMatMul: the first matrix, where it is sparse
	loop           *loop
	parts          int // pieces that may run concurrently
	scratch        int // arena offset of partial sums, one set a piece (opFused, symmetric opMatVec), or of a column (opMatMul)
	stage          stage
	need           uint8 // x stage: entries that need it, one bit each
}

// alignment of arrays in the arena, in entries: one cache line of 64 bytes.
const alignment = 8

// arena hands out places. With reuse, freed places are handed out again.
type arena struct {
	size  int // high-water mark
	reuse bool
	free  []span // by ascending offset, no two adjacent
}

type span struct{ off, n int }

func padded(n int) int { return (n + alignment - 1) / alignment * alignment }

// take finds n entries: the first free span that is long enough.
func (a *arena) take(n int) int {
	n = padded(n)
	for i, s := range a.free {
		if s.n < n {
			continue
		}
		if s.n == n {
			a.free = slices.Delete(a.free, i, i+1)
		} else {
			a.free[i] = span{s.off + n, s.n - n}
		}
		return s.off
	}
	// The last free span may be extended past the high-water mark.
	if k := len(a.free) - 1; k >= 0 && a.free[k].off+a.free[k].n == a.size {
		off := a.free[k].off
		a.free = a.free[:k]
		a.size = off + n
		return off
	}
	off := a.size
	a.size += n
	return off
}

// give frees n entries at off.
func (a *arena) give(off, n int) {
	if !a.reuse {
		return
	}
	n = padded(n)
	i := 0
	for i < len(a.free) && a.free[i].off < off {
		i++
	}
	a.free = slices.Insert(a.free, i, span{off, n})
	if i+1 < len(a.free) && off+n == a.free[i+1].off {
		a.free[i].n += a.free[i+1].n
		a.free = slices.Delete(a.free, i+1, i+2)
	}
	if i > 0 && a.free[i-1].off+a.free[i-1].n == off {
		a.free[i-1].n += a.free[i].n
		a.free = slices.Delete(a.free, i, i+1)
	}
}

// planner places the values of one form and writes its instructions.
type planner struct {
	program *Program
	f       *form
	held    []ref // places of the x stage's results, by slot
	arena   *arena
	gradX   bool // the caller wants a whole gradient in x
	gradY   bool // and in y
	dense   []bool
	place   []ref
	last    []int // index of the last user of each value; len(vals) for outputs
	code    []instr
	live    int // entries taken now
	peak    int
}

// plan writes the code of a form. Contract: every value that the code
// computes has a place of its own from its definition to its last use;
// gradients are written where the caller wants them; entries of a gradient
// that no output covers are set to 0.
func (p *planner) plan() {
	f := p.f
	p.place = make([]ref, len(f.vals))
	p.last = make([]int, len(f.vals))
	p.dense = f.arraysNeeded()
	direct := make([]*output, len(f.vals))
	for i := range f.vals {
		for _, a := range f.vals[i].args {
			p.last[a] = i
		}
	}
	for k := range f.outs {
		o := &f.outs[k]
		p.last[o.v] = len(f.vals)
		if w := f.vals[o.v].op; w != opConst && w != opVar && w != opHeld && (o.to == toX || o.to == toY) && direct[o.v] == nil {
			direct[o.v] = o
		}
	}
	for i := range f.vals {
		p.define(i, direct)
		p.release(i)
	}
	p.outputs(direct)
}

// define places value i and writes its instruction.
func (p *planner) define(i int, direct []*output) {
	f, v := p.f, &p.f.vals[i]
	n := v.shape.Len()
	switch v.op {
	case opConst:
		if a := f.constant(i); a.Sparse == nil || p.dense[i] {
			p.place[i] = p.program.dataRef(a)
		}
		return
	case opVar:
		p.place[i] = ref{inX, v.offset, n}
		if v.lower {
			p.place[i].base = inY
		}
		return
	case opHeld:
		p.place[i] = p.held[v.offset]
		return
	case opPart:
		return // placed with its loop
	}
	must.Be(v.op < opFunction && instructions[v.op].run != nil, "codegen: no instruction for %s outside of loops", v.op)
	in := instr{op: v.op, transA: v.transA, transB: v.transB, symmetric: v.symmetric, alpha: v.alpha,
		index: v.index, loop: v.loop, stage: v.stage}
	for k, a := range v.args {
		w := &f.vals[a]
		if w.shape.Rank == 2 {
			if k == 0 {
				in.rows, in.cols = w.shape.Rows, w.shape.Cols
			} else {
				in.rowsB, in.colsB = w.shape.Rows, w.shape.Cols
			}
		}
		if k == 0 && w.op == opConst && w.array.Sparse != nil && !p.dense[a] {
			in.sparse = w.array.Sparse
		}
		in.in = append(in.in, p.place[a])
	}
	for j := i; j == i || j < len(f.vals) && f.vals[j].op == opPart && f.vals[j].args[0] == i; j++ {
		p.place[j] = p.fresh(j, direct[j])
		in.out = append(in.out, p.place[j])
	}
	if n := scratch(&in); n > 0 {
		in.scratch = p.take(n)
		p.give(in.scratch, n)
	}
	p.code = append(p.code, in)
}

// scratch cuts an instruction into pieces and returns the entries that it
// needs while it runs.
func scratch(in *instr) int {
	in.parts = 1
	switch in.op {
	case opFused:
		in.parts = piecesOf(in.loop.n * (len(in.loop.steps) + 2*in.loop.rowLen))
		return in.parts * in.loop.sums()
	case opMatVec:
		in.parts = matVecPieces(in)
		if in.symmetric && in.sparse == nil && in.parts > 1 {
			return in.parts * padded(in.rows)
		}
	case opMatMul:
		if in.transA {
			return in.rows
		}
	}
	return 0
}

// gradient is where each gradient goes.
var gradient = map[target]uint8{toX: inGradX, toY: inGradY}

// fresh is a new place for value j: in the caller's gradient where it is one.
func (p *planner) fresh(j int, o *output) ref {
	n := p.f.vals[j].shape.Len()
	if o != nil {
		return ref{gradient[o.to], o.offset, n}
	}
	return ref{inArena, p.take(n), n}
}

func (p *planner) take(n int) int {
	p.live += padded(n)
	p.peak = max(p.peak, p.live)
	return p.arena.take(n)
}

func (p *planner) give(off, n int) {
	p.live -= padded(n)
	p.arena.give(off, n)
}

// release frees the places whose last use was value i.
func (p *planner) release(i int) {
	done := func(j int) {
		v := &p.f.vals[j]
		if p.last[j] <= i && p.place[j].base == inArena && p.place[j].n > 0 && v.op != opHeld && v.op != opConst {
			p.give(p.place[j].off, p.place[j].n)
			p.place[j] = ref{inArena, 0, -1} // never again
		}
	}
	for _, a := range p.f.vals[i].args {
		done(a) // once: then it has no place
	}
	done(i)
}

// outputs writes the copies and zeros that gradients still need, and notes
// where the value and what the x stage holds are found.
func (p *planner) outputs(direct []*output) {
	covered := map[target]int{toX: 0, toY: 0}
	zero := func(t target, upTo int) {
		if at := covered[t]; at < upTo {
			p.code = append(p.code, instr{op: opZero, stage: yStage, out: []ref{{gradient[t], at, upTo - at}}})
		}
	}
	for k := range p.f.outs {
		o := &p.f.outs[k]
		if o.to != toX && o.to != toY {
			continue
		}
		n := p.f.vals[o.v].shape.Len()
		zero(o.to, o.offset)
		covered[o.to] = o.offset + n
		if direct[o.v] != o {
			p.code = append(p.code, instr{op: opCopy, stage: yStage, in: []ref{p.place[o.v]},
				out: []ref{{gradient[o.to], o.offset, n}}})
		}
	}
	if p.gradX {
		zero(toX, p.f.dx)
	}
	if p.gradY {
		zero(toY, p.f.dy)
	}
}

// arraysNeeded tells which values are read as dense arrays: constants that
// are only ever the matrix of a product can stay sparse.
func (f *form) arraysNeeded() []bool {
	need := make([]bool, len(f.vals))
	for i := range f.vals {
		v := &f.vals[i]
		for k, a := range v.args {
			if k > 0 || v.op != opMatVec && v.op != opMatMul {
				need[a] = true
			}
		}
	}
	for _, o := range f.outs {
		need[o.v] = true
	}
	return need
}

// String gives a place as it stands in a dump.
func (r ref) String() string {
	switch r.base {
	case inArena:
		return fmt.Sprintf("@%d:%d", r.off, r.off+r.n)
	case inData:
		return fmt.Sprintf("data%d", r.off)
	}
	name := [...]string{inX: "x", inY: "y", inGradX: "gx", inGradY: "gy"}[r.base]
	return fmt.Sprintf("%s[%d:%d]", name, r.off, r.off+r.n)
}
