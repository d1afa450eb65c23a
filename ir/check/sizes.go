package check

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"bilevelc/ir"
	"bilevelc/ir/elab"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// Compare implements elab.Size.
func (p *poly) Compare(q ir.Dim) elab.Agreement { return compare(p, q.(*poly)) }

// Difference implements elab.Size.
func (p *poly) Difference(q ir.Dim) string {
	if note := defaultsNote(p, q.(*poly)); note != "" {
		return " (" + note + ")"
	}
	return fmt.Sprintf("; %s and %s are different sizes", p, q)
}

// Plus implements elab.Size.
func (p *poly) Plus(q ir.Dim) ir.Dim { return p.add(q.(*poly)) }

// Over implements elab.Size.
func (p *poly) Over() (set string, labels int) {
	if s := setOf(p); s != nil {
		return s.name, len(s.tuple())
	}
	return "", 0
}

// compare decides whether two sizes are equal. Equal normal forms agree, and
// a difference that is a number other than zero differs. Otherwise params are
// replaced by their defaults: what then differs, differs (the model
// contradicts itself); what then agrees may still be changed by --set or data
// and is undecided. Where params without a default remain, two bare names are
// two sizes, which a user who means one would not have made two: they differ.
// So do n and n + m, for sizes are positive. What is left (m and 2 * k, n and
// 3) is undecided.
func compare(a, b *poly) elab.Agreement {
	p, q := a.bare(), b.bare()
	if p != nil && p == q {
		return elab.Agree
	}
	d := a.sub(b)
	if v, ok := d.constant(); ok {
		if v.Sign() == 0 {
			return elab.Agree
		}
		return elab.Differ
	}
	if hasKind(d, indexAtom) || hasKind(d, opaqueAtom) {
		return elab.Undecided
	}
	if v, ok := withDefaults(d).constant(); ok {
		if v.Sign() == 0 {
			return elab.Undecided
		}
		return elab.Differ
	}
	if p != nil && q != nil || oneSign(d) {
		return elab.Differ
	}
	return elab.Undecided
}

// oneSign reports whether all terms of a polynomial have one sign.
func oneSign(p *poly) bool {
	return !slices.ContainsFunc(p.terms, func(t term) bool { return t.coef.Sign() != p.terms[0].coef.Sign() })
}

// withDefaults replaces params by their defaults, and those by theirs.
func withDefaults(p *poly) *poly {
	if _, fixed := p.constant(); fixed {
		return p
	}
	if p.byDefault == nil {
		p.byDefault = replaceParams(p)
	}
	return p.byDefault
}

// replaceParams is withDefaults, computed. What would go past the limits stays
// as it is.
func replaceParams(p *poly) *poly {
	// Defaults refer to params that are resolved earlier, so that each round
	// removes one level of them; a chain longer than this is left open.
	for range 64 {
		changed := false
		for _, a := range p.atoms() {
			if a.def == nil {
				continue
			}
			q := p.substitute(a, a.def)
			if q == nil {
				return p
			}
			p, changed = q, true
		}
		if !changed {
			break
		}
	}
	return p
}

// first is the first atom of a kind in p, or nil.
func first(p *poly, k atomKind) *atom {
	for _, a := range p.atoms() {
		if a.kind == k {
			return a
		}
	}
	return nil
}

func hasKind(p *poly, k atomKind) bool { return first(p, k) != nil }

// defaultsNote spells the defaults that two sizes depend on: "dx is 100 and dy
// is 200 by default", or "".
func defaultsNote(ps ...*poly) string {
	var parts []string
	seen := map[*atom]bool{}
	for _, p := range ps {
		for _, a := range p.atoms() {
			if a.def == nil || seen[a] || a.kind == setAtom {
				continue
			}
			seen[a] = true
			if v, ok := withDefaults(a.def).constant(); ok {
				parts = append(parts, fmt.Sprintf("%s is %s", a.name, v.RatString()))
			}
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, " and ") + " by default"
}

// newAtom makes an atom, numbered in order of appearance.
func (c *checker) newAtom(name string, kind atomKind) *atom {
	c.atoms++
	return &atom{id: c.atoms, name: name, kind: kind}
}

// opaque is the size that stands for an integer expression that is not a
// polynomial. Within one scope the same text is the same size; a text too
// long to quote is the same at the same place only.
func (c *checker) opaque(s *scope, at diag.Span) *poly {
	text := elab.QuoteSpan(at)
	key := fmt.Sprintf("%d %s", s.id, text)
	if !elab.Quoted(at) {
		key = fmt.Sprintf("%d %p %d %d", s.id, at.Source, at.Start, at.End)
	}
	a := c.opaques[key]
	if a == nil {
		a = c.newAtom(text, opaqueAtom)
		c.opaques[key] = a
	}
	return atomPoly(a)
}

// sized gives the value of e an opaque size where it is an int.
func (c *checker) sized(s *scope, e lang.Expr, v value) value {
	if v.typ.Kind == ir.IntType {
		v.size = c.opaque(s, e.Span())
	}
	return v
}

// bounded replaces a size beyond the limits by an opaque one.
func (c *checker) bounded(s *scope, p *poly, at diag.Span) *poly {
	if p.tooLarge() {
		return c.opaque(s, at)
	}
	return p
}

// integer checks an expression that must be an integer that is known before
// solving (a size, an index, the bound of a range) and returns its symbolic
// value. Division is exact here: n / 2 must divide, which binding verifies.
// Data that are not declared int, such as perm[i], are accepted and verified
// at binding. nil means that an error was reported.
func (c *checker) integer(s *scope, e lang.Expr, what string) *poly {
	switch e := e.(type) {
	case *lang.Paren:
		c.record(s, e, elab.Int)
		return c.integer(s, e.X, what)
	case *lang.Unary:
		if e.Op == lang.Neg {
			c.record(s, e, elab.Int)
			if p := c.integer(s, e.X, what); p != nil {
				return p.scale(minusOne)
			}
			return nil
		}
	case *lang.Binary:
		if p, ok := c.integerBinary(s, e, what); ok {
			c.record(s, e, elab.Int)
			return p
		}
	}
	return c.asInteger(s, e, c.expr(s, e), what)
}

// asInteger is integer for an expression whose value is known already.
func (c *checker) asInteger(s *scope, e lang.Expr, v value, what string) *poly {
	switch {
	case isUnknown(v.typ):
		return nil
	case v.deps != 0:
		c.errorf(s, diag.NotFixed, e.Span(), "%s depends on %s", what, c.readText(s, e, v.deps)).Detail =
			"it must be known before the model is solved"
		return nil
	case v.typ.Kind == ir.IntType:
		return v.size
	case v.size != nil: // a quotient of ints, through a let
		if k, ok := v.size.constant(); !ok || k.IsInt() {
			return v.size
		}
	}
	if !elab.IsScalar(v.typ) || v.num != nil || c.declaredReal(e) {
		d := c.errorf(s, diag.NotInteger, e.Span(), "%s must be an integer, but `%s` is %s", what, elab.Quote(e), elab.KindOf(v.typ))
		if elab.IsScalar(v.typ) && v.num == nil {
			d.Fix = fmt.Sprintf("declare `%s` as `int`", elab.Quote(e))
		}
		return nil
	}
	return c.opaque(s, e.Span())
}

// declaredReal reports whether e is the name of a param or data that the
// model declares real.
func (c *checker) declaredReal(e lang.Expr) bool {
	n, ok := e.(*lang.Name)
	if !ok {
		return false
	}
	entry := c.symbols[n.Name]
	return entry == nil || entry.symbol.Kind != ir.LetSymbol
}

// integerBinary handles the operators that keep a size a polynomial; ok is
// false for the others.
func (c *checker) integerBinary(s *scope, e *lang.Binary, what string) (p *poly, ok bool) {
	switch e.Op {
	case lang.Add, lang.Sub, lang.Mul, lang.Div, lang.Pow:
	default:
		return nil, false
	}
	x, y := c.integer(s, e.X, what), c.integer(s, e.Y, what)
	if x == nil || y == nil {
		return nil, true
	}
	p = combine(e.Op, x, y)
	if p == nil {
		if k, fixed := y.constant(); e.Op == lang.Div && fixed && k.Sign() == 0 {
			c.errorf(s, diag.NotReal, e.Y.Span(), "division by zero")
		}
		return c.opaque(s, e.Span()), true
	}
	if v, fixed := p.constant(); fixed && !v.IsInt() {
		c.errorf(s, diag.NotInteger, e.Span(), "`%s` does not divide", elab.Quote(e)).Detail =
			fmt.Sprintf("integer division is exact here, but %s %s %s is %s", x, e.Op, y, v.RatString())
		return nil, true
	}
	return c.bounded(s, p, e.Span()), true
}

// combine applies an operator to symbolic values; nil where the result is not
// a polynomial.
func combine(op lang.BinaryOp, x, y *poly) *poly {
	switch op {
	case lang.Add:
		return x.add(y)
	case lang.Sub:
		return x.sub(y)
	case lang.Mul, lang.ElemMul:
		return x.mul(y)
	}
	k, fixed := y.constant()
	switch {
	case !fixed:
	case op == lang.Div && k.Sign() != 0:
		return x.scale(new(big.Rat).Inv(k))
	case op == lang.Pow && k.IsInt() && k.Sign() >= 0 && k.Cmp(big.NewRat(maxPolyDegree, 1)) <= 0:
		return constPoly(1).times(x, int(k.Num().Int64()))
	}
	return nil
}

// size checks a written dimension.
func (c *checker) size(s *scope, e lang.Expr) *poly {
	if set := c.namedSet(s, e); set != nil {
		c.record(s, e, elab.Int)
		return set.size
	}
	p := c.integer(s, e, "a size")
	if p == nil {
		return c.unknownSize()
	}
	if v, ok := p.constant(); ok && v.Sign() < 0 {
		c.errorf(s, diag.WrongSize, e.Span(), "a size cannot be negative, but `%s` is %s", elab.Quote(e), v.RatString())
	}
	return p
}

// unknownSize is a size after an error: comparisons with it are undecided, so
// that one mistake is reported once.
func (c *checker) unknownSize() *poly { return atomPoly(c.newAtom("?", opaqueAtom)) }
