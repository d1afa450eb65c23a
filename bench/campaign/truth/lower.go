package truth

import (
	"math"
	"math/big"
	"slices"

	"bilevelc/internal/each"
)

// Evaluator finds y*(x) and what follows from it.
type Evaluator struct {
	s            *System
	f, g         *function
	rows         []Linear   // of s, pairs without room between them as equalities
	upper, lower []exactRow // X, and the rows of s
	equal        []int      // rows of a maximal independent set of equalities in y
	free         []int      // inequality rows that read y
	faces        []*face
	last         []float64  // y of the last point of a G that is not quadratic
	recent       [][]int    // rows of its last faces
	known        bool       // faces hold for every x: G is quadratic with constant second derivatives in y
	held         []*big.Rat // what X alone holds at one value, once asked for
}

// face is a set of independent rows held as equalities, with y and their
// multipliers as affine functions of x (the last column is the constant).
type face struct {
	rows   []int // equal ones first
	y      [][]float64
	lambda [][]float64
	// implied rows hold with equality wherever those of the face do.
	implied []bool
}

// Point is what is true at one x.
type Point struct {
	X, Y   []float64
	Lambda []float64 // of the rows; 0 for rows that the face does not need
	F, G   float64
	// Margin is the least multiplier of the face's inequalities and slack of
	// the other rows: above 0, F is smooth around x.
	Margin float64
	Grad   []float64 // of the face's piece of F
	Active []int     // inequality rows of the face
	// Implied says that a further inequality holds with equality on the whole
	// face: strict complementarity fails there, though F may be smooth.
	Implied bool
	// Violation is by how much y misses rows: 0 up to rounding, or the lower
	// level has no point here.
	Violation float64
}

// NewEvaluator prepares the faces of a program whose leader's rows read x alone, and whose g is strongly convex in y.
func NewEvaluator(s *System) *Evaluator {
	e := &Evaluator{s: s, f: s.function(&s.F, s.UpperTerms), g: s.function(s.Follower(), s.LowerTerms),
		rows: slices.Clone(s.Rows), upper: exactRows(s.leader()), lower: exactRows(s.Rows)}
	// A pair of opposite bounds without room between them is an equality.
	for i := range e.rows {
		for k := range e.rows[:i] {
			if opposite(&e.rows[i], &e.rows[k]) {
				e.rows[i].Equal, e.rows[k].Equal = true, true
			}
		}
	}
	for i := range e.rows {
		switch {
		case zero(e.rows[i].C):
		case e.rows[i].Equal:
			if more := append(slices.Clone(e.equal), i); e.independent(more) {
				e.equal = more
			}
		default:
			e.free = append(e.free, i)
		}
	}
	if e.known = len(s.LowerTerms) == 0; e.known {
		e.faces = e.enumerate(make([]float64, s.Dx), make([]float64, s.Dy))
	}
	return e
}

func opposite(r, s *Linear) bool {
	against := func(v, w float64) bool { return v == -w }
	return !(r.Equal && s.Equal) && r.Rhs == -s.Rhs && slices.EqualFunc(r.A, s.A, against) && slices.EqualFunc(r.C, s.C, against)
}

func zero(v []float64) bool {
	return !slices.ContainsFunc(v, func(t float64) bool { return t != 0 })
}

// independent tells whether the rows are linearly independent in y.
func (e *Evaluator) independent(rows []int) bool {
	return len(rows) <= e.s.Dy && rank(each.Of(rows, func(i int) []float64 { return e.rows[i].C })) == len(rows)
}

// enumerate lists the faces of the quadratic model of G at (x, y): y and
// lambda are then affine in x to first order, and exactly where G is quadratic.
func (e *Evaluator) enumerate(x, y []float64) []*face {
	yy, yx := e.g.hessian(x, y)
	_, gy := e.g.gradient(x, y)
	for j := range gy { // G's gradient in y is yy y' + yx x' + gy
		gy[j] -= dot(yy[j], y) + dot(yx[j], x)
	}
	var faces []*face
	var choose func(from int, rows []int)
	choose = func(from int, rows []int) {
		f := e.face(rows, yy, yx, gy)
		if f == nil {
			return // dependent, and so are all supersets
		}
		faces = append(faces, f)
		for k := from; k < len(e.free); k++ {
			choose(k+1, append(slices.Clone(rows), e.free[k]))
		}
	}
	choose(0, e.equal)
	return faces
}

// face solves the KKT system of the rows held as equalities.
func (e *Evaluator) face(rows []int, yy, yx [][]float64, gy []float64) *face {
	dx, dy, k := e.s.Dx, e.s.Dy, len(rows)
	if k > 0 && !e.independent(rows) {
		return nil
	}
	system, rhs := make([][]float64, dy+k), make([][]float64, dy+k)
	for i := range system {
		system[i], rhs[i] = make([]float64, dy+k), make([]float64, dx+1)
	}
	for j := range dy {
		copy(system[j], yy[j])
		for i := range dx {
			rhs[j][i] = -yx[j][i]
		}
		rhs[j][dx] = -gy[j]
	}
	for i, r := range rows {
		for j, c := range e.rows[r].C {
			system[j][dy+i], system[dy+i][j] = c, c
		}
		for j, a := range e.rows[r].A {
			rhs[dy+i][j] = -a
		}
		rhs[dy+i][dx] = e.rows[r].Rhs
	}
	// Beside its end an entropy curves by any amount: entries of y are scaled to a curvature of 1, then rows to a size of 1.
	scale := make([]float64, dy+k)
	for j := range scale {
		size := 0.0
		if j < dy {
			size = math.Sqrt(math.Abs(yy[j][j]))
		} else {
			for i, c := range system[j][:dy] {
				size = math.Max(size, math.Abs(c)*scale[i])
			}
		}
		if scale[j] = 1; size > 0 {
			scale[j] = math.Exp2(-math.Round(math.Log2(size)))
		}
	}
	for i := range system {
		for j := range system[i] {
			system[i][j] *= scale[i] * scale[j]
		}
		for j := range rhs[i] {
			rhs[i][j] *= scale[i]
		}
	}
	if !solve(system, rhs) {
		return nil
	}
	for i := range rhs {
		for j := range rhs[i] {
			rhs[i][j] *= scale[i]
		}
	}
	f := &face{rows: rows, y: rhs[:dy], lambda: rhs[dy:], implied: make([]bool, len(e.rows))}
	for i := range e.rows {
		f.implied[i] = e.implied(f, i)
	}
	return f
}

// implied tells whether row i is an equality on the face whatever x is, up to
// the equalities that x is known to obey.
func (e *Evaluator) implied(f *face, i int) bool {
	r, dx := &e.rows[i], e.s.Dx
	size := math.Abs(r.Rhs)
	for _, v := range r.C {
		size = math.Max(size, math.Abs(v))
	}
	slack := make([]float64, dx+1)
	slack[dx] = r.Rhs
	for j := range dx {
		slack[j] = -r.A[j]
		size = math.Max(size, math.Abs(r.A[j]))
	}
	for j, c := range r.C {
		for k, v := range f.y[j] {
			slack[k] -= c * v
			size = math.Max(size, math.Abs(c*v))
		}
	}
	for _, t := range e.ties(e.heldTies()) {
		along := dot(t.normal, slack[:dx])
		axpy(slack[:dx], -along, t.normal)
		slack[dx] += along * t.value
	}
	for _, v := range slack {
		if math.Abs(v) > 1e-12*size { // rounding of a short sum
			return false
		}
	}
	return true
}

// at evaluates the face at x. The margin is that of strict complementarity,
// and negative where the face is not optimal.
func (e *Evaluator) at(f *face, x []float64) (y, lambda []float64, margin, violation float64) {
	y, lambda = affine(f.y, x), affine(f.lambda, x)
	margin = math.Inf(1)
	in := make([]bool, len(e.rows))
	for i, r := range f.rows {
		in[r] = true
		if !e.rows[r].Equal {
			margin = math.Min(margin, lambda[i])
		}
	}
	for i := range e.rows {
		if r := &e.rows[i]; !r.Equal && !in[i] && !f.implied[i] && !zero(r.C) {
			margin = math.Min(margin, r.slack(x, y))
		}
	}
	return y, lambda, margin, e.violation(x, y)
}

// violation is the most that a row misses at (x, y).
func (e *Evaluator) violation(x, y []float64) float64 {
	return each.LargestBelow(len(e.rows), func(i int) float64 { return e.rows[i].Misses(x, y) })
}

func affine(m [][]float64, x []float64) []float64 {
	return each.Of(m, func(row []float64) float64 { return row[len(x)] + dot(row[:len(x)], x) })
}

// tiny is what multipliers and slacks of numbers of moderate size may miss
// zero by from rounding.
const tiny = 1e-9

// At finds y*(x). ok is false where it could not be found, which decides
// nothing; a lower level without a point shows as a Violation.
func (e *Evaluator) At(x []float64) (p *Point, ok bool) {
	if !e.known {
		return e.newton(x)
	}
	best, bestFace := math.Inf(-1), -1
	leastViolation := math.Inf(1)
	for k, f := range e.faces {
		_, _, margin, violation := e.at(f, x)
		leastViolation = math.Min(leastViolation, violation)
		if violation <= tiny && margin > best {
			best, bestFace = margin, k
			if margin > 1e3*tiny {
				break
			}
		}
	}
	if bestFace < 0 {
		return &Point{X: x, Violation: leastViolation}, leastViolation > 1e3*tiny
	}
	f := e.faces[bestFace]
	// Neighbouring points lie on the same few faces: those go first.
	copy(e.faces[1:bestFace+1], e.faces[:bestFace])
	e.faces[0] = f
	return e.point(f, x), best >= -tiny
}

// point completes what is known on an optimal face.
func (e *Evaluator) point(f *face, x []float64) *Point {
	y, lambda, margin, violation := e.at(f, x)
	p := &Point{X: x, Y: y, Lambda: make([]float64, len(e.rows)), Margin: margin, Violation: violation,
		F: e.f.value(x, y), G: e.g.value(x, y)}
	for i, r := range f.rows {
		p.Lambda[r] = lambda[i]
		if !e.rows[r].Equal {
			p.Active = append(p.Active, r)
		}
	}
	in := make([]bool, len(e.rows))
	for _, r := range f.rows {
		in[r] = true
	}
	for i, implied := range f.implied {
		p.Implied = p.Implied || implied && !in[i] && !e.rows[i].Equal
	}
	fx, fy := e.f.gradient(x, y)
	p.Grad = fx
	for j := range f.y {
		axpy(p.Grad, fy[j], f.y[j][:len(x)])
	}
	return p
}

// LowerGradient is the gradient of G at (x, y).
func (e *Evaluator) LowerGradient(x, y []float64) (gx, gy []float64) { return e.g.gradient(x, y) }

// UpperTerms is the size of the terms of F at (x, y): each entry times the slope along it.
func (e *Evaluator) UpperTerms(x, y []float64) float64 { return e.f.sizeOfTerms(x, y) }

// LowerForces are the sizes of the terms of the entries of G's gradient in y at (x, y), but for those of smooth functions.
func (e *Evaluator) LowerForces(x, y []float64) []float64 {
	w := slices.Concat(x, y)
	return each.Below(len(y), func(j int) float64 {
		row := e.g.H[len(x)+j]
		return math.Abs(e.g.C[len(x)+j]) + each.SumBelow(len(w), func(i int) float64 { return math.Abs(row[i] * w[i]) })
	})
}

// LowerTerms is UpperTerms of G.
func (e *Evaluator) LowerTerms(x, y []float64) float64 { return e.g.sizeOfTerms(x, y) }

// Pull is the size of what passes the rounding of y and of its slopes on to F's gradient at a point: f's gradient in y, and by how much that
// in x moves with a y as long as this one.
func (e *Evaluator) Pull(p *Point) float64 {
	_, fy := e.f.gradient(p.X, p.Y)
	_, yx := e.f.hessian(p.X, p.Y)
	size, length := dot(fy, fy), dot(p.Y, p.Y)
	for _, row := range yx {
		size += dot(row, row) * length
	}
	return math.Sqrt(size)
}

// Slack is the room in row i at (x, y).
func (e *Evaluator) Slack(i int, x, y []float64) float64 { return e.rows[i].slack(x, y) }
