package facts

import (
	"slices"

	"bilevelc/ir/expr"
)

// Degree is what is known of a node as a polynomial in some of the variables,
// from its structure alone. For y alone, Linear and Square say whether the
// first and the second derivative may depend on x.
type Degree struct {
	Deg            int // 0, 1, 2, or 3 for anything else
	Linear, Square bool
}

// Degrees finds the degrees of the nodes of one graph, each once.
type Degrees struct {
	graph *expr.Builder
	wrt   expr.Deps
	found map[*expr.Node]Degree
}

// NewDegrees begins with no node known; wrt says in which variables the
// degrees are.
func NewDegrees(graph *expr.Builder, wrt expr.Deps) *Degrees {
	return &Degrees{graph, wrt, map[*expr.Node]Degree{}}
}

// Of is the degree of a node.
func (d *Degrees) Of(n *expr.Node) Degree {
	if n.Deps&d.wrt == 0 {
		return Degree{}
	}
	if known, ok := d.found[n]; ok {
		return known
	}
	made := d.find(n)
	d.found[n] = made
	return made
}

// Affine reports that the second derivative of n vanishes identically.
func (d *Degrees) Affine(n *expr.Node) bool { return d.Of(n).Deg <= 1 }

// Nonquadratic marks the entries of x and of y that terms of a scalar node of degree above two may read, given degrees in both:
// along the others alone its gradient is affine.
func (d *Degrees) Nonquadratic(n *expr.Node, x, y []bool) {
	switch {
	case d.Of(n).Deg <= 2:
	case n.Op == expr.Add || n.Op == expr.Sub || n.Op == expr.Neg:
		for _, a := range n.Args {
			d.Nonquadratic(a, x, y)
		}
	default:
		Reads(d.graph, n, false, x)
		Reads(d.graph, n, true, y)
	}
}

func (d *Degrees) find(n *expr.Node) Degree {
	switch {
	case n.Op == expr.Var:
		return Degree{Deg: 1}
	case n.Op.Info().Linear:
		var out Degree
		for _, a := range n.Args {
			u := d.Of(a)
			out = Degree{max(out.Deg, u.Deg), out.Linear || u.Linear, out.Square || u.Square}
		}
		return out
	case n.Op.Info().Bilinear:
		return d.product(n.Args[0], n.Args[1])
	case n.Op == expr.Div && n.Args[1].Deps&d.wrt == 0:
		return d.product(n.Args[1], n.Args[0])
	case n.Op == expr.Pow:
		u := d.Of(n.Args[0])
		switch p, ok := Exponent(d.graph, n); {
		case ok && p == 0:
			return Degree{}
		case ok && p == 1:
			return u
		case ok && p == 2 && u.Deg <= 1:
			return Degree{2 * u.Deg, true, u.Linear}
		}
	}
	return Degree{Deg: 3}
}

func (d *Degrees) product(a, b *expr.Node) Degree {
	u, v := d.Of(a), d.Of(b)
	if u.Deg > v.Deg {
		a, u, v = b, v, u
	}
	if u.Deg+v.Deg > 2 {
		return Degree{Deg: 3}
	}
	if u.Deg == 1 {
		return Degree{2, true, u.Linear || v.Linear}
	}
	moves := a.Deps&^d.wrt != 0 // a is constant in the variables, so all it can move with is x
	return Degree{v.Deg, moves || v.Linear, v.Deg == 2 && (moves || v.Square)}
}

// Exponent is the exponent of a Pow node where it is one known number.
func Exponent(graph *expr.Builder, n *expr.Node) (float64, bool) {
	v := graph.Known(n.Args[1])
	if v == nil || v.Len() == 0 {
		return 0, false
	}
	vals := v.Values()
	return vals[0], !slices.ContainsFunc(vals, func(e float64) bool { return e != vals[0] })
}
