package check

import (
	"fmt"
	"math/big"
	"slices"
	"sort"
	"strings"

	"bilevelc/internal/each"
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
	// lo and hi bound an index, which takes size values; nil where unknown, and nil for
	// other kinds.
	lo, hi, size *poly
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
	terms []term // in the order of their factors, no zero coefficients
	// byDefault caches withDefaults: the sizes of large arrays are compared
	// with every index.
	byDefault *poly
}

type term struct {
	coef    *big.Rat
	factors []*atom // by id, a power as often as its exponent says
}

func byID(u, v *atom) int { return u.id - v.id }

// order compares products: the one without factors first, then by their first atoms.
func order(s, t []*atom) int { return slices.CompareFunc(s, t, byID) }

var one, minusOne = big.NewRat(1, 1), big.NewRat(-1, 1)

func constPoly(n int64) *poly {
	if n == 0 {
		return &poly{}
	}
	return &poly{terms: []term{{coef: big.NewRat(n, 1)}}}
}

func atomPoly(a *atom) *poly {
	return &poly{terms: []term{{coef: one, factors: []*atom{a}}}}
}

// plusTimes is p + r q, for r other than 0.
func (p *poly) plusTimes(r *big.Rat, q *poly) *poly {
	out := make([]term, 0, len(p.terms)+len(q.terms))
	s := p.terms
	for _, t := range q.terms {
		for len(s) > 0 && order(s[0].factors, t.factors) < 0 {
			out, s = append(out, s[0]), s[1:]
		}
		if r != one {
			t.coef = new(big.Rat).Mul(t.coef, r)
		}
		if len(s) > 0 && order(s[0].factors, t.factors) == 0 {
			t.coef, s = new(big.Rat).Add(s[0].coef, t.coef), s[1:]
		}
		if t.coef.Sign() != 0 {
			out = append(out, t)
		}
	}
	return &poly{terms: append(out, s...)}
}

func (p *poly) add(q *poly) *poly { return p.plusTimes(one, q) }

func (p *poly) sub(q *poly) *poly { return p.plusTimes(minusOne, q) }

// plus is p + n.
func (p *poly) plus(n int64) *poly { return p.add(constPoly(n)) }

// scale is r p, for r other than 0.
func (p *poly) scale(r *big.Rat) *poly { return (&poly{}).plusTimes(r, p) }

func (p *poly) mul(q *poly) *poly {
	out := &poly{}
	for _, s := range p.terms {
		row := slices.Clone(q.terms)
		for i := range row {
			row[i].factors = slices.Concat(s.factors, row[i].factors)
			slices.SortFunc(row[i].factors, byID)
		}
		slices.SortFunc(row, func(t, u term) int { return order(t.factors, u.factors) })
		out = out.plusTimes(s.coef, &poly{terms: row})
	}
	return out
}

// times is p q^n; nil past the limits.
func (p *poly) times(q *poly, n int) *poly {
	for range n {
		if p = p.mul(q); p.tooLarge() {
			return nil
		}
	}
	return p
}

// tooLarge reports whether p is past the limits above.
func (p *poly) tooLarge() bool {
	return len(p.terms) > maxPolyTerms || slices.ContainsFunc(p.terms, func(t term) bool {
		return len(t.factors) > maxPolyDegree || t.coef.Num().BitLen() > maxCoefBits || t.coef.Denom().BitLen() > maxCoefBits
	})
}

// constant returns the value of a poly without atoms.
func (p *poly) constant() (*big.Rat, bool) {
	switch {
	case len(p.terms) == 0:
		return new(big.Rat), true
	case len(p.terms) == 1 && len(p.terms[0].factors) == 0:
		return p.terms[0].coef, true
	}
	return nil, false
}

// bare is the atom that p is, or nil where it is anything else.
func (p *poly) bare() *atom {
	if len(p.terms) != 1 || len(p.terms[0].factors) != 1 || p.terms[0].coef.Cmp(one) != 0 {
		return nil
	}
	return p.terms[0].factors[0]
}

// key is equal for equal polys and for no others.
func (p *poly) key() string {
	var b strings.Builder
	for _, t := range p.terms {
		b.WriteString(t.coef.RatString())
		b.WriteByte('*')
		for _, a := range t.factors {
			fmt.Fprintf(&b, "%d ", a.id)
		}
	}
	return b.String()
}

// atoms returns the atoms of p, each once, in order of appearance.
func (p *poly) atoms() []*atom {
	var out []*atom
	seen := map[*atom]bool{}
	for _, t := range p.terms {
		for _, a := range t.factors {
			if !seen[a] {
				seen[a] = true
				out = append(out, a)
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
		rest := each.Where(t.factors, func(b *atom) bool { return b != a })
		factor := (&poly{terms: []term{{t.coef, rest}}}).times(q, len(t.factors)-len(rest))
		if factor == nil {
			return nil
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
		if slices.Contains(t.factors, a) {
			if len(t.factors) != 1 {
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
		if (len(a.factors) == 0) != (len(b.factors) == 0) {
			return len(b.factors) == 0
		}
		return len(a.factors) > 0 && a.factors[0].id < b.factors[0].id
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
	if len(t.factors) == 0 || num.Cmp(big.NewInt(1)) != 0 {
		parts = append(parts, num.String())
	}
	for i, a := range t.factors {
		if i > 0 && a == t.factors[i-1] {
			continue
		}
		s := a.name
		if exponent := len(each.Where(t.factors, func(b *atom) bool { return b == a })); exponent > 1 {
			s = fmt.Sprintf("%s^%d", s, exponent)
		}
		parts = append(parts, s)
	}
	s := strings.Join(parts, "*")
	if !t.coef.IsInt() {
		s += "/" + t.coef.Denom().String()
	}
	return s
}
