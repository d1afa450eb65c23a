package certify

import (
	"errors"
	"fmt"
	"math"
	"sort"

	"gonum.org/v1/gonum/mat"

	"bilevelc/runtime/problem"
)

// deriver derives y*(x), its multipliers and the hypergradient from the
// functions and rows alone: Newton's method with curvature by differences of
// grad g, on a face that is corrected until the KKT conditions hold.
type deriver struct {
	p   *problem.Problem
	f   problem.Function
	g   problem.Function
	tol Tolerances
	// Where the Hessian of g in y is the same everywhere it is built once.
	hessian *mat.SymDense
	factor  *mat.Cholesky
}

func newDeriver(p *problem.Problem, tol Tolerances) *deriver {
	return &deriver{p: p, f: p.F.Clone(), g: p.G.Clone(), tol: tol}
}

// derived is the lower level at one x, on one face.
type derived struct {
	x, y, lambda []float64
	active       []int       // independent rows of the face, ascending
	rows         [][]float64 // of B, those of active
	system       *kktSystem
}

// cubeRootEps is the step, relative to the variable, that balances truncation
// and rounding of a central difference.
var cubeRootEps = math.Cbrt(0x1p-52)

// curvature is the Hessian of g in y at (x, y) by central differences of its
// gradient, symmetrized. For a quadratic any step is exact but for rounding,
// and a long one has the least of it.
func (d *deriver) curvature(x, y []float64) (*mat.SymDense, *mat.Cholesky, error) {
	if d.hessian != nil {
		return d.hessian, d.factor, nil
	}
	n := d.p.Dy
	up, down := make([]float64, n), make([]float64, n)
	z := append([]float64(nil), y...)
	full := mat.NewDense(n, n, nil)
	for j := range n {
		step := math.Max(1, math.Abs(y[j]))
		if !d.p.Facts.QuadraticInY {
			step *= cubeRootEps
		}
		z[j] = y[j] + step
		width := z[j]
		d.g.GradY(up, x, z)
		z[j] = y[j] - step
		width -= z[j]
		d.g.GradY(down, x, z)
		z[j] = y[j]
		for i := range n {
			full.Set(i, j, (up[i]-down[i])/width)
		}
	}
	h := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			h.SetSym(i, j, (full.At(i, j)+full.At(j, i))/2)
		}
	}
	factor, err := factorize(h)
	if err == nil && d.p.Facts.QuadraticInY && d.p.Facts.FixedHessian {
		d.hessian, d.factor = h, factor
	}
	return h, factor, err
}

// lower solves the lower level at x, from y and the face given. A claimed face
// is kept where the KKT conditions hold on it to the tolerance of a solution:
// at a kink of F it says which side is meant. Otherwise it is a start, and the
// conditions are to hold to rounding.
func (d *deriver) lower(x, y []float64, active []int, claimed bool) (*derived, error) {
	const rounding = 1e-12
	tolerance := rounding
	if claimed {
		tolerance = d.tol.KKT
	}
	face := map[int]bool{}
	for i, kind := range d.p.Rows.Kind {
		if kind == problem.Equal {
			face[i] = true
		}
	}
	for _, i := range active {
		face[i] = true
	}
	seen := map[string]bool{}
	for {
		rows := sortedKeys(face)
		key := fmt.Sprint(rows)
		if seen[key] {
			// Rounding decides between rows that are weakly active, unless it
			// is allowed for.
			if tolerance >= d.tol.KKT {
				return nil, errors.New("no face solves the lower level: the corrections go in a circle")
			}
			tolerance = d.tol.KKT
			clear(seen)
		}
		seen[key] = true
		at, err := d.onFace(x, y, rows)
		if err != nil {
			return nil, err
		}
		if !d.correct(face, at, tolerance) {
			return at, nil
		}
		y = at.y
	}
}

// correct adds the most violated row to the face, or else drops the one of the
// most negative multiplier; false where there is neither. A multiplier is
// measured by how far its row would give way alone, lambda_i (B H^-1 B')_ii,
// which is in the units of h. Rows that depend on others of the face count as
// outside.
func (d *deriver) correct(face map[int]bool, at *derived, tolerance float64) bool {
	h := make([]float64, d.p.Rows.Len())
	d.p.Rows.Residual(h, at.x, at.y)
	for _, i := range at.active {
		h[i] = 0
	}
	tolerance *= 1 + maxAbs(at.y)
	worst, violated := tolerance, -1
	for i, v := range h {
		if d.p.Rows.Kind[i] == problem.Equal {
			v = math.Abs(v)
		}
		if v > worst {
			worst, violated = v, i
		}
	}
	if violated >= 0 {
		face[violated] = true
		return true
	}
	least, negative := -tolerance, -1
	for k, i := range at.active {
		way := at.lambda[i] * at.system.diagonal[k]
		if d.p.Rows.Kind[i] == problem.AtMost && way < least {
			least, negative = way, i
		}
	}
	if negative < 0 {
		return false
	}
	delete(face, negative)
	return true
}

// onFace minimizes g(x, .) on the affine set where the rows hold with
// equality, by Newton's method with halved steps.
func (d *deriver) onFace(x, y []float64, rows []int) (*derived, error) {
	const (
		maxNewton = 60 // Newton's method doubles the digits at each; more is a failure
		maxHalve  = 40 // 2^-40 of a step is below the accuracy asked for
	)
	dense := make([][]float64, len(rows))
	for k, i := range rows {
		dense[k] = make([]float64, d.p.Dy)
		d.p.Rows.B.AddRow(dense[k], i, 1)
	}
	at := &derived{x: x, y: append([]float64(nil), y...), lambda: make([]float64, d.p.Rows.Len())}
	for _, k := range independent(dense) {
		at.active = append(at.active, rows[k])
		at.rows = append(at.rows, dense[k])
	}
	if len(at.active) > d.p.Dy {
		return nil, errFace
	}
	grad := make([]float64, d.p.Dy)
	gap := make([]float64, len(at.active))
	trial := make([]float64, d.p.Dy)
	for range maxNewton {
		h, factor, err := d.curvature(x, at.y)
		if err != nil {
			return nil, err
		}
		if at.system, err = newKKTSystem(h, factor, at.rows); err != nil {
			return nil, err
		}
		d.g.GradY(grad, x, at.y)
		for j := range grad {
			grad[j] = -grad[j]
		}
		for k, i := range at.active {
			gap[k] = d.p.Rows.A.RowDot(i, x) - d.p.Rows.B.RowDot(i, at.y) - d.p.Rows.Rhs[i]
		}
		step, minus := at.system.solve(grad, gap)
		for k, i := range at.active {
			at.lambda[i] = -minus[k]
		}
		if !(norm(step) < math.Inf(1)) {
			return nil, errors.New("the Newton iteration on the face broke down")
		}
		length := 1.0
		if !d.p.Facts.QuadraticInY {
			before := d.faceResidual(x, at.y, at)
			for k := 0; ; k++ {
				for j := range trial {
					trial[j] = at.y[j] + length*step[j]
				}
				if d.faceResidual(x, trial, at) <= (1-length/2)*before || norm(step) <= 1e-8*(1+norm(at.y)) || k == maxHalve {
					break
				}
				length /= 2
			}
		}
		for j := range at.y {
			at.y[j] += length * step[j]
		}
		// The step is the error of the point it left; what is left after it is
		// its square, or rounding.
		if length == 1 && norm(step) <= 1e-9*(1+norm(at.y)) {
			return at, nil
		}
	}
	return nil, errors.New("the Newton iteration on the face did not converge")
}

// faceResidual is the norm of the KKT residual of the face at y, with the
// multipliers of at.
func (d *deriver) faceResidual(x, y []float64, at *derived) float64 {
	r := make([]float64, d.p.Dy)
	d.g.GradY(r, x, y)
	d.p.Rows.B.AddMulVecT(r, -1, at.lambda)
	sum := norm(r)
	for _, i := range at.active {
		sum = math.Hypot(sum, d.p.Rows.A.RowDot(i, x)-d.p.Rows.B.RowDot(i, y)-d.p.Rows.Rhs[i])
	}
	return sum
}

// hypergradient is the gradient of F on the face of at, by the adjoint of its
// KKT system: with H p + B_I' q = grad_y f and B_I p = -grad_lambda f (0 where f
// reads no multipliers),
//
//	grad F = grad_x f - (d/dy grad_x g) p + A_I' q,
//
// where the derivative of grad_x g along p is a central difference.
func (d *deriver) hypergradient(at *derived) ([]float64, error) {
	system := at.system
	if d.hessian == nil { // the curvature at the solution, not at the last Newton point
		h, factor, err := d.curvature(at.x, at.y)
		if err != nil {
			return nil, err
		}
		if system, err = newKKTSystem(h, factor, at.rows); err != nil {
			return nil, err
		}
	}
	grad := make([]float64, d.p.Dx)
	pull := make([]float64, d.p.AnswerLen())
	d.f.ValueGrad(grad, pull, at.x, d.p.Answer(at.y, at.lambda))
	rows := make([]float64, len(at.active))
	for k, i := range at.active {
		for t, j := range d.p.Duals {
			if i == j {
				rows[k] -= pull[d.p.Dy+t]
			}
		}
	}
	p, q := system.solve(pull[:d.p.Dy], rows)
	if size := norm(p); size > 0 {
		step := math.Max(1, norm(at.y)) / size
		if !d.p.Facts.QuadraticInY {
			step *= cubeRootEps
		}
		up, down := make([]float64, d.p.Dx), make([]float64, d.p.Dx)
		z := make([]float64, d.p.Dy)
		for j := range z {
			z[j] = at.y[j] + step*p[j]
		}
		d.g.GradX(up, at.x, z)
		for j := range z {
			z[j] = at.y[j] - step*p[j]
		}
		d.g.GradX(down, at.x, z)
		for j := range grad {
			grad[j] -= (up[j] - down[j]) / (2 * step)
		}
	}
	for k, i := range at.active {
		d.p.Rows.A.AddRow(grad, i, q[k])
	}
	return grad, nil
}

// alternatives calls try with the other faces of at.x: those that differ in
// rows that are tight and whose multiplier is zero, both to the tolerance of a
// solution, and on which the KKT conditions hold. It stops where try returns
// false, and where there are more than maxWeak such rows tries none.
func (d *deriver) alternatives(at *derived, try func(*derived) bool) {
	const maxWeak = 6 // 64 faces
	h := make([]float64, d.p.Rows.Len())
	d.p.Rows.Residual(h, at.x, at.y)
	way := make([]float64, len(h))
	inFace := map[int]bool{}
	for k, i := range at.active {
		way[i] = at.lambda[i] * at.system.diagonal[k]
		inFace[i] = true
	}
	tolerance := d.tol.KKT * (1 + maxAbs(at.y))
	var weak []int
	for i, kind := range d.p.Rows.Kind {
		if kind == problem.AtMost && math.Abs(h[i]) <= tolerance && math.Abs(way[i]) <= tolerance {
			weak = append(weak, i)
		}
	}
	if len(weak) > maxWeak {
		return
	}
	for flips := 1; flips < 1<<len(weak); flips++ {
		face := map[int]bool{}
		for i := range inFace {
			face[i] = true
		}
		for k, i := range weak {
			if flips>>k&1 == 1 {
				if face[i] {
					delete(face, i)
				} else {
					face[i] = true
				}
			}
		}
		other, err := d.onFace(at.x, at.y, sortedKeys(face))
		if err != nil || d.correct(face, other, d.tol.KKT) {
			continue
		}
		if !try(other) {
			return
		}
	}
}

func sortedKeys(set map[int]bool) []int {
	keys := make([]int, 0, len(set))
	for i := range set {
		keys = append(keys, i)
	}
	sort.Ints(keys)
	return keys
}

func maxAbs(v []float64) float64 {
	top := 0.0
	for _, t := range v {
		top = math.Max(top, math.Abs(t))
	}
	return top
}
