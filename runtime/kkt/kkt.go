// Package kkt holds the follower's KKT system as one object: with z = (x, y, lambda),
//
//	H y + G x + q = B'lambda,   s = b + B y - A x >= 0,   lambda >= 0,   s_i lambda_i = 0
//
// (equality rows: s = 0, lambda free; signs of package problem), together with X and the
// leader's rows that are affine in z. It is a mathematical program with complementarity
// constraints (MPCC). A branch of it fixes one side of each pair (s_i, lambda_i) at zero; a row
// with s_i = lambda_i = 0 is biactive (Scheel and Scholtes 2000). Local solves, proofs of global
// optima and certificates are all about this object.
//
// Input is a problem.Problem whose g is quadratic in (x, y) jointly and convex in y; f and g are
// touched through gradients alone, from which H, G, q are read once (New). Output is the linear
// system with the products dropped, the relaxation, as an activeset.Program in equilibrated units,
// and its pairs.
package kkt

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// System is the KKT system of one problem. It is immutable once made and may be shared, but for
// Value and Gradient, which evaluate f.
type System struct {
	P         *problem.Problem
	Nx, Ny, M int // z = (x, y, lambda, u): lambda of all M rows, u the further variables of X (problem.Set.Extended)
	N         int // len z

	H *sparse.CSR // Ny x Ny, symmetric: the Hessian of g in y
	G *sparse.CSR // Ny x Nx: the derivative of grad_y g in x
	Q []float64   // len Ny: grad_y g at 0

	// Relaxation is the system without the products s_i lambda_i = 0, over z ./ ColScale, its rows times
	// RowScale; it has no objective. Its first Ny rows are the stationarity rows
	// H y + G x - B'lambda = -q, then come the rows Kept below.
	Relaxation *activeset.Program
	ColScale   []float64 // len N, powers of two: z = ColScale .* (scaled z)
	RowScale   []float64 // len of the relaxation's rows, powers of two
	// Origin says what each row of the relaxation stands for.
	Origin []Origin
	// Pairs are the complementary pairs, one for each inequality row of the lower level, in order.
	Pairs []Pair

	Objective *Objective
	// Curved are the leader's constraints that are no rows of the relaxation (NewCurved).
	Curved []Curved

	fixed []float64 // problem.Problem.Fixed

	blocks   []Block
	looseRow []bool // of each lower row: it reads an entry of P.Loose
	part     []int  // of each entry of y: the number of its block
	inBlock  []int  // and its place there
}

// Origin of a row of the relaxation: its kind, and the index there.
type Origin struct {
	Kind  OriginKind
	Index int
}

// OriginKind is where a row of the relaxation comes from.
type OriginKind uint8

// The kinds of rows: stationarity of the follower in an entry of y, a row of the lower level (B y - A x >= -b), a
// row of X, a row of the extended formulation of X, a constraint of the leader that reads the follower.
const (
	Stationarity OriginKind = iota
	LowerRow
	UpperRow
	ExtendedRow
	CoupledRow
	// HeldForce: H y is what it is at all of the follower's answers (System.Answers).
	HeldForce
)

// Side is one quantity that is to be nonnegative: how far a row's activity, or a variable, is above its lower bound, or a variable is below
// its upper one, in the relaxation.
type Side struct {
	Row, Var int  // the one that it is about; the other is -1
	Upper    bool // of a variable
}

// Pair is s_i and lambda_i of lower row Row.
type Pair struct {
	Row         int
	Slack, Mult Side
}

// Fix says what a node or branch holds of a pair.
type Fix int8

// The states of a pair: both sides open, s_i = 0, lambda_i = 0, and both, where branches meet.
const (
	Open Fix = iota
	SlackZero
	MultZero
	BothZero
)

// ErrClass is wrapped by the errors of New for problems outside the class.
var ErrClass = errors.New("the KKT system is not one of linear rows and pairs")

// errRange is wrapped by the errors of New for problems whose numbers are of sizes that are too far apart for the exponents of doubles.
var errRange = errors.New("the numbers of the model are too large, or too far apart, for double precision")

// Applies reports, in words, what keeps a problem out of the class; "" where nothing does.
func Applies(p *problem.Problem) string {
	switch {
	case !p.Facts.JointlyQuadratic:
		return "g is not quadratic in x and y together"
	case len(p.X.Balls) > 0:
		return "X has a ball"
	case p.Coupled != nil && !p.Facts.AffineCoupled:
		return "a constraint of the upper level is not affine"
	}
	return ""
}

// New reads the system off a problem: Dx + Dy + 1 gradients of g, and as many of f (and one an entry of what f reads beside) where f is quadratic.
func New(p *problem.Problem) (*System, error) {
	s, err := Read(p)
	if err == nil {
		err = s.ReadObjective()
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// ReadObjective reads what New does of f, behind Read.
func (s *System) ReadObjective() (err error) {
	if s.Objective, err = newObjective(s); err != nil {
		return err
	}
	hess, lin := s.ScaledObjective(s.Objective.Relaxed())
	if !linalg.Finite(lin) || hess != nil && !linalg.Finite(hess.Val) {
		return fmt.Errorf("%w: f is not finite in the units of the system", errRange)
	}
	return nil
}

// Read is New without what it reads of f: Objective is nil.
func Read(p *problem.Problem) (*System, error) {
	if why := Applies(p); why != "" {
		return nil, fmt.Errorf("%w: %s", ErrClass, why)
	}
	return read(p)
}

func read(p *problem.Problem) (*System, error) {
	s := &System{P: p, Nx: p.Dx, Ny: p.Dy, M: p.Rows.Len()}
	s.N = s.Nx + s.Ny + s.M + p.X.Extended.Extra()
	if err := s.readG(); err != nil {
		return nil, err
	}
	free := slices.Repeat([]bool{true}, s.Ny) // no equality row reads the entry, so that g, which may be strongly convex along these rows only, curves in it
	for i, kind := range p.Rows.Kind {
		if cols, _ := p.Rows.B.Row(i); kind == problem.Equal {
			for _, j := range cols {
				free[j] = false
			}
		}
	}
	for j := range s.Ny {
		if free[j] && s.H.At(j, j) < p.Facts.StrongConvexity/2 {
			return nil, fmt.Errorf("%w: g curves by %.3g at least, and nothing of it shows in its gradients", errRange, p.Facts.StrongConvexity)
		}
	}
	if !(p.Facts.StrongConvexity > 0) && !p.Facts.Convex && !Semidefinite(s.H) {
		return nil, fmt.Errorf("%w: g is not convex in y", ErrClass)
	}
	if !s.assemble() {
		return nil, fmt.Errorf("%w: a row or a bound is not finite in the units of the system", errRange)
	}
	s.connect()
	return s, nil
}

// X, Y and Lambda are the parts of z; they share its memory.
func (s *System) X(z []float64) []float64 { return z[:s.Nx] }

// Y is the follower's part of z.
func (s *System) Y(z []float64) []float64 { return z[s.Nx : s.Nx+s.Ny] }

// Lambda is the part of z with the multipliers.
func (s *System) Lambda(z []float64) []float64 { return z[s.Nx+s.Ny : s.Nx+s.Ny+s.M] }

// Bounds sets dst to the relaxation's bounds with the given sides fixed; fix has one entry a pair and may be nil.
func (s *System) Bounds(dst *activeset.Bounds, fix []Fix) {
	from := &s.Relaxation.Bounds
	dst.RowLo = append(dst.RowLo[:0], from.RowLo...)
	dst.RowHi = append(dst.RowHi[:0], from.RowHi...)
	dst.Lo = append(dst.Lo[:0], from.Lo...)
	dst.Hi = append(dst.Hi[:0], from.Hi...)
	for k, f := range fix {
		if f == SlackZero || f == BothZero {
			s.Pairs[k].Slack.hold(dst, from)
		}
		if f == MultZero || f == BothZero {
			s.Pairs[k].Mult.hold(dst, from)
		}
	}
}

// hold makes a side zero: the two bounds of its row or variable are the one that `from` has there. Where both bounds of a variable
// are sides and both are to be zero, they cross.
func (d Side) hold(b, from *activeset.Bounds) {
	switch {
	case d.Row >= 0:
		b.RowHi[d.Row] = from.RowLo[d.Row]
	case d.Upper:
		b.Lo[d.Var] = from.Hi[d.Var]
	default:
		b.Hi[d.Var] = from.Lo[d.Var]
	}
}

// Above is how far the side's quantity is above zero at a point in the relaxation's units.
func (d Side) Above(r *activeset.Program, scaled []float64) float64 {
	switch {
	case d.Row >= 0:
		return r.A.RowDot(d.Row, scaled) - r.RowLo[d.Row]
	case d.Upper:
		return r.Hi[d.Var] - scaled[d.Var]
	}
	return scaled[d.Var] - r.Lo[d.Var]
}

// Unscaled is z in the model's units, from the relaxation's.
func (s *System) Unscaled(scaled []float64) []float64 {
	z := make([]float64, s.N)
	for j, c := range s.ColScale {
		z[j] = c * scaled[j]
	}
	return z
}

// Scaled is the inverse of Unscaled.
func (s *System) Scaled(z []float64) []float64 {
	scaled := make([]float64, s.N)
	for j, c := range s.ColScale {
		scaled[j] = z[j] / c
	}
	return scaled
}

// OffCoupled is how far rows of the leader that read the follower are off at z, relative to their terms: 0 where all hold.
func (s *System) OffCoupled(z []float64) (off float64) {
	for r, o := range s.Origin {
		if o.Kind != CoupledRow {
			continue
		}
		value, terms, lo, hi := 0.0, 0.0, s.Relaxation.RowLo[r], s.Relaxation.RowHi[r]
		for j, a := range s.Relaxation.A.Entries(r) {
			v := a * z[j] / s.ColScale[j]
			value, terms = value+v, terms+math.Abs(v)
		}
		if over := math.Max(lo-value, value-hi); over > 0 {
			off = math.Max(off, over/(terms+math.Abs(value)))
		}
	}
	return off
}

// Slack sets dst (len M) to s = b + B y - A x, with the size of the terms that each is a sum of in terms (len M, or nil).
func (s *System) Slack(dst, terms, z []float64) {
	rows, x, y := s.P.Rows, s.X(z), s.Y(z)
	for i := range dst[:s.M] {
		dst[i] = rows.Rhs[i] + rows.B.RowDot(i, y) - rows.A.RowDot(i, x)
		if terms == nil {
			continue
		}
		terms[i] = rows.A.AddTerms(rows.B.AddTerms(math.Abs(rows.Rhs[i]), i, y), i, x)
	}
}

// readG finds H, G and q by gradients of g at the origin and along each axis; of a sparse H of known pattern, along groups of axes (linalg.Colour).
func (s *System) readG() error {
	n, g := s.Nx+s.Ny, problem.Probe(s.P.G)
	grad := func(dst, v []float64) { g.GradY(dst, v[:s.Nx], v[s.Nx:]) }
	pattern := s.P.Facts.HessianPattern
	axes := n
	if pattern != nil {
		axes = s.Nx
	}
	at, found, err := problem.Affine(axes, n, s.Ny, s.P.Facts.ReadsX, grad)
	if err != nil {
		return fmt.Errorf("the gradient of g: %w", err)
	}
	s.Q = at
	inY, inX := []sparse.Entry{}, []sparse.Entry{}
	for j, column := range found {
		for i, v := range column {
			switch {
			case v == 0:
			case j < s.Nx:
				inX = append(inX, sparse.Entry{Row: i, Col: j, Val: v})
			default:
				inY = append(inY, sparse.Entry{Row: i, Col: j - s.Nx, Val: v})
			}
		}
	}
	s.G = sparse.FromEntries(s.Ny, s.Nx, inX)
	if pattern == nil {
		s.H = symmetric(sparse.FromEntries(s.Ny, s.Ny, inY))
		return nil
	}
	groups := linalg.Colour(pattern)
	s.H = &sparse.CSR{Rows: s.Ny, Cols: s.Ny, Ptr: pattern.Ptr, Col: pattern.Col, Val: make([]float64, pattern.NNZ())}
	v, product, step := make([]float64, n), make([]float64, s.Ny), slices.Repeat([]float64{1}, s.Ny)
	for c := range groups.Colours {
		for j, of := range groups.Of {
			v[s.Nx+j] = 0
			if int(of) == c {
				v[s.Nx+j] = 1
			}
		}
		if err := problem.Along(product, v, at, grad); err != nil {
			return fmt.Errorf("the gradient of g: %w, of the columns of group %d", err, c)
		}
		groups.Read(s.H.Val, c, product, step)
	}
	return nil
}

// symmetric is (m + m')/2, which differ by rounding of differences alone.
func symmetric(m *sparse.CSR) *sparse.CSR { return sparse.Add(0.5, m, 0.5, m.T()) }

// probing is the system with an f for points that far out.
func (s *System) probing() *System {
	q, p := *s, *s.P
	p.F = problem.Probe(p.F)
	q.P = &p
	return &q
}
