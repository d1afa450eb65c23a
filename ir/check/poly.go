package check

import (
	"fmt"
	"math/big"
	"sort"
	"strings"
)

// Limits that keep symbolic sizes small however hostile the model: a size
// beyond them becomes one opaque atom, which equals itself and is compared
// with others when the model is bound. Sizes written by people stay far below.
const (
	maxPolyTerms  = 32
	maxPolyDegree = 8
	maxCoefBits   = 128
)

// An atom is an indivisible symbolic integer: a param, an index of a
// comprehension, the unknown length of a function's parameter, or an integer
// expression that is not a polynomial, such as floor(n / 2).
type atom struct {
	id   int
	name string
	kind atomKind
	// def is the symbolic value that a param has unless it is set otherwise;
	// nil where there is none.
	def *poly
	// lo and hi bound an index; nil where unknown, and nil for other kinds.
	lo, hi *poly
	// filtered says that a condition removes values of an index, so that lo
	// and hi need not be reached.
	filtered bool
	// set is the index set whose size this is; nil for other sizes.
	set *indexSet
}

type atomKind uint8

const (
	paramAtom  atomKind = iota
	indexAtom           // of a comprehension or family
	opaqueAtom          // anything else
	setAtom             // the number of elements of an index set
)

// A poly is a polynomial over atoms with rational coefficients: the normal
// form of a symbolic size. It implements ir.Dim. Because integer division in
// sizes must be exact, dy / 5 is (1/5) dy, and 5 * (dy / 5) equals dy. Polys
// are immutable.
type poly struct {
	terms []term // sorted by key, no zero coefficients
	// byDefault caches withDefaults: the sizes of large arrays are compared
	// with every index.
	byDefault *poly
}

type term struct {
	coef   *big.Rat
	powers []power // sorted by atom id, exponents > 0
	key    string
}

type power struct {
	atom *atom
	exp  int
}

func constPoly(n int64) *poly { return ratPoly(new(big.Rat).SetInt64(n)) }

func ratPoly(r *big.Rat) *poly {
	if r.Sign() == 0 {
		return &poly{}
	}
	return &poly{terms: []term{{coef: r}}}
}

func atomPoly(a *atom) *poly {
	p := []power{{atom: a, exp: 1}}
	return &poly{terms: []term{{coef: big.NewRat(1, 1), powers: p, key: powersKey(p)}}}
}

func powersKey(ps []power) string {
	var b strings.Builder
	for _, p := range ps {
		fmt.Fprintf(&b, "%d^%d ", p.atom.id, p.exp)
	}
	return b.String()
}

// collect sorts the terms, adds those alike and drops zeros.
func collect(terms []term) *poly {
	sort.SliceStable(terms, func(i, j int) bool { return terms[i].key < terms[j].key })
	out := terms[:0:0]
	for _, t := range terms {
		if n := len(out); n > 0 && out[n-1].key == t.key {
			out[n-1].coef = new(big.Rat).Add(out[n-1].coef, t.coef)
			continue
		}
		out = append(out, t)
	}
	kept := out[:0:0]
	for _, t := range out {
		if t.coef.Sign() != 0 {
			kept = append(kept, t)
		}
	}
	return &poly{terms: kept}
}

func (p *poly) add(q *poly) *poly {
	return collect(append(append([]term(nil), p.terms...), q.terms...))
}

func (p *poly) scale(r *big.Rat) *poly {
	if r.Sign() == 0 {
		return &poly{}
	}
	out := make([]term, len(p.terms))
	for i, t := range p.terms {
		out[i] = t
		out[i].coef = new(big.Rat).Mul(t.coef, r)
	}
	return &poly{terms: out}
}

func (p *poly) sub(q *poly) *poly { return p.add(q.scale(big.NewRat(-1, 1))) }

// plus is p + n.
func (p *poly) plus(n int64) *poly { return p.add(constPoly(n)) }

func (p *poly) mul(q *poly) *poly {
	terms := make([]term, 0, len(p.terms)*len(q.terms))
	for _, s := range p.terms {
		for _, t := range q.terms {
			ps := mergePowers(s.powers, t.powers)
			terms = append(terms, term{coef: new(big.Rat).Mul(s.coef, t.coef), powers: ps, key: powersKey(ps)})
		}
	}
	return collect(terms)
}

func mergePowers(a, b []power) []power {
	out := make([]power, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].atom.id < b[0].atom.id:
			out, a = append(out, a[0]), a[1:]
		case a[0].atom.id > b[0].atom.id:
			out, b = append(out, b[0]), b[1:]
		default:
			out = append(out, power{a[0].atom, a[0].exp + b[0].exp})
			a, b = a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// tooLarge reports whether p is past the limits above.
func (p *poly) tooLarge() bool {
	if len(p.terms) > maxPolyTerms {
		return true
	}
	for _, t := range p.terms {
		degree := 0
		for _, w := range t.powers {
			degree += w.exp
		}
		if degree > maxPolyDegree || t.coef.Num().BitLen() > maxCoefBits || t.coef.Denom().BitLen() > maxCoefBits {
			return true
		}
	}
	return false
}

// constant returns the value of a poly without atoms.
func (p *poly) constant() (*big.Rat, bool) {
	switch {
	case len(p.terms) == 0:
		return new(big.Rat), true
	case len(p.terms) == 1 && len(p.terms[0].powers) == 0:
		return p.terms[0].coef, true
	}
	return nil, false
}

// bare reports whether p is one atom and nothing else.
func (p *poly) bare() bool {
	return len(p.terms) == 1 && len(p.terms[0].powers) == 1 && p.terms[0].powers[0].exp == 1 &&
		p.terms[0].coef.Cmp(big.NewRat(1, 1)) == 0
}

// key is equal for equal polys and for no others.
func (p *poly) key() string {
	var b strings.Builder
	for _, t := range p.terms {
		b.WriteString(t.coef.RatString())
		b.WriteByte('*')
		b.WriteString(t.key)
	}
	return b.String()
}

// atoms returns the atoms of p, each once, in order of appearance.
func (p *poly) atoms() []*atom {
	var out []*atom
	seen := map[*atom]bool{}
	for _, t := range p.terms {
		for _, w := range t.powers {
			if !seen[w.atom] {
				seen[w.atom] = true
				out = append(out, w.atom)
			}
		}
	}
	return out
}

// substitute replaces every occurrence of a by q; nil where that goes past
// the limits.
func (p *poly) substitute(a *atom, q *poly) *poly {
	out := &poly{}
	for _, t := range p.terms {
		factor := ratPoly(t.coef)
		for _, w := range t.powers {
			f := atomPoly(w.atom)
			if w.atom == a {
				f = q
			}
			for range w.exp {
				if factor = factor.mul(f); factor.tooLarge() {
					return nil
				}
			}
		}
		out = out.add(factor)
	}
	if out.tooLarge() {
		return nil
	}
	return out
}

// linearIn returns the coefficient of a where p is linear in a with a
// constant coefficient, and nil otherwise.
func (p *poly) linearIn(a *atom) *big.Rat {
	var coef *big.Rat
	for _, t := range p.terms {
		for _, w := range t.powers {
			if w.atom != a {
				continue
			}
			if len(t.powers) != 1 || w.exp != 1 {
				return nil
			}
			coef = t.coef
		}
	}
	return coef
}

// String spells p as a person would: dy/5, 2*n + 1, n - m.
func (p *poly) String() string {
	if len(p.terms) == 0 {
		return "0"
	}
	terms := append([]term(nil), p.terms...)
	// Terms with atoms first, in the order in which the atoms were declared;
	// the constant last; a leading minus is avoided where there is a choice.
	sort.SliceStable(terms, func(i, j int) bool {
		a, b := terms[i], terms[j]
		if (len(a.powers) == 0) != (len(b.powers) == 0) {
			return len(b.powers) == 0
		}
		return len(a.powers) > 0 && a.powers[0].atom.id < b.powers[0].atom.id
	})
	for i, t := range terms {
		if t.coef.Sign() > 0 {
			copy(terms[1:i+1], terms[:i])
			terms[0] = t
			break
		}
	}
	var b strings.Builder
	for i, t := range terms {
		negative := t.coef.Sign() < 0
		switch {
		case i == 0 && negative:
			b.WriteByte('-')
		case i > 0 && negative:
			b.WriteString(" - ")
		case i > 0:
			b.WriteString(" + ")
		}
		b.WriteString(t.String())
	}
	return b.String()
}

// String spells the term without its sign.
func (t term) String() string {
	var parts []string
	num := new(big.Int).Abs(t.coef.Num())
	if len(t.powers) == 0 || num.Cmp(big.NewInt(1)) != 0 {
		parts = append(parts, num.String())
	}
	for _, w := range t.powers {
		s := w.atom.name
		if w.exp > 1 {
			s = fmt.Sprintf("%s^%d", s, w.exp)
		}
		parts = append(parts, s)
	}
	s := strings.Join(parts, "*")
	if !t.coef.IsInt() {
		s += "/" + t.coef.Denom().String()
	}
	return s
}
