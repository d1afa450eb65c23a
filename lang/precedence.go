package lang

// Precedence is how tightly an operator binds; more is tighter. The parser and
// the printer share this one table.
type Precedence int

// The levels, from loose to tight. Prefix minus stands between products and
// powers, so that -x^2 is -(x^2).
const (
	OrLevel Precedence = iota + 1
	AndLevel
	NotLevel
	CompareLevel
	SumLevel
	ProductLevel
	NegateLevel
	PowerLevel
	PostfixLevel // x', x[i], f(a) and everything in brackets
)

// Precedence is the level of an infix operator.
func (o BinaryOp) Precedence() Precedence {
	switch o {
	case Or:
		return OrLevel
	case And:
		return AndLevel
	case Lt, Le, Gt, Ge, Eq, Ne:
		return CompareLevel
	case Add, Sub:
		return SumLevel
	case Pow, ElemPow:
		return PowerLevel
	}
	return ProductLevel
}

// RightLevel is the loosest level that the right operand may have without
// brackets: one tighter than the operator's (it associates to the left), but
// for powers, which associate to the right and take a sign: 2^-x.
func (o BinaryOp) RightLevel() Precedence {
	if o.Precedence() == PowerLevel {
		return NegateLevel
	}
	return o.Precedence() + 1
}

// Precedence is the level of a prefix operator and of its operand.
func (o UnaryOp) Precedence() Precedence {
	if o == Not {
		return NotLevel
	}
	return NegateLevel
}

// needsParens reports whether x must stand in brackets where an operand of at
// least the given level is read. A prefix operator or an if may start any
// operand; what they would swallow to their right is for swallows to say.
func needsParens(x Expr, least Precedence) bool {
	switch x := x.(type) {
	case *Binary:
		return x.Op.Precedence() < least
	case *Unary, *IfExpr:
		return least == PostfixLevel
	}
	return false
}

// swallows reports whether an operator of level next, written behind x, would
// be read as part of x's last operand.
func swallows(x Expr, next Precedence) bool {
	for {
		switch e := x.(type) {
		case *IfExpr:
			return true
		case *Unary:
			if next >= e.Op.Precedence() {
				return true
			}
			x = e.X
		case *Binary:
			x = e.Y
		default:
			return false
		}
	}
}
