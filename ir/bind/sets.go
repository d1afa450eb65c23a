package bind

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/data"
	"bilevelc/ir/elab"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// A boundSet is an index set with its elements. Positions count from 0 in this
// file's tables, and from 1 where they are the integers of a value.
type boundSet struct {
	name   string
	origin string   // where the elements come from
	keys   []string // what the parts of a label are called, if anything
	n      int
	lo     int         // of a set of numbers: the first
	number bool        // a set of numbers lo..lo+n-1
	labels []string    // of others: the elements, each as one text
	parts  []*boundSet // of a set of tuples: the sets of their labels
	tuples [][]int     // and the positions of the labels in those
	within *boundSet   // the set that this is a part of, or nil
	fake   bool        // stands for elements that were not supplied
	texts  bool        // the values of data of texts, or a label that is written out: no array is over them

	place map[string]int // positions by label, made when first asked for
}

func (s *boundSet) root() *boundSet {
	for s.within != nil {
		s = s.within
	}
	return s
}

// partSets are the sets of an element's labels.
func (s *boundSet) partSets() []*boundSet {
	if s.parts != nil {
		return s.parts
	}
	return []*boundSet{s}
}

// element lists the labels of element k.
func (s *boundSet) element(k int) []string {
	if s.parts == nil {
		return []string{s.word(k)}
	}
	return each.Below(len(s.parts), func(i int) string { return s.parts[i].word(s.tuples[k][i]) })
}

// word is element k as one text.
func (s *boundSet) word(k int) string {
	if s.number {
		return strconv.Itoa(s.lo + k)
	}
	return s.labels[k]
}

// axis is the set as a dimension: numbers from 1 need no labels.
func (s *boundSet) axis() ir.Axis {
	if s.number && s.lo == 1 {
		return ir.Axis{Size: s.n, Names: s.keys}
	}
	return ir.Axis{Size: s.n, Names: s.keys, Labels: each.Below(s.n, s.element)}
}

// find is the position of a label, or of the labels of a tuple, or -1.
func (s *boundSet) find(labels ...string) int {
	if s.number {
		v, err := strconv.Atoi(labels[0])
		if len(labels) != 1 || err != nil || v < s.lo || v >= s.lo+s.n {
			return -1
		}
		return v - s.lo
	}
	if s.place == nil {
		s.place = make(map[string]int, s.n)
		for k := range s.n {
			s.place[s.labels[k]] = k
		}
	}
	if k, ok := s.place[s.key(labels)]; ok {
		return k
	}
	return -1
}

// key is an element as one text: a label is its text, and 01 is not 1, but where sets
// of numbers are beneath, it is a number however it is written.
func (s *boundSet) key(labels []string) string {
	parts := s.partSets()
	for i, label := range labels {
		if v, err := strconv.Atoi(label); err == nil && len(parts) == len(labels) && parts[i].root().number {
			labels = slices.Clone(labels)
			labels[i] = strconv.Itoa(v)
		}
	}
	return strings.Join(labels, "\x00")
}

// setOf is the set that a name stands for in a scope, or nil.
func (e *elaborator) setOf(x lang.Expr) *boundSet {
	if s := elab.Global(e.b.prog, x, e.scope.local, e.library); s != nil {
		return e.b.sets[s.Name]
	}
	return nil
}

// tryset binds an index set if all it needs is known, and reports whether it
// was dealt with.
func (b *binder) trySet(s *ir.Symbol, d *lang.IndexSet) bool {
	set := &boundSet{name: s.Name}
	for _, key := range d.Keys {
		set.keys = append(set.keys, key.Name)
	}
	if len(set.keys) == 0 && len(d.Within) <= 1 {
		set.keys = []string{s.Name}
	}
	if v := d.Value; v != nil && v.Binders != nil {
		if entry := b.set.Get(s.Name); entry != nil {
			b.errorf(diag.BindLabels, d.Name.Span(), "`%s` is `%s` and cannot be supplied (%s)", s.Name, elab.Quote(v), entry.Origin)
			return true
		}
		return b.filteredSet(set, v)
	}
	if !b.declaredWithin(set, d) {
		return false
	}
	if of := set.within; of != nil && len(d.Keys) == 0 && of.parts != nil {
		set.keys = of.keys
	}
	entry := b.set.Get(s.Name)
	switch {
	case entry != nil:
		b.suppliedSet(set, d, entry)
	case d.Value == nil:
		return false
	case d.Value.Lo != nil:
		if !b.ready(d.Value.Lo) || !b.ready(d.Value.Hi) {
			return false
		}
		b.numberedSet(set, d)
	default:
		elements := each.Of(d.Value.Elems, func(e lang.SetElem) []string { return each.Of(e.Parts, lang.LabelOf) })
		b.fillSet(set, elements, "the model", func(k, _ int) diag.Place { return diag.Place{Span: d.Value.Elems[k].Span()} })
	}
	return true
}

// madeOf says of a set what it is a part of, or what its tuples are made of, by name; ok is
// false where that is not bound yet.
func (b *binder) madeOf(set *boundSet, names []string) (sets []*boundSet, ok bool) {
	for _, name := range names {
		of := b.sets[name]
		if of == nil {
			b.missing = b.symbol(name)
			return nil, false
		}
		sets, set.parts = append(sets, of), append(set.parts, of.partSets()...)
	}
	if len(sets) == 1 {
		set.within, set.parts = sets[0], sets[0].parts
	}
	return sets, true
}

// declaredWithin is madeOf what a declaration says.
func (b *binder) declaredWithin(set *boundSet, d *lang.IndexSet) bool {
	_, ok := b.madeOf(set, each.Of(d.Within, func(n lang.Ident) string { return n.Name }))
	return ok
}

// suppliedSet binds a set whose elements are data. A set of numbers from 1 may
// be given by its last.
func (b *binder) suppliedSet(set *boundSet, d *lang.IndexSet, entry *data.Entry) {
	elements := entry.Labels
	if a := entry.Array; elements == nil && a != nil && a.Rank() > 0 && (a.Shape[0] == 0 || a.Len() > 0) {
		vals := a.Values()
		if k := slices.IndexFunc(vals, func(v float64) bool { return v != math.Trunc(v) || math.Abs(v) >= exactInt }); k >= 0 {
			b.errorf(diag.BindLabels, d.Name.Span(), "`%s` has the element %v (%s), which is neither a text nor an integer below 2^53", set.name, vals[k], entry.Origin)
			return
		}
		labels := a.Texts
		if labels == nil {
			labels = each.Of(vals, func(v float64) string { return strconv.Itoa(int(v)) })
		}
		elements = slices.AppendSeq([][]string{}, slices.Chunk(labels, max(a.Len()/max(a.Shape[0], 1), 1)))
	}
	if elements == nil {
		b.errorf(diag.BindLabels, d.Name.Span(), "`%s` is an index set, but %s gives numbers by label or a single number", set.name, entry.Origin).Detail =
			"a set is a list of texts or integers, or of lists of them for a set of tuples"
		return
	}
	if d.Value != nil && d.Value.Lo != nil {
		b.errorf(diag.BindLabels, d.Name.Span(), "`%s` is the set of numbers `%s` and cannot be supplied (%s)", set.name, d.Value.Span().Text(), entry.Origin).Fix =
			"make its ends params and supply those"
		return
	}
	at := entry.LabelAt
	if at == nil {
		at = func(int, int) diag.Place { return diag.Place{Span: d.Name.Span()} }
	}
	b.fillSet(set, elements, entry.Origin, at)
}

func (b *binder) numberedSet(set *boundSet, d *lang.IndexSet) {
	e := b.top()
	lo, ok := e.integers(e.expr(d.Value.Lo), d.Value.Lo.Span(), "the first number of a set")
	hi, ok2 := e.integers(e.expr(d.Value.Hi), d.Value.Hi.Span(), "the last number of a set")
	if !ok || !ok2 {
		return
	}
	if lo == nil || hi == nil { // depend on data that was not supplied
		lo, hi = []int{1}, []int{b.filler()}
	}
	set.number, set.lo, set.n = true, lo[0], max(hi[0]-lo[0]+1, 0)
	b.within(b.tuples, d.Value.Span(), "the set", set.n)
	b.bindSet(set, "the model")
}

// fillSet gives a set its elements, each a tuple of labels: label i of element k stands at(k, i).
func (b *binder) fillSet(set *boundSet, elements [][]string, origin string, at func(k, i int) diag.Place) {
	arity := len(set.partSets())
	seen := map[string]bool{}
	fail := func(k, i int, format string, args ...any) *diag.Diagnostic {
		return b.errorAt(diag.BindLabels, at(k, i), "element %d of `%s` (%s), %s, %s", k+1, set.name, origin,
			tupleText(elements[k]), fmt.Sprintf(format, args...))
	}
	for k, labels := range elements {
		key := set.key(labels)
		if len(labels) != arity {
			fail(k, 0, "has %d labels where %d are needed", len(labels), arity)
			return
		}
		if seen[key] && !set.fake {
			fail(k, 0, "is there twice")
			return
		}
		seen[key] = true
		if set.within != nil && set.within.find(labels...) < 0 {
			b.nearLabel(fail(k, 0, "is not in `%s`", set.within.name), set.within, labels)
			return
		}
		if set.labels = append(set.labels, key); set.parts == nil {
			continue
		}
		tuple := make([]int, arity)
		for i, l := range labels {
			if tuple[i] = set.parts[i].find(l); tuple[i] < 0 {
				b.nearLabel(fail(k, i, "has %s, which is not in `%s`", lang.LabelText(l), set.parts[i].name), set.parts[i], []string{l})
				return
			}
		}
		set.tuples = append(set.tuples, tuple)
	}
	set.n = len(elements)
	b.bindSet(set, origin)
}

// nearLabel adds the label that was likely meant.
func (b *binder) nearLabel(d *diag.Diagnostic, set *boundSet, labels []string) {
	if len(labels) != 1 || set.number || set.parts != nil || set.n > maxNear {
		return
	}
	if near := diag.Suggest(labels[0], set.labels); near != "" {
		d.Fix = "did you mean `" + lang.LabelText(near) + "`?"
	}
}

// maxNear bounds the labels among which a near one is looked for.
const maxNear = 10_000

// tupleText spells an element in messages: "Rome", ("Rome", "Oslo").
func tupleText(labels []string) string {
	if len(labels) == 1 {
		return lang.LabelText(labels[0])
	}
	return "(" + lang.TupleText(labels) + ")"
}

func (b *binder) bindSet(set *boundSet, origin string) {
	b.sets[set.name], set.origin = set, origin
}

// labelEntries is what a label that is made up takes of the budget: a text and its places.
const labelEntries = 16

// fillPlaceholders gives the sets without elements some that stand for those that are
// not supplied, and returns these sets.
func (b *binder) fillPlaceholders(all []*ir.Symbol, tried map[*ir.Symbol]bool) (filled []*ir.Symbol) {
	for _, s := range all {
		d, ok := s.Decl.(*lang.IndexSet)
		if !ok || tried[s] || d.Value != nil {
			continue
		}
		set := &boundSet{name: s.Name, fake: true, n: b.filler()}
		if !b.declaredWithin(set, d) {
			continue
		}
		if set.within != nil {
			set.n = max(set.within.n/2, 1)
		}
		b.spend(d.Name.Span(), "the set", labelEntries*set.n)
		set.placeholders()
		tried[s] = true
		b.bindSet(set, "placeholder")
		filled = append(filled, s)
	}
	return filled
}

// placeholders makes up the elements: all different, and, of tuples, spread
// over the sets of their labels.
func (s *boundSet) placeholders() {
	if s.within != nil {
		s.n = min(s.n, s.within.n)
		for k := range s.n {
			if s.labels = append(s.labels, s.within.word(k)); s.parts != nil {
				s.tuples = append(s.tuples, s.within.tuples[k])
			}
		}
		return
	}
	if s.parts == nil {
		s.labels = each.Below(s.n, func(k int) string { return fmt.Sprintf("%s %d", s.name, k+1) })
		return
	}
	all := 1
	for _, p := range s.parts {
		all *= max(p.n, 1)
	}
	s.n = min(s.n, all)
	for k := range s.n {
		tuple, round := make([]int, len(s.parts)), 0
		for i, p := range s.parts {
			tuple[i] = (round + k + i) % max(p.n, 1)
			// A step to the side for each round, so that tuples of one set with
			// itself are not all alike.
			round = k / max(s.parts[0].n, 1)
		}
		s.tuples = append(s.tuples, tuple)
		s.labels = append(s.labels, strings.Join(s.element(k), "\x00"))
	}
}
