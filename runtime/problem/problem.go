// Package problem is the numeric problem that the runtime solves:
//
//	minimize F(x) = f(x, y*(x)) over x in X,
//	y*(x) = argmin { g(x, y) : h_i(x, y) <= 0 or = 0 },  h(x, y) = A x - B y - b.
//
// It knows nothing of the language: names are carried for reports only. f and
// g are touched through values and first gradients alone, and every call is
// counted (Counted).
package problem

import (
	"math"
	"slices"

	"bilevelc/internal/extended"
	"bilevelc/internal/sparse"
)

// Function is a continuously differentiable function of x (len Dx) and y (len
// Dy). Implementations may cache what depends on x only between calls with
// equal x. They are not safe for concurrent use; Clone gives an independent
// evaluator that shares the immutable parts.
type Function interface {
	Value(x, y []float64) float64
	GradX(dst, x, y []float64)                    // dst len Dx
	GradY(dst, x, y []float64)                    // dst len Dy
	ValueGradY(dst, x, y []float64) float64       // value and gradient in y, sharing work
	ValueGrad(dstX, dstY, x, y []float64) float64 // value and both gradients, sharing work
	Clone() Function
}

// Joint is a Function of one call for its value and, where they are not nil, its gradients; calls share nothing that they change.
type Joint func(dstX, dstY, x, y []float64) float64

func (f Joint) Value(x, y []float64) float64                 { return f(nil, nil, x, y) }
func (f Joint) GradX(dst, x, y []float64)                    { f(dst, nil, x, y) }
func (f Joint) GradY(dst, x, y []float64)                    { f(nil, dst, x, y) }
func (f Joint) ValueGradY(dst, x, y []float64) float64       { return f(nil, dst, x, y) }
func (f Joint) ValueGrad(dstX, dstY, x, y []float64) float64 { return f(dstX, dstY, x, y) }
func (f Joint) Clone() Function                              { return f }

// Rounded is a Function that bounds the rounding of its slopes.
type Rounded interface {
	Function
	// SlopeY encloses direction'grad_y (direction len Dy) at the doubles x and y, in exact
	// arithmetic: infinite ends where nothing is known. It reports false where it has no bounds.
	SlopeY(direction, x, y []float64) (lo, hi float64, ok bool)
}

// Kind of a row.
type Kind uint8

// The kinds: h_i <= 0 with a multiplier >= 0, or h_i = 0 with a free one.
const (
	AtMost Kind = iota
	Equal
)

// Over is how far a row with h_i = h is off; none where it is not above 0.
func (k Kind) Over(h float64) float64 {
	if k == Equal {
		return math.Abs(h)
	}
	return h
}

// Rows are the lower level's constraints h(x, y) = A x - B y - b, m rows.
// Lagrangian g + lambda' h; grad_y h = -B; stationarity grad_y g = B' lambda.
type Rows struct {
	Kind []Kind      // len m
	A    *sparse.CSR // m x Dx
	B    *sparse.CSR // m x Dy
	Rhs  []float64   // b, len m
	Name []string    // len m, for messages: "cap[3]"
}

// Len is the number of rows.
func (r *Rows) Len() int { return len(r.Kind) }

// Bound returns the entry j of y and its coefficient where row i involves
// exactly one entry of y, and j = -1 otherwise. Solvers treat such
// inequality rows as bounds, not as general rows.
func (r *Rows) Bound(i int) (j int, coef float64) {
	j = -1
	cols, vals := r.B.Row(i)
	for k, v := range vals {
		if v == 0 {
			continue
		}
		if j >= 0 {
			return -1, 0
		}
		j, coef = cols[k], v
	}
	return j, coef
}

// Fixed are the values of the entries of x that X leaves one (len Dx): by bounds that meet, or by an equality row of that entry alone whose coefficient times the
// value is its right side exactly. NaN for others.
func (p *Problem) Fixed() []float64 {
	out := make([]float64, p.Dx)
	for j := range out {
		out[j] = math.NaN()
		if lo, hi := p.X.Box(j); lo == hi {
			out[j] = lo
		}
	}
	for i, kind := range p.X.Kind {
		at, coef := -1, 0.0
		for j, v := range p.X.E.Nonzeros(i) {
			if at >= 0 {
				at = -1
				break
			}
			at, coef = j, v
		}
		if kind != Equal || at < 0 {
			continue
		}
		if v := p.X.Rhs[i] / coef; math.FMA(v, coef, -p.X.Rhs[i]) == 0 {
			out[at] = v
		}
	}
	return out
}

// Residual sets dst (len m) to h(x, y).
func (r *Rows) Residual(dst, x, y []float64) {
	for i := range dst[:r.Len()] {
		dst[i] = r.A.RowDot(i, x) - r.B.RowDot(i, y) - r.Rhs[i]
	}
}

// Set is X: bounds, rows E x <= e or = e, balls, and rows on further variables, all convex.
type Set struct {
	Lo, Hi []float64 // len Dx; -Inf and +Inf where free
	Kind   []Kind    // len of the rows
	E      *sparse.CSR
	Rhs    []float64
	Name   []string
	Balls  []Ball
	// Extended are rows on x and further variables; nil where there are none.
	Extended *extended.Rows
}

// Ball is |x[Start:End] - Center| <= Radius.
type Ball struct {
	Start, End int
	Center     []float64 // len End-Start; nil for 0
	Radius     float64
	Name       string
}

// Box is the range of entry j; infinite where it has no bounds.
func (s *Set) Box(j int) (lo, hi float64) {
	if s == nil || s.Lo == nil {
		return math.Inf(-1), math.Inf(1)
	}
	return s.Lo[j], s.Hi[j]
}

// Boxes are the ranges of n columns, the first of which are the entries of x; the others have none.
func (s *Set) Boxes(n int) (lo, hi []float64) {
	lo, hi = slices.Repeat([]float64{math.Inf(-1)}, n), slices.Repeat([]float64{math.Inf(1)}, n)
	copy(lo, s.Lo)
	copy(hi, s.Hi)
	return lo, hi
}

// Clamp moves x into the bounds.
func (s *Set) Clamp(x []float64) {
	for j, t := range x {
		lo, hi := s.Box(j)
		x[j] = math.Max(lo, math.Min(hi, t))
	}
}

// Distance is |x_S - c|.
func (b *Ball) Distance(x []float64) float64 {
	s := 0.0
	for j := b.Start; j < b.End; j++ {
		s = math.Hypot(s, x[j]-b.At(j))
	}
	return s
}

// At is the entry of the center that belongs to x_j.
func (b *Ball) At(j int) float64 {
	if b.Center == nil {
		return 0
	}
	return b.Center[j-b.Start]
}

// Problem is one bound bilevel problem. F is always minimized: a model's
// `maximize` is a sign that only reports undo.
type Problem struct {
	Name   string
	Dx, Dy int
	F, G   Function
	Rows   *Rows
	X      *Set
	Start  []float64 // starting x, len Dx
	// Integer says which entries of x take whole numbers only (len Dx); nil: none.
	Integer []bool
	Facts   Facts
	// Duals are rows whose multipliers F reads: in the place of y it takes y and
	// lambda_i for i in Duals, in this order (see Answer). G takes y.
	Duals []int
	// Coupled are the constraints of the upper level that are not part of X; nil
	// where there are none. F then takes a weight for each behind the multipliers,
	// and is f + weights'c.
	Coupled *Coupled
	// ConvexF, optional, reports that sign (1 or -1) times f is shown to be convex in y at an x of X, over all y that the rows may leave there. It is safe for concurrent use.
	ConvexF func(x []float64, sign float64) bool
	// Hidden is how many entries of y, the last ones, are none of the model's: they restate kinks (ir.Restated). Loose (len Dy, or nil) are those of them that only
	// F reads: rows keep them above the sides of their kinks, and only the leader has a reason to keep them down.
	Hidden int
	Loose  []bool
	// Blocks, optional, are independent followers: a partition of the entries
	// of y such that g is a sum over the blocks (of functions of x and one
	// block each) and no row involves two of them.
	Blocks [][]int
}

// AffineAlong reports that grad g is affine along entry j of (x, y), whatever the others are.
func (f *Facts) AffineAlong(j int) bool {
	return f.JointlyQuadratic || f.Nonquadratic != nil && !f.Nonquadratic[j]
}

// Facts are what the compiler proved; zero values mean "not known".
type Facts struct {
	StrongConvexity float64 // mu_g > 0: g(x, .) is mu_g-strongly convex for all x in X
	Convex          bool    // g(x, .) is convex for all x in X
	Smoothness      float64 // C_g
	LipschitzF      float64 // L_f
	SmoothnessF     float64 // C_f
	QuadraticInY    bool    // g is quadratic in y
	FixedHessian    bool    // and its Hessian in y does not depend on x
	// JointlyQuadratic: g is quadratic in (x, y), so that the lower level is a parametric
	// quadratic program: its Hessian in y is fixed, and grad_y g affine in x.
	JointlyQuadratic bool
	EqualityOnly     bool // every row is an equality, so F is smooth
	// DegreeF is the degree of f as a polynomial in all that it reads (x, y and multipliers): 0, 1, 2, or 3 for
	// anything else. AffineCoupled: so that each coupled constraint is affine in them; DegreeCoupled are their degrees, nil where they are not known.
	DegreeF       int
	AffineCoupled bool
	DegreeCoupled []int
	// ReadsX marks the entries of x that g may depend on; nil: not known.
	ReadsX []bool
	// Free marks the entries of x that nothing depends on: neither objective, no row of either level. nil: none is known.
	Free []bool
	// Nonquadratic marks the entries of (x, y), those of x first, that terms of g of degree above two may read: along the
	// others grad g is affine. nil: not known.
	Nonquadratic []bool
	// Steep are bounds of X at which the slope of F in an entry of x has no end.
	Steep []Steep
	// Sums are sums of several entries of y, one a row, and Alone (len Dy) the entries alone that g is curved in: at each x it is a function of them, and a linear function of y with coefficients that are affine in x.
	// nil: not known, or there are no such sums.
	Sums  *sparse.CSR
	Alone []bool
	// HessianPattern holds the places where the Hessian of g in y may be nonzero at
	// some (x, y): Dy x Dy, symmetric, both triangles and the whole diagonal, all
	// values 1. nil: not known, as where it would be dense.
	HessianPattern *sparse.CSR
}
