package check

import (
	"slices"

	"bilevelc/ir"
	"bilevelc/ir/elab"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
)

// A value is what the checker knows of an expression: its type, what it
// depends on, and the structural facts that the later rules need.
type value struct {
	typ  ir.Type
	deps expr.Deps
	// degree is the structural degree in all variables jointly; where it is
	// curved, curving are the innermost places that made it so.
	degree  degree
	curving []site
	// kinks are the places where a function that is not smooth is applied to
	// something that depends on variables.
	kinks []site
	// size is the symbolic value of an int, or of a real that is a quotient of
	// ints; nil for others.
	size *poly
	// num is the number, where the model's text alone fixes it.
	num *float64
	// set is the index set that this is, or whose element this is; nil for a
	// label that is written out, and for a text.
	set *indexSet
	// text says that this is an entry of data of texts.
	text bool
}

// degree is the structural degree of an expression in the variables.
type degree uint8

const (
	constant degree = iota // no variables
	affine
	curved // not affine, as far as its structure tells
)

// maxSites bounds the places kept for one expression; more would only repeat
// the message.
const maxSites = 8

// A site is a place in the model that a later rule may have to name.
type site struct {
	at      diag.Span
	what    string // the function or operation at fault
	related []diag.Related
}

// merge appends the sites of b that a lacks.
func merge(a, b []site) []site {
	if len(b) == 0 {
		return a
	}
	out := a[:len(a):len(a)]
	for _, s := range b {
		if len(out) >= maxSites {
			break
		}
		if !slices.ContainsFunc(out, func(t site) bool { return t.at == s.at }) {
			out = append(out, s)
		}
	}
	return out
}

var unknownValue = value{typ: elab.Unknown}

// dim is the i-th dimension of a type that this package made.
func dim(t ir.Type, i int) *poly { return t.Dims[i].(*poly) }

func isUnknown(t ir.Type) bool { return t.Kind == ir.AnyType }

func (v value) unknown() bool { return isUnknown(v.typ) }

// unknownOf is what remains of an expression after an error: its type is not
// known, but what its operands depend on and bring along still counts.
func unknownOf(vs ...value) value { return join(elab.Unknown, vs...) }

// withType is v seen as a value of another type; facts about numbers go.
func (v value) withType(t ir.Type) value {
	v.typ, v.size, v.num = t, nil, nil
	return v
}

// join collects what several operands contribute to a result of type t: the
// union of what they depend on, their highest degree and their sites.
func join(t ir.Type, vs ...value) value {
	out := value{typ: t}
	for _, v := range vs {
		out.deps |= v.deps
		out.degree = max(out.degree, v.degree)
		out.curving = merge(out.curving, v.curving)
		out.kinks = merge(out.kinks, v.kinks)
	}
	return out
}

// curve makes v curved at s, unless an operand was curved already: then the
// operand's own sites, further in, say why. Kinks that rows can restate say so of
// themselves only: what is done with them is a site of its own.
func (v value) curve(s site) value {
	if v.deps == 0 {
		return v
	}
	if v.degree < curved || v.onlyKinks() && !restatable[s.what] {
		v.degree, v.curving = curved, []site{s}
	}
	return v
}

// onlyKinks reports that nothing but kinks that rows can restate makes v curved.
func (v value) onlyKinks() bool {
	return v.degree == curved && !slices.ContainsFunc(v.curving, func(s site) bool { return !restatable[s.what] })
}
