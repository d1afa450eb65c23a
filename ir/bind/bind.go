// Package bind binds a checked model to its data: it takes an ir.Program and
// the supplied arrays and makes an ir.Problem, in which every size is a
// number, every expression a node of one shared graph (package expr), and
// every constraint a row of h(x, y) = A x - B y - b or of X.
//
// Stages, in order, each in files of its own:
//
//	inputs    params from --set, data, defaults, or inferred from array shapes
//	arrays    data from the set, literals, generators; shapes and entries checked
//	elaborate syntax to graph: functions inlined, comprehensions batched
//	affine    relations to sparse coefficient rows
//	levels    variables, sets, families, objectives, start, report
//
// Invariants: no input panics; every diagnostic has a place in the model;
// nothing is allocated whose size the input does not justify (maxEntries);
// the result depends only on the program, the set and the seed.
package bind

import (
	"context"
	"slices"

	"bilevelc/internal/await"
	"bilevelc/ir"
	"bilevelc/ir/data"
	"bilevelc/ir/elab"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// Options of a binding.
type Options struct {
	// Seed of all generators.
	Seed uint64
	// Abstract binds what is missing to placeholders: a param to a small
	// size of its own, data to opaque constants, so that a model can be
	// checked without data. Conclusions then hold only where they follow
	// from structure.
	Abstract bool
	// IgnoreUndeclared leaves out what is supplied and not declared: arrays,
	// and columns of tables.
	IgnoreUndeclared bool

	meter *await.Meter // of BindContext
}

// Limits on what a model may conjure up from a few characters. Supplied
// arrays are not limited: they are as long as their files.
const (
	// maxEntries bounds one array (128 MiB of numbers).
	maxEntries = 1 << 24
	// maxTuples bounds one iteration space with those around it: an expression
	// over it takes several arrays of its length.
	maxTuples = 1 << 22
	// maxRows bounds the rows that families of constraints lay over indices, and maxVariables the
	// entries of variables, beside perNumber for each number or label supplied: either takes 400 bytes
	// while it is bound and proofs are looked for.
	maxRows, maxVariables, perNumber = 1 << 19, 1 << 20, 4
	// maxTotal bounds the sum of all arrays and spaces of a model (256 MiB of
	// numbers), those that are computed from data included.
	maxTotal = 1 << 25
	// maxProducts bounds the multiply-adds of products of data with data (some
	// seconds), beside productsPerNumber for each number supplied.
	maxProducts, productsPerNumber = 1 << 33, 1 << 12
	// maxSteps bounds the expressions that are elaborated, each time that a
	// function is inlined, or a tuple of a sum is written out, counted anew: k
	// functions that each call the one before twice are 2^k expressions. A step
	// takes 0.7 us and 150 bytes, all of them 0.4 s and 80 MB.
	maxSteps = 1 << 19
	// segmentSteps are those of a segment that is written out: read, reduced, and put twice in its place.
	segmentSteps = 4
)

// Bind binds p to the supplied arrays. The problem is nil where the list
// holds errors. A nil set is an empty one.
func Bind(p *ir.Program, set *data.Set, opts Options) (*ir.Problem, diag.List) {
	if set == nil {
		set = &data.Set{}
	}
	if !opts.Abstract {
		return run(p, set, opts, 0, maxEntries)
	}
	// A placeholder has to suit what the model does with it: dh = dy / 5
	// divides only some. The first step that gives no error is taken; the
	// steps have more and more divisors.
	var prob *ir.Problem
	var list diag.List
	for _, step := range []int{6, 10, 60, 420} {
		prob, list = run(p, set, opts, step, maxEntries)
		if !list.HasErrors() || list.Has(diag.BindTooLarge) {
			break // a larger placeholder makes nothing smaller
		}
	}
	return prob, list
}

// BindContext is Bind, given up when ctx ends, at the next expression, tuple or row:
// the error is then its cause, and there is no problem.
func BindContext(ctx context.Context, p *ir.Program, set *data.Set, opts Options) (prob *ir.Problem, list diag.List, err error) {
	err = await.Within(ctx, func(m *await.Meter) {
		opts.meter = m
		prob, list = Bind(p, set, opts)
	})
	return prob, list, err
}

// Expr binds an expression over the names of p, whose levels may lack an objective, or
// be missing where nothing reads them. The problem has what the expression reads, its
// value is the only item of the report, and it cannot be solved.
func Expr(p *ir.Program, set *data.Set, x lang.Expr, opts Options) (*ir.Problem, diag.List) {
	b := newBinder(p, set, opts, 0, maxEntries)
	b.bounded(func() {
		if b.allInputs() && b.allVariables(b.prob) {
			if p.Lower != nil {
				newRows(b, b.prob).lower(p.Lower)
			}
			if texts := b.textsOf(x); texts != nil {
				b.prob.Report = append(b.prob.Report, *texts)
			} else {
				b.reportItem("", x)
			}
		}
	})
	return b.finish()
}

// run binds with placeholders that are multiples of step, and an own limit on
// entries.
func run(p *ir.Program, set *data.Set, opts Options, step, limit int) (*ir.Problem, diag.List) {
	b := newBinder(p, set, opts, step, limit)
	b.bounded(func() {
		if b.allInputs() {
			b.levels(b.prob)
		}
	})
	return b.finish()
}

// full is the panic with which a binding ends at the first limit that it meets: what is beyond one may be so
// a thousand times, and what is within is not needed any more.
type full struct{ b *binder }

// bounded does work up to such a limit.
func (b *binder) bounded(work func()) {
	defer func() {
		if v := recover(); v != nil && v != any(full{b}) {
			panic(v)
		}
	}()
	work()
}

// beyond reports a limit, and ends the binding.
func (b *binder) beyond(at diag.Span, format string, args ...any) {
	b.errorf(diag.BindTooLarge, at, format, args...)
	panic(full{b})
}

func newBinder(p *ir.Program, set *data.Set, opts Options, step, limit int) *binder {
	b := &binder{
		prog: p, set: set, opts: opts, meter: opts.meter, step: step, limit: limit, tuples: min(limit, maxTuples), mostRows: min(limit, maxRows), mostVariables: min(limit, maxVariables), budget: maxTotal, products: maxProducts,
		graph:    expr.NewBuilder(),
		reported: map[string]bool{},
		known:    map[string]value{},
		bound:    map[string]*ir.BoundData{},
		eyes:     map[int]value{},
		sets:     map[string]*boundSet{},
		blamed:   map[*ir.BoundData]*diag.Diagnostic{},
		owned:    map[lang.Node][]*ir.Family{},
		vars:     map[string]value{},
		lets:     map[*ir.Symbol]value{},
		bodies:   map[*lang.Fn]int{},
		families: map[string]indexed{},
		duals:    map[string]value{},
	}
	b.graph.SetMeter(opts.meter)
	b.graph.Watch(b.compute)
	b.prob = &ir.Problem{Program: p, Name: p.Name, Graph: b.graph, Seed: opts.Seed}
	return b
}

// allInputs binds what the program is given, and reports whether all is well.
func (b *binder) allInputs() bool {
	if b.tables(); b.list.HasErrors() { // what they should have supplied is not missing
		b.list.Sort()
		return false
	}
	b.supplied()
	b.inputs(b.prob)
	return !b.list.HasErrors()
}

// finish gives the problem, nil where there are errors, and all diagnostics.
func (b *binder) finish() (*ir.Problem, diag.List) {
	b.graph.SetMeter(nil) // the problem is used when the context has ended
	b.graph.Watch(nil)
	b.list.Sort()
	if b.list.HasErrors() {
		return nil, b.list
	}
	return b.prob, b.list
}

// binder holds the state of one binding.
type binder struct {
	prog                  *ir.Program
	set                   *data.Set
	opts                  Options
	step                  int // distance of placeholder sizes
	limit                 int // entries of one array
	tuples                int // of one iteration space
	budget                int // entries that may still be conjured up
	products              int // multiply-adds that data may still take
	mostRows, indexedRows int // of families of constraints over indices
	mostVariables         int // entries of variables
	numbers               int // and labels that are supplied
	meter                 *await.Meter
	steps                 int // expressions elaborated
	loops                 int // tuples elaborated one by one
	graph                 *expr.Builder
	list                  diag.List

	reported  map[string]bool         // diagnostics given, by key
	reporting bool                    // the report is under way: conditions may depend on variables
	varying   bool                    // a size was found to vary with an index
	unsized   bool                    // a size was asked for of which no tuple says what it is
	known     map[string]value        // params and data
	missing   *ir.Symbol              // what an input waits for
	inOrder   []*ir.Symbol            // of declared
	bySize    map[string][]*ir.Symbol // of sized
	readers   []*tableReader          // of the supplied tables
	bound     map[string]*ir.BoundData
	sets      map[string]*boundSet
	owned     map[lang.Node][]*ir.Family         // of the lower level, by what they were written as
	blamed    map[*ir.BoundData]*diag.Diagnostic // params that supplied arrays disagree with
	eyes      map[int]value                      // identity matrices by size
	vars      map[string]value
	lets      map[*ir.Symbol]value
	bodies    map[*lang.Fn]int // expressions that inlining each takes at least
	dx, dy    int
	prob      *ir.Problem
	families  map[string]indexed // named constraints of the lower level
	duals     map[string]value   // their multipliers, where they were asked for
	fillers   int                // placeholders given
}

// errorf reports an error once: an inlined function body gives the same one
// for every call.
func (b *binder) errorf(code diag.Code, at diag.Span, format string, args ...any) *diag.Diagnostic {
	d := (&diag.List{}).Errorf(code, at, format, args...)
	if k := key(d); !b.reported[k] {
		b.reported[k] = true
		b.list.Add(d)
	}
	return d
}

// errorAt is errorf at a place of the data, which may have no text.
func (b *binder) errorAt(code diag.Code, at diag.Place, format string, args ...any) *diag.Diagnostic {
	if at.Span.IsZero() && at.Words != "" {
		format, args = "%s: "+format, append([]any{at.Words}, args...)
	}
	return b.errorf(code, at.Span, format, args...)
}

// unchecked reports a place that the checker refuses. Names, numbers of arguments,
// and what is a number, a condition or a label are its findings, which binding
// trusts: to meet one is a fault of the checker, and tests find it here.
func (b *binder) unchecked(at diag.Span) {
	b.errorf(diag.BindShapes, at, "`%s` %s", elab.QuoteSpan(at), slipped)
}

// slipped ends the message of unchecked.
const slipped = "has no meaning here"

// key identifies a diagnostic among those of a binding.
func key(d *diag.Diagnostic) string { return string(d.Code) + d.Subject.String() + d.Summary }

// fits counts the entries of an array that is made, and ends the binding where they are too many.
func (b *binder) fits(at diag.Span, what string, dims ...int) {
	b.within(b.limit, at, what, dims...)
}

// within is fits with a limit of its own.
func (b *binder) within(limit int, at diag.Span, what string, dims ...int) {
	entries := 1
	for _, d := range dims {
		if d != 0 && entries > limit/d {
			b.beyond(at, "%s is too large: %s entries, the limit is %d", what, times(dims), limit)
		}
		entries *= d
	}
	b.spend(at, what, entries)
}

// spend takes entries from those that may still be conjured up.
func (b *binder) spend(at diag.Span, what string, entries int) {
	if b.budget -= entries; b.budget < 0 {
		b.beyond(at, "%s takes the model beyond %d entries in all", what, maxTotal)
	}
}

// expand counts expressions that are elaborated, or written out.
func (b *binder) expand(n int) {
	b.room(n)
	b.steps += n
}

// room reports the limit where n expressions more are beyond it.
func (b *binder) room(n int) {
	if b.steps+n > maxSteps {
		b.beyond(b.modelName(), "the model is too large: with its functions inlined and its sums written out it has more than %d expressions", maxSteps)
	}
}

// compute counts what a node of data alone will take: the entries of its value, unless
// those have been asked for where it is made, and the multiply-adds of a product. Sparse arrays take no more than is stored.
func (b *binder) compute(n *expr.Node) {
	if n.Deps != 0 || n.Opaque || n.Op == expr.Const || slices.ContainsFunc(n.Args, staysSparse) {
		return
	}
	switch n.Op.Info().Class {
	case expr.Elementwise1, expr.Elementwise2:
		b.spend(n.Span, "this", n.Shape.Len())
	case expr.Product:
		work := n.Shape.Len()
		for _, a := range n.Args {
			work = max(work, a.Shape.Len())
		}
		if n.Op == expr.MatMul {
			work = n.Args[0].Shape.Len() * n.Shape.Cols
		}
		if b.products -= work; b.products < 0 {
			b.beyond(n.Span, "this product takes those of data with data beyond %d multiply-adds in all", maxProducts)
		}
	}
}

// value computes a node that depends on supplied data only.
func (b *binder) value(n *expr.Node) *data.Array {
	a, err := b.graph.Value(n)
	if err != nil {
		panic("bind: " + err.Error())
	}
	return a
}

// symbol returns a declared name of the model, or nil.
func (b *binder) symbol(name string) *ir.Symbol { return b.prog.Symbols[name] }

// declared lists the params, data and sets in the order of the file.
func (b *binder) declared() []*ir.Symbol {
	if b.inOrder != nil {
		return b.inOrder
	}
	for _, d := range b.prog.File.Decls {
		name, kind, ok := elab.Declared(d)
		if s := b.symbol(name.Name); ok && kind != ir.LetSymbol && kind != ir.FnSymbol && s != nil && s.Decl == lang.Node(d) {
			b.inOrder = append(b.inOrder, s)
		}
	}
	return b.inOrder
}
