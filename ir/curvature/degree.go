package curvature

import "bilevelc/ir/expr"

// degree is what is known of a node as a polynomial in the variables
// differentiated in, from its structure alone: deg 0, 1, 2, or 3 for anything
// else. For y alone, linear and square say whether the first and the second
// derivative may depend on x.
type degree struct {
	deg            int
	linear, square bool
}

func (s *study) degreeOf(n *expr.Node) degree {
	if !s.varies(n) {
		return degree{}
	}
	if d, ok := s.degrees[n]; ok {
		return d
	}
	d := s.computeDegree(n)
	s.degrees[n] = d
	return d
}

// affine reports that the second derivative of n vanishes identically.
func (s *study) affine(n *expr.Node) bool { return s.degreeOf(n).deg <= 1 }

func (s *study) computeDegree(n *expr.Node) degree {
	if n.Op == expr.Var {
		return degree{deg: 1}
	}
	u := s.degreeOf(n.Args[0])
	switch n.Op {
	case expr.Neg, expr.Sum, expr.Transpose, expr.Gather, expr.ScatterAdd:
		return u
	case expr.Add, expr.Sub:
		v := s.degreeOf(n.Args[1])
		return degree{max(u.deg, v.deg), u.linear || v.linear, u.square || v.square}
	case expr.Mul, expr.Dot, expr.MatVec, expr.MatMul, expr.Outer:
		return s.productDegree(n.Args[0], n.Args[1])
	case expr.Div:
		if !s.varies(n.Args[1]) {
			return s.productDegree(n.Args[1], n.Args[0])
		}
	case expr.Pow:
		switch p, ok := s.exponent(n); {
		case ok && p == 0:
			return degree{}
		case ok && p == 1:
			return u
		case ok && p == 2 && u.deg <= 1:
			return degree{2 * u.deg, true, u.linear}
		}
	}
	return degree{deg: 3}
}

func (s *study) productDegree(a, b *expr.Node) degree {
	u, v := s.degreeOf(a), s.degreeOf(b)
	if u.deg > v.deg {
		a, b, u, v = b, a, v, u
	}
	if u.deg+v.deg > 2 {
		return degree{deg: 3}
	}
	if u.deg == 1 {
		return degree{2, true, u.linear || v.linear}
	}
	moves := a.Deps&^s.wrt != 0 // a does not vary, so all it can move with is x
	return degree{v.deg, moves || v.linear, v.deg == 2 && (moves || v.square)}
}

// exponent is the exponent of a Pow node where it is one known number.
func (s *study) exponent(n *expr.Node) (float64, bool) {
	v := s.known(n.Args[1])
	if v == nil || v.Len() == 0 {
		return 0, false
	}
	vals := v.Values()
	for _, e := range vals {
		if e != vals[0] {
			return 0, false
		}
	}
	return vals[0], true
}
