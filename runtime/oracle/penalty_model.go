package oracle

import (
	"context"
	"math"

	"bilevelc/runtime/linalg"
)

// model is a quadratic model of the penalty function in the scaled unknown u: its
// Hessian K, known by products along the directions of conjugate gradients. At
// first K is that of a1 g and the rows at y*; renewed, it is the whole at a
// current point.
type model struct {
	*penalized
	metric *metric

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
	k    pair    // K u as a gradient: (H u, nu)
	bend float64 // u'K u
}

// modelEntries bounds the entries of all directions together: 256 MB. Beyond it
// the oldest is forgotten, which costs conjugacy, not correctness.
const modelEntries = 1 << 25

func newModel(q *penalized) *model {
	c := q.at.Problem.Facts.Smoothness
	if !(c > 0) || math.IsInf(c, 1) {
		c = 1 // until the first product
	}
	return &model{penalized: q, metric: newMetric(q.activeRows(), q.s.Alpha, c),
		base: q.at.Lower.Y, g: q.g0}
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
// tolerance, or as close to it as rounding lets it come: rest is orthogonal to
// the directions so far, so that M^-1 rest is so in the metric, and can but grow in
// its norm by being made conjugate to them. Where it shrinks, rest is of rounding. It reports false where
// half of r asks for directions along which K has no curvature.
func (m *model) solve(ctx context.Context, d, r pair, tolerance float64) (solvable bool, err error) {
	clear(d.u)
	clear(d.nu)
	rest := newPair(len(r.u), len(r.nu))
	rest.add(-1, r)
	z := newPair(len(r.u), len(r.nu)) // M^-1 rest
	left := m.vector(rest)
	size := linalg.Norm(left)
	if len(m.directions) > 0 {
		if err := m.metric.solve(z, left); err != nil {
			return false, err
		}
		for i := range m.directions {
			p := &m.directions[i]
			p.follow(m.metric.inner(p.pair, z), d, rest)
		}
		left = m.vector(rest)
	}
	// In exact arithmetic the dimension is enough; rounding may ask for some more.
	for most := 2*len(r.u) + 10; most > 0 && linalg.Norm(left) > tolerance; most-- {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if err := m.metric.solve(z, left); err != nil {
			return false, err
		}
		p := direction{pair: newPair(len(r.u), len(r.nu)), k: newPair(len(r.u), len(r.nu))}
		p.add(1, z)
		m.conjugate(&p)
		if m.metric.inner(p.pair, p.pair) < m.metric.inner(z, z)/4 {
			return true, nil // nothing new but rounding
		}
		slope := m.metric.inner(p.pair, z) // before the first product sets C
		flat, err := m.product(&p)
		if err != nil {
			return false, err
		}
		if flat {
			return linalg.Norm(left) <= size/2, nil
		}
		m.remember(p)
		p.follow(slope, d, rest)
		left = m.vector(rest)
	}
	return true, nil
}

// follow minimizes along the direction: it moves d, and updates rest. The slope
// p'rest is given as p'M z with z = M^-1 rest, in which B_I u does not cancel.
func (p *direction) follow(slope float64, d, rest pair) {
	t := slope / p.bend
	d.add(t, p.pair)
	rest.add(-t, p.k)
}

// conjugate makes a direction conjugate to those known. The second pass removes
// what rounding leaves of the first.
func (m *model) conjugate(p *direction) {
	for range 2 {
		for i := range m.directions {
			q := &m.directions[i]
			p.add(-p.pairing(m.s.Alpha, q.k)/q.bend, q.pair)
		}
	}
}

func (m *model) remember(p direction) {
	if 2*len(m.directions)*(len(p.u)+len(p.nu)) > modelEntries {
		m.directions = m.directions[1:]
	}
	m.directions = append(m.directions, p)
}

// product sets p.k and p.bend, by differences of gradients along p. The first
// gives C as well, as the curvature of g along it. It reports whether there is
// no curvature along p but for rounding.
func (m *model) product(p *direction) (flat bool, err error) {
	size := linalg.Norm(p.u)
	if size == 0 {
		return true, nil
	}
	// The rounding of a difference against its truncation, where the function is
	// not quadratic, balance at the square root of the rounding unit.
	short := math.Sqrt(rounding) * m.at.size()
	long := short
	if m.at.Problem.Facts.QuadraticInY {
		long = m.reach
	}
	noise, err := m.difference(p.k.u, 1, m.at.Problem.G.GradY, m.g, p.u, long/size)
	if err != nil {
		return false, err
	}
	if c := linalg.Dot(p.u, p.k.u) / (size * size); !m.scaled && c > 0 {
		m.metric.rescale(c)
		m.scaled = true
	}
	if m.whole {
		more, err := m.difference(p.k.u, 1/m.a1, m.at.Problem.F.GradY, m.f, p.u, short/size)
		if err != nil {
			return false, err
		}
		noise += more
	}
	copy(p.k.nu, p.nu)
	p.bend = p.pairing(m.s.Alpha, p.k)
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
			linalg.Axpy(y, h, v)
			grad(there, m.at.X, y)
			size := linalg.Norm(there)
			if math.IsNaN(size) || math.IsInf(size, 0) {
				continue
			}
			for i := range dst {
				dst[i] += weight * (there[i] - atBase[i]) / h
			}
			return rounding * weight * (size + linalg.Norm(atBase) + m.metric.c*linalg.Norm(y)) / math.Abs(h), nil
		}
		h /= 16
	}
	return 0, errNotFinite
}
