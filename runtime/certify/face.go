package certify

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// deriver derives y*(x), its multipliers and gradients of F from the functions
// and rows alone: Newton's method with curvature by differences of grad g, on a
// face that is corrected until the KKT conditions hold.
type deriver struct {
	p      *problem.Problem
	f, g   problem.Function
	s      *scales
	x, y   []float64 // the document's, and lambda
	lambda []float64
	parts  [][]int
	tied   [][]float64 // see tiedNormals
	near   *hessian    // where the curvature was last looked at
	// coupling says how the coupled constraints enter F; nil where they do not.
	coupling *coupling
	exchange exchange // of the hessians by products
}

func newDeriver(p *problem.Problem, x, y, lambda []float64) *deriver {
	d := &deriver{p: p, f: p.F.Clone(), g: p.G.Clone(), x: x, y: y, lambda: lambda, parts: partition(p), tied: tiedNormals(p)}
	d.s = measure(p, d.f, d.g, x, y, lambda, math.Inf(1))
	if d.s.unknown {
		if most := d.way(x, y, pressed(lambda)); most > 0 {
			// What rounding leaves of y is by the curvature still.
			as := measure(p, d.f, d.g, x, y, lambda, most)
			d.s.response, d.s.gradient, d.s.local = as.response, as.gradient, as.local
		}
	}
	return d
}

// derived is the lower level at one x, on one face.
type derived struct {
	x, y, lambda []float64
	face         []int // rows held with equality, ascending
	active       []int // those of them that are independent
	system       *faceSystem
	left         float64 // what Newton's method has left of |y - y*(x)|
	errorY       float64 // that, with rounding over the least curvature
}

// curvature is the Hessian of g in y: the last one, or, where fresh is asked for
// and it may differ, the one at (x, y).
func (d *deriver) curvature(x, y []float64, fresh bool) (*hessian, error) {
	if h := d.exchange.direct; h != nil && h != d.near {
		d.near = h
	}
	if d.near != nil && d.near.direct() && (!fresh || d.p.Facts.QuadraticInY && d.p.Facts.FixedHessian) {
		return d.near, nil // products are always taken where they are needed
	}
	h, err := d.hessian(x, y)
	if err == nil {
		d.near = h
	}
	return h, err
}

// lower solves the lower level at x, from y and the face given: the face is corrected as Newton's method on it goes on,
// and where that fails quadratic programs are solved, which take rows one at a time, with factors of the face for each.
func (d *deriver) lower(x, y []float64, face []int) (*derived, error) {
	at, err := d.corrected(x, y, face)
	if err == nil {
		return at, nil
	}
	if at, failure := d.dual(x, y, face); failure != errProducts {
		return at, failure
	}
	return nil, err
}

// corrected solves the lower level by corrections of the face by signs, until the KKT
// conditions hold to rounding. Among weakly active rows that may go in a circle: rows are
// then exchanged (dual).
func (d *deriver) corrected(x, y []float64, face []int) (*derived, error) {
	rows := set(equalities(d.p))
	for _, i := range face {
		if cols, _ := d.p.Rows.B.Row(i); len(cols) > 0 {
			rows[i] = true
		}
	}
	// In the first corrections all rows change that should, as in a semismooth Newton method, later the worst alone, which cannot go on.
	seen := map[string]bool{}
	// A face is not seen twice; beyond this many corrections the point is not
	// near a solution and the document wrong about it.
	for range 50 + 10*d.p.Rows.Len() {
		list := slices.Sorted(maps.Keys(rows))
		key := fmt.Sprint(list)
		if seen[key] {
			return nil, errors.New("no face solves the lower level: the corrections go in a circle")
		}
		seen[key] = true
		at, err := d.onFace(x, y, list)
		if err != nil {
			return nil, err
		}
		if !d.correct(rows, at, d.off(at, tolerance.Rounded), len(seen) <= tolerance.Exchanges) {
			return at, nil
		}
		y = at.y
	}
	return nil, errors.New("no face that solves the lower level was found")
}

// off is what rounding may leave of each row at a point: of its terms there, with y as long as its largest entry, and of what they are over X the rounding of a sum, of which a small y may be the difference.
func (d *deriver) off(at *derived, part float64) []float64 {
	r, length := d.p.Rows, maxAbs(at.y)
	return each.Below(r.Len(), func(i int) float64 {
		return math.Max(part*r.B.AddTerms(r.A.AddTerms(math.Abs(r.Rhs[i])+d.s.normB[i]*length, i, at.x), i, at.y), tolerance.SumRounding*d.s.rows[i])
	})
}

// correct adds the most violated row to the face, or else drops the one of the
// most negative multiplier; false where there is neither. With all it changes
// every such row. A multiplier is measured by how far its row would give way,
// which is in the units of h, as off is, which it may be off by. Rows that depend on others of the face count as
// outside.
func (d *deriver) correct(face map[int]bool, at *derived, off []float64, all bool) bool {
	sizes := make([]float64, d.p.Rows.Len())
	d.p.Rows.Residual(sizes, at.x, at.y)
	for _, i := range at.active {
		sizes[i] = 0
	}
	for i := range sizes {
		kind := d.p.Rows.Kind[i]
		sizes[i] = kind.Over(sizes[i]) / off[i]
		if cols, _ := d.p.Rows.B.Row(i); len(cols) == 0 || kind == problem.Equal && face[i] {
			sizes[i] = 0 // a condition on x alone, or a row that depends on others
		}
	}
	violated := beyond(sizes, all)
	for _, i := range violated {
		face[i] = true
	}
	if len(violated) > 0 && !all {
		return true
	}
	clear(sizes)
	for k, i := range at.active {
		if d.p.Rows.Kind[i] == problem.AtMost {
			sizes[i] = -at.lambda[i] * at.system.give(k) / off[i]
		}
	}
	negative := beyond(sizes, all)
	for _, i := range negative {
		delete(face, i)
	}
	return len(violated)+len(negative) > 0
}

// beyond are the places of sizes that are more than 1, or that of the largest of them alone.
func beyond(sizes []float64, all bool) []int {
	rows := each.WhereBelow(len(sizes), func(i int) bool { return sizes[i] > 1 })
	if len(rows) == 0 || all {
		return rows
	}
	return []int{slices.MaxFunc(rows, func(i, j int) int { return cmp.Compare(sizes[i], sizes[j]) })}
}

// onFace minimizes g(x, .) on the affine set where the rows hold with equality,
// by Newton's method with halved steps. The curvature of a point near by serves
// as long as the steps shrink with it.
func (d *deriver) onFace(x, y []float64, face []int) (_ *derived, err error) {
	defer must.Catch(&err)
	at := &derived{x: x, y: append([]float64(nil), y...), lambda: make([]float64, d.p.Rows.Len()), face: face}
	last := math.Inf(1)
	fresh := false
	for range tolerance.Steps {
		h := must.Get(d.curvature(x, at.y, fresh))
		at.system = must.Get(h.system(face))
		at.active = at.system.index
		clear(at.lambda)
		gap := each.Of(at.active, func(i int) float64 { return d.residual(i, x, at.y) })
		step, minus, err := at.system.solve(scaled(gradY(d.g, x, at.y), -1), gap)
		if err != nil {
			return nil, err
		}
		for k, i := range at.active {
			at.lambda[i] = -minus[k]
		}
		size := norm(step)
		if !(size < math.Inf(1)) {
			return nil, errors.New("the Newton iteration on the face broke down")
		}
		length := 1.0
		if !d.p.Facts.QuadraticInY {
			before := d.faceResidual(x, at.y, at)
			falls := func() bool { return d.faceResidual(x, moved(at.y, length, step), at) <= (1-length/2)*before }
			for k := 0; k < tolerance.Halvings && !falls() && !(size <= 1e-8*d.sizeY(at.y)); k++ {
				length /= 2
			}
		}
		at.y = moved(at.y, length, step)
		// The step is the error of the point it left; what is left after it is
		// its square, or rounding, of which the steps are where they get no shorter: g curves by
		// more than its modulus, so that the rounding of forces asks for no more.
		rounded := size > tolerance.Forcing*last && size*d.p.Facts.StrongConvexity <= d.noise() && d.p.Facts.StrongConvexity > 0
		if length == 1 && (rounded || size <= 1e-9*d.sizeY(at.y)) {
			d.estimate(at, size*math.Min(1, size/last))
			return at, nil
		}
		fresh = length < 1 || size > tolerance.Forcing*last
		last = size
	}
	return nil, errors.New("the Newton iteration on the face did not converge")
}

// sizeY is the size of y as a vector.
func (d *deriver) sizeY(y []float64) float64 { return math.Max(norm(y), d.s.y) }

// residual is h_i(x, y).
func (d *deriver) residual(i int, x, y []float64) float64 {
	return d.p.Rows.A.RowDot(i, x) - d.p.Rows.B.RowDot(i, y) - d.p.Rows.Rhs[i]
}

// unbalanced is grad_y g - B'lambda.
func (d *deriver) unbalanced(x, y, lambda []float64) []float64 {
	r := gradY(d.g, x, y)
	d.p.Rows.B.AddMulVecT(r, -1, lambda)
	return r
}

// noise is the rounding of one force: of a sum of terms of size scales.force.
func (d *deriver) noise() float64 { return tolerance.SumRounding * d.s.force }

// estimate sets the error of y: what Newton's method has left, and rounding in
// the forces that balance there, over the least curvature.
func (d *deriver) estimate(at *derived, left float64) {
	at.left = left
	at.errorY = left + d.noise()*math.Sqrt(float64(d.p.Dy))/at.system.least() + tolerance.SumRounding*d.sizeY(at.y)
}

// faceResidual is the norm of the KKT residual of the face at y, with the
// multipliers of at.
func (d *deriver) faceResidual(x, y []float64, at *derived) float64 {
	sum := norm(d.unbalanced(x, y, at.lambda))
	for _, i := range at.active {
		sum = math.Hypot(sum, d.residual(i, x, y))
	}
	if math.IsNaN(sum) {
		return math.Inf(1)
	}
	return sum
}
