package oracle

import (
	"context"
	"math"
)

// model is a quadratic model of the penalty function in the scaled unknown u: its
// Hessian K, known by products along the directions of conjugate gradients. At
// first K is that of a1 g and the rows at y*; renewed, it is the whole at a
// current point.
type model struct {
	*penalized
	metric *metric
	reach  float64 // length of a step over which g changes in earnest, if it is quadratic

	whole  bool      // K has the part of f
	newest bool      // K is that of the whole function at the current point
	base   []float64 // len Dy: the point whose K it is
	g, f   []float64 // len Dy: grad_y g, and if whole grad_y f, at base

	directions []direction // conjugate to each other
	scaled     bool        // metric.c is measured
}

// direction is a direction of conjugate gradients.
type direction struct {
	pair
	k    []float64 // len Dy: K u
	bend float64   // u'K u
}

// modelEntries bounds the entries of all directions together: 256 MB. Beyond it
// the oldest is forgotten, which costs conjugacy, not correctness.
const modelEntries = 1 << 25

// reachFactor makes a long step of a quadratic large against y, so that the
// rounding of the two gradients is small in their difference.
const reachFactor = 16

func newModel(q *penalized) *model {
	c := q.at.Problem.Facts.Smoothness
	if !(c > 0) || math.IsInf(c, 1) {
		c = 1 // until the first product
	}
	return &model{penalized: q, metric: newMetric(q.activeRows(), q.s.Alpha, c),
		reach: reachFactor * (1 + norm(q.at.Lower.Y)), base: q.at.Lower.Y, g: q.g0}
}

// renew makes K the Hessian of the whole penalty function at a point.
func (m *model) renew(at pair) {
	m.base = append([]float64(nil), m.moveTo(1/m.a1, at.u)...)
	m.g, m.f = make([]float64, len(m.base)), make([]float64, len(m.base))
	m.at.Problem.G.GradY(m.g, m.at.X, m.base)
	m.at.Problem.F.GradY(m.f, m.at.X, m.base)
	m.directions, m.whole, m.newest, m.scaled = nil, true, true, false
}

// solve sets d to an approximate solution of K d = -r with a residual of at most
// tolerance, or as close to it as rounding lets it come. It reports false where
// half of r asks for directions along which K has no curvature.
func (m *model) solve(ctx context.Context, d pair, r []float64, tolerance float64) (solvable bool, err error) {
	clear(d.u)
	clear(d.nu)
	rest := make([]float64, len(r))
	axpy(rest, -1, r)
	for i := range m.directions {
		m.directions[i].follow(d, rest)
	}
	// In exact arithmetic the dimension is enough; rounding may ask for some more.
	for most := 2*len(r) + 10; most > 0 && norm(rest) > tolerance; most-- {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		p := direction{pair: newPair(len(r), len(d.nu)), k: make([]float64, len(r))}
		if err := m.metric.solve(p.pair, rest); err != nil {
			return false, err
		}
		m.conjugate(&p)
		flat, err := m.product(&p)
		if err != nil {
			return false, err
		}
		if flat {
			return norm(rest) <= norm(r)/2, nil
		}
		m.remember(p)
		p.follow(d, rest)
	}
	return true, nil
}

// follow minimizes along the direction: it moves d, and updates rest.
func (p *direction) follow(d pair, rest []float64) {
	t := dot(p.u, rest) / p.bend
	d.add(t, p.pair)
	axpy(rest, -t, p.k)
}

// conjugate makes a direction conjugate to those known. The second pass removes
// what rounding leaves of the first.
func (m *model) conjugate(p *direction) {
	for range 2 {
		for i := range m.directions {
			q := &m.directions[i]
			p.add(-dot(q.k, p.u)/q.bend, q.pair)
		}
	}
}

func (m *model) remember(p direction) {
	if len(m.directions)*(2*len(p.u)+len(p.nu)) > modelEntries {
		m.directions = m.directions[1:]
	}
	m.directions = append(m.directions, p)
}

// product sets p.k and p.bend, by differences of gradients along p. The first
// gives C as well, as the curvature of g along it. It reports whether there is
// no curvature along p but for rounding.
func (m *model) product(p *direction) (flat bool, err error) {
	size := norm(p.u)
	if size == 0 {
		return true, nil
	}
	// The rounding of a difference against its truncation, where the function is
	// not quadratic, balance at the square root of the rounding unit.
	short := math.Sqrt(rounding) * (1 + norm(m.base))
	long := short
	if m.at.Problem.Facts.QuadraticInY {
		long = m.reach
	}
	noise, err := m.difference(p.k, 1, m.at.Problem.G.GradY, m.g, p.u, long/size)
	if err != nil {
		return false, err
	}
	if c := dot(p.u, p.k) / (size * size); !m.scaled && c > 0 {
		m.metric.rescale(c)
		m.scaled = true
	}
	if m.whole {
		more, err := m.difference(p.k, 1/m.a1, m.at.Problem.F.GradY, m.f, p.u, short/size)
		if err != nil {
			return false, err
		}
		noise += more
	}
	p.bend = dot(p.u, p.k) + m.s.Alpha*m.s.Alpha*dot(p.nu, p.nu)
	m.pull(p.k, p.nu)
	return !(p.bend > noise*size), nil
}

// difference adds weight (grad(base + h v) - grad(base)) / h to dst and returns
// the rounding in it. Where the gradient is not finite there, it tries the other
// side of base and shorter steps.
func (m *model) difference(dst []float64, weight float64, grad func(dst, x, y []float64), atBase, v []float64, h float64) (noise float64, err error) {
	there, y := make([]float64, len(dst)), make([]float64, len(dst))
	for range 8 {
		for _, h := range []float64{h, -h} {
			if err := m.count(); err != nil {
				return 0, err
			}
			copy(y, m.base)
			axpy(y, h, v)
			grad(there, m.at.X, y)
			size := norm(there)
			if math.IsNaN(size) || math.IsInf(size, 0) {
				continue
			}
			for i := range dst {
				dst[i] += weight * (there[i] - atBase[i]) / h
			}
			return rounding * weight * (size + norm(atBase) + m.metric.c*norm(y)) / math.Abs(h), nil
		}
		h /= 16
	}
	return 0, errNotFinite
}
