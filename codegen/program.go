package codegen

import (
	"fmt"

	"bilevelc/autodiff"
	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/ir/data"
)

// passSet is a set of passes.
type passSet uint32

// Options of a compilation. The zero value is the default: every pass, all
// processors.
type Options struct {
	// off are passes to leave out, for tests and measurements.
	off passSet
	// Threads bounds the goroutines of one evaluation; 0 is one for each
	// processor. Results do not depend on it.
	Threads int
}

// Program is a compiled expression. It is immutable and safe to share.
type Program struct {
	dx, dy  int
	data    [][]float64 // dense constants, shared with the model's data
	held    []ref       // results of the x stage
	hold    []instr     // the x stage
	code    [entryCount][]instr
	value   [entryCount]ref
	arena   int // entries of an evaluator's arena
	live    int // entries of it that are live at once, at most
	scratch int // where the registers of loops start
	regs    int // registers of the loop that has most
	readsX  [entryCount]bool
	threads int
	native  *Native // nil: instructions are interpreted

	dataAt map[*float64]int // index in data by first entry
}

// Compile compiles a gradient graph. Errors: data that was not supplied or
// cannot be computed; anything else is a bug, and names the pass.
func Compile(g *autodiff.Graph, opts Options) (p *Program, err error) {
	pass := "import"
	defer func() {
		if r := recover(); r != nil {
			p, err = nil, fmt.Errorf("codegen: internal error: %s: %v", pass, r)
		}
	}()
	defer must.Catch(&err)
	f := importGraph(g)
	for i := range passes {
		if opts.off&passes[i].set != 0 {
			continue
		}
		pass = passes[i].name
		if err := must.Try(func() { f = passes[i].run(f) }); err != nil {
			return nil, fmt.Errorf("codegen: %s: %w", pass, err)
		}
	}
	pass = "schedule"
	return schedule(f, opts), nil
}

// schedule makes the program of a form: stages, entries, loops and places.
func schedule(f *form, opts Options) *Program {
	p := &Program{dx: f.dx, dy: f.dy, threads: threads(opts.Threads), dataAt: map[*float64]int{}}
	hold, entries := f.split()
	hold = late(hold, opts.off)
	a := &arena{}
	pl := planner{program: p, f: hold, arena: a}
	pl.plan()
	p.hold, p.live = pl.code, pl.peak
	for _, o := range hold.outs {
		p.held = append(p.held, pl.place[o.v])
	}
	base, size, peak := a.size, a.size, 0
	for e := range entryCount {
		y := late(entries[e], opts.off)
		pl := planner{program: p, f: y, held: p.held, arena: &arena{size: base, reuse: opts.off&reusePass == 0},
			gradX: e.wants(toX), gradY: e.wants(toY)}
		pl.plan()
		p.code[e] = pl.code
		for _, o := range y.outs {
			if o.to == toValue {
				p.value[e] = pl.place[o.v]
			}
		}
		size, peak = max(size, pl.arena.size), max(peak, pl.peak)
		p.mark(e, y)
	}
	p.live += peak + p.lay(size)
	return p
}

// lay puts the registers of all threads behind an arena of that size, and is their size.
func (p *Program) lay(size int) int {
	for _, in := range p.instructions() {
		if in.loop != nil {
			p.regs = max(p.regs, in.loop.registers)
		}
	}
	registers := p.threads * p.regs * blockLen
	p.scratch, p.arena = size, size+registers
	return registers
}

// late runs the passes that depend on what an entry returns.
func late(f *form, off passSet) *form {
	if off&rowFusionPass == 0 {
		f = byRows(f)
	}
	if off&accumulationPass == 0 {
		f = accumulate(f)
	}
	return fuse(f, off&fusionPass == 0)
}

// mark notes whether entry e reads the x stage, and in that what it needs of it.
func (p *Program) mark(e entry, y *form) {
	need := map[int]bool{} // places, by offset: the x stage never reuses one
	for i := range y.vals {
		if v := &y.vals[i]; v.op == opHeld {
			p.readsX[e] = true
			need[p.held[v.offset].off] = true
		}
	}
	for i := len(p.hold) - 1; i >= 0; i-- {
		in := &p.hold[i]
		for _, o := range in.out {
			if need[o.off] {
				in.need |= 1 << e
			}
		}
		if in.need&(1<<e) == 0 {
			continue
		}
		for _, r := range in.in {
			if r.base == inArena {
				need[r.off] = true
			}
		}
	}
}

// dataRef is the place of a constant, densely stored; equal arrays share one.
func (p *Program) dataRef(a *data.Array) ref {
	v := a.Values()
	if len(v) == 0 {
		return ref{base: inData, off: p.newData(v)}
	}
	at, ok := p.dataAt[&v[0]]
	if !ok || len(p.data[at]) != len(v) {
		at = p.newData(v)
		p.dataAt[&v[0]] = at
	}
	return ref{inData, at, len(v)}
}

func (p *Program) newData(v []float64) int {
	p.data = append(p.data, v)
	return len(p.data) - 1
}

// Dims are the lengths of x and y.
func (p *Program) Dims() (dx, dy int) { return p.dx, p.dy }

// ArenaBytes is the memory of one evaluator's arena, and the part of it that
// is live at once at most: results that are kept or under way, and registers.
func (p *Program) ArenaBytes() (total, live int) { return 8 * p.arena, 8 * p.live }

// DataBytes is the memory of the data that the program reads, dense and
// sparse. It is shared with the model's own, but for what was computed here.
func (p *Program) DataBytes() int {
	n := 0
	for _, d := range p.data {
		n += 8 * len(d)
	}
	seen := map[*sparse.CSR]bool{}
	for _, in := range p.instructions() {
		if m := in.sparse; m != nil && !seen[m] {
			seen[m] = true
			n += 8 * (len(m.Ptr) + len(m.Col) + len(m.Val))
		}
	}
	return n
}
