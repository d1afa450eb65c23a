package paper

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/oracle/oracletest"
	"bilevelc/runtime/problem"
)

// follower is a random bilevel program whose pieces can be listed:
//
//	minimize fx'x + fy'y + s/2 |y - t|^2 over x in [-1, 1]^dx,
//	y*(x) = argmin { 1/2 y'Qy - (Cx + c)'y : y >= 0, A x - B y <= b },
//
// with B >= 0 and no zero row, so that some y is feasible at every x. Data are small
// integers: rows are weakly active at points that runs meet, 0 and the corners among
// them.
type follower struct {
	dx, dy, rows int
	Q, C, A, B   *mat.Dense // A, B with the rows of y >= 0 first
	c, b         []float64
	fx, fy, t    []float64
	s            float64
	// Other units, see rescaled; bound is 1 in them, and 0 for 1.
	length, value, bound float64
}

func randomFollower(rng *rand.Rand) *follower {
	integer := func(k int) float64 { return float64(rng.IntN(2*k+1) - k) }
	dx, dy, extra := 1+rng.IntN(2), 1+rng.IntN(3), rng.IntN(3)
	p := drawn(rng, dx, dy, extra, 2, integer, true, func(p *follower, i int, at0 bool) {
		for j := range p.dy {
			p.B.Set(i, j, float64(rng.IntN(2)))
		}
		p.B.Set(i, rng.IntN(p.dy), 1)
		if !at0 {
			p.b[i] = integer(1)
		}
	})
	p.s = float64(rng.IntN(2))
	return p
}

// drawn is a follower of the given size whose numbers entry draws: those of C of the
// size cross, targets where f has some, and B and b of the extra rows by row.
func drawn(rng *rand.Rand, dx, dy, extra, cross int, entry func(k int) float64, targets bool,
	row func(p *follower, i int, at0 bool)) *follower {
	p := &follower{dx: dx, dy: dy, rows: dy + extra}
	root := mat.NewDense(p.dy, p.dy, nil)
	p.Q, p.C = mat.NewDense(p.dy, p.dy, nil), mat.NewDense(p.dy, p.dx, nil)
	p.A, p.B = mat.NewDense(p.rows, p.dx, nil), mat.NewDense(p.rows, p.dy, nil)
	p.c, p.b = make([]float64, p.dy), make([]float64, p.rows)
	p.fx, p.fy, p.t = make([]float64, p.dx), make([]float64, p.dy), make([]float64, p.dy)
	at0 := rng.IntN(2) == 0 // many faces meet at x = 0
	for i := range p.dy {
		for j := range p.dy {
			root.Set(i, j, entry(2))
		}
		for j := range p.dx {
			p.C.Set(i, j, entry(cross))
		}
		if !at0 {
			p.c[i] = entry(2)
		}
		p.fy[i] = entry(3)
		if targets {
			p.t[i] = entry(1)
		}
		p.B.Set(i, i, 1)
	}
	p.Q.Mul(root, root.T())
	for i := range p.dy {
		p.Q.Set(i, i, p.Q.At(i, i)+1)
	}
	for j := range p.dx {
		p.fx[j] = entry(3)
	}
	for i := p.dy; i < p.rows; i++ {
		for j := range p.dx {
			p.A.Set(i, j, entry(2))
		}
		row(p, i, at0)
	}
	return p
}

// problem is the follower as the runtime sees it.
func (p *follower) problem() *problem.Problem {
	p = p.units()
	bound := p.bound
	if bound == 0 {
		bound = 1
	}
	n := p.dx + p.dy
	hf, hg := make([]float64, n*n), make([]float64, n*n)
	cf, cg := make([]float64, n), make([]float64, n)
	k := 0.0
	copy(cf, p.fx)
	for i := range p.dy {
		cf[p.dx+i] = p.fy[i] - p.s*p.t[i]
		hf[(p.dx+i)*n+p.dx+i] = p.s
		k += p.s * p.t[i] * p.t[i] / 2
		cg[p.dx+i] = -p.c[i]
		for j := range p.dy {
			hg[(p.dx+i)*n+p.dx+j] = p.Q.At(i, j)
		}
		for j := range p.dx {
			hg[(p.dx+i)*n+j], hg[j*n+p.dx+i] = -p.C.At(i, j), -p.C.At(i, j)
		}
	}
	var eigen mat.EigenSym
	sym := mat.NewSymDense(p.dy, nil)
	for i := range p.dy {
		for j := i; j < p.dy; j++ {
			sym.SetSym(i, j, p.Q.At(i, j))
		}
	}
	eigen.Factorize(sym, false)
	spectrum := eigen.Values(nil)
	q := &problem.Problem{Name: "follower", Dx: p.dx, Dy: p.dy,
		F: oracletest.NewQuadratic(p.dx, p.dy, hf, cf, k), G: oracletest.NewQuadratic(p.dx, p.dy, hg, cg, 0),
		Rows: &problem.Rows{Kind: make([]problem.Kind, p.rows), Rhs: p.b, Name: make([]string, p.rows),
			A: sparse.FromDense(p.rows, p.dx, p.A.RawMatrix().Data), B: sparse.FromDense(p.rows, p.dy, p.B.RawMatrix().Data)},
		X: oracletest.Box(p.dx, -bound, bound), Start: make([]float64, p.dx)}
	for i := range q.Rows.Name {
		q.Rows.Name[i] = fmt.Sprint("row ", i)
	}
	q.Facts = problem.Facts{QuadraticInY: true, FixedHessian: true, StrongConvexity: spectrum[0], Smoothness: spectrum[p.dy-1]}
	return q
}

// affine is v0 + V x.
type affinePart struct {
	V  *mat.Dense
	v0 []float64
}

func (a affinePart) at(i int, x []float64) float64 {
	v := a.v0[i]
	for j, t := range x {
		v += a.V.At(i, j) * t
	}
	return v
}

// face is y and lambda as affine functions of x where the rows in set hold with
// equality; false where they are dependent.
func (p *follower) face(set []int) (y, lambda affinePart, ok bool) {
	n, k := p.dy, len(set)
	// Q y - B'l = C x + c, B y = A x - b.
	m, rhs := mat.NewDense(n+k, n+k, nil), mat.NewDense(n+k, p.dx+1, nil)
	for i := range n {
		for j := range n {
			m.Set(i, j, p.Q.At(i, j))
		}
		for j := range p.dx {
			rhs.Set(i, j, p.C.At(i, j))
		}
		rhs.Set(i, p.dx, p.c[i])
		for r, row := range set {
			m.Set(i, n+r, -p.B.At(row, i))
			m.Set(n+r, i, p.B.At(row, i))
		}
	}
	for r, row := range set {
		for j := range p.dx {
			rhs.Set(n+r, j, p.A.At(row, j))
		}
		rhs.Set(n+r, p.dx, -p.b[row])
	}
	var lu mat.LU
	lu.Factorize(m)
	if math.Abs(lu.Det()) < 1e-9 { // integer data
		return y, lambda, false
	}
	var sol mat.Dense
	if lu.SolveTo(&sol, false, rhs) != nil {
		return y, lambda, false
	}
	y = affinePart{mat.NewDense(n, p.dx, nil), make([]float64, n)}
	lambda = affinePart{mat.NewDense(max(k, 1), p.dx, nil), make([]float64, k)}
	for i := range n + k {
		part, at := y, i
		if i >= n {
			part, at = lambda, i-n
		}
		for j := range p.dx {
			part.V.Set(at, j, sol.At(i, j))
		}
		part.v0[at] = sol.At(i, p.dx)
	}
	return y, lambda, true
}

// piece is a smooth piece of F near a point.
type truePiece struct {
	grad []float64 // at the point, of the piece's extension to it
	room float64   // radius of the largest ball of its region, in units of the neighborhood
}

// near lists the pieces of F whose regions have an inside in the cube of a radius
// around x, and F(x).
func (p *follower) near(x []float64, radius float64) (pieces []truePiece, f float64) {
	best := math.Inf(1)
	for bits := range 1 << p.rows {
		var set []int
		in := make([]bool, p.rows)
		for i := range p.rows {
			if bits>>i&1 == 1 {
				set, in[i] = append(set, i), true
			}
		}
		if len(set) > p.dy {
			continue
		}
		y, lambda, ok := p.face(set)
		if !ok {
			continue
		}
		// Conditions v(x + radius u) >= 0 and the box, as a'u <= b.
		var a [][]float64
		var b []float64
		violation := 0.0
		add := func(gradient []float64, value float64) {
			row := make([]float64, p.dx)
			for j, g := range gradient {
				row[j] = -g * radius
			}
			a, b = append(a, row), append(b, value)
			violation = math.Max(violation, -value)
		}
		for r := range set {
			add(mat.Row(nil, r, lambda.V), lambda.at(r, x))
		}
		for i := range p.rows {
			if in[i] {
				continue
			}
			g, v := make([]float64, p.dx), p.b[i]
			for j := range p.dx {
				g[j] = -p.A.At(i, j)
				v -= p.A.At(i, j) * x[j]
			}
			for k := range p.dy {
				v += p.B.At(i, k) * y.at(k, x)
				for j := range p.dx {
					g[j] += p.B.At(i, k) * y.V.At(k, j)
				}
			}
			add(g, v)
		}
		if violation < best {
			best, f = violation, 0
			for j, v := range x {
				f += p.fx[j] * v
			}
			for k := range p.dy {
				v := y.at(k, x)
				f += p.fy[k]*v + p.s/2*(v-p.t[k])*(v-p.t[k])
			}
		}
		for j := range p.dx {
			for _, side := range []float64{1, -1} {
				unit := make([]float64, p.dx)
				unit[j] = side
				a, b = append(a, unit, unit), append(b, 1, (1-side*x[j])/radius)
			}
		}
		room := inscribed(a, b)
		if room <= 1e-7 {
			continue
		}
		piece := truePiece{grad: append([]float64(nil), p.fx...), room: room}
		for j := range p.dx {
			for k := range p.dy {
				piece.grad[j] += y.V.At(k, j) * (p.fy[k] + p.s*(y.at(k, x)-p.t[k]))
			}
		}
		pieces = append(pieces, piece)
	}
	return pieces, f
}

// inscribed is the radius of the largest ball in { u : a_i'u <= b_i }, which is
// bounded, by enumeration of vertices; negative where it is empty. Conditions that
// do not depend on u hold or fail by themselves.
func inscribed(a [][]float64, b []float64) float64 {
	n := len(a[0]) + 1
	var rows [][]float64
	var sides []float64
	for i, row := range a {
		size := linalg.Norm(row)
		if size < 1e-12*math.Max(1, math.Abs(b[i])) || size < 1e-18 {
			if b[i] < -1e-9 {
				return -1
			}
			continue
		}
		scaled := make([]float64, 0, n)
		for _, v := range row {
			scaled = append(scaled, v/size)
		}
		rows, sides = append(rows, append(scaled, 1)), append(sides, b[i]/size)
	}
	best := -1.0
	choose(len(rows), n, func(of []int) {
		m, rhs := mat.NewDense(n, n, nil), mat.NewVecDense(n, nil)
		for k, i := range of {
			m.SetRow(k, rows[i])
			rhs.SetVec(k, sides[i])
		}
		var z mat.VecDense
		if math.Abs(mat.Det(m)) < 1e-9 || z.SolveVec(m, rhs) != nil {
			return
		}
		for i, row := range rows {
			if linalg.Dot(row, z.RawVector().Data) > sides[i]+1e-9*(1+math.Abs(sides[i])) {
				return
			}
		}
		best = math.Max(best, z.AtVec(n-1))
	})
	return best
}

// choose calls visit with every k of the numbers below n.
func choose(n, k int, visit func([]int)) {
	of := make([]int, k)
	var next func(at, from int)
	next = func(at, from int) {
		if at == k {
			visit(of)
			return
		}
		for i := from; i < n; i++ {
			of[at] = i
			next(at+1, i+1)
		}
	}
	next(0, 0)
}

// leastElement is the distance of 0 from the hull of the pieces' gradients plus the
// normal cone of [-1, 1]^dx at x, seen from within radius: by projected gradients
// on the weights.
func leastElement(pieces []truePiece, x []float64, radius float64) float64 {
	residual := func(w []float64) []float64 {
		v := make([]float64, len(x))
		for i, p := range pieces {
			for j, g := range p.grad {
				v[j] += w[i] * g
			}
		}
		for j := range v {
			if x[j] <= -1+radius && v[j] > 0 || x[j] >= 1-radius && v[j] < 0 {
				v[j] = 0
			}
		}
		return v
	}
	w := make([]float64, len(pieces))
	size := 1e-300
	for i, p := range pieces {
		w[i] = 1 / float64(len(w))
		size += linalg.Dot(p.grad, p.grad)
	}
	z, momentum := linalg.Clone(w), 1.0
	for range 3000 {
		v := residual(z)
		next := linalg.Clone(z)
		for i, p := range pieces {
			next[i] -= linalg.Dot(p.grad, v) / size
		}
		toSimplex(next)
		grown := (1 + math.Sqrt(1+4*momentum*momentum)) / 2
		z = linalg.Plus(next, (momentum-1)/grown, linalg.Minus(next, w))
		w, momentum = next, grown
	}
	return linalg.Norm(residual(w))
}

// toSimplex projects onto the unit simplex by bisection on the shift.
func toSimplex(w []float64) {
	lo, hi := -1e6, 1e6
	for range 100 {
		mid, sum := (lo+hi)/2, 0.0
		for _, v := range w {
			sum += math.Max(0, v-mid)
		}
		if sum > 1 {
			lo = mid
		} else {
			hi = mid
		}
	}
	for i, v := range w {
		w[i] = math.Max(0, v-hi)
	}
}

// randomLarge is a follower of more variables with rows of both signs, so that the
// lower level is not feasible at every x.
func randomLarge(rng *rand.Rand, normal bool) *follower {
	entry := func(k int) float64 {
		if normal {
			return 0.6 * float64(k) * rng.NormFloat64()
		}
		return float64(rng.IntN(2*k+1) - k)
	}
	dx, dy, extra := 2+rng.IntN(5), 2+rng.IntN(7), rng.IntN(6)
	return drawn(rng, dx, dy, extra, 3, entry, false, func(p *follower, i int, _ bool) {
		for j := range p.dy {
			p.B.Set(i, j, entry(2))
		}
		p.b[i] = entry(2) + 1
	})
}
