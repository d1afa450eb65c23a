package qp

import (
	"iter"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// Interior projects onto a part of X, and D, that keeps away from the edge of X by
// a share of its size (0 to 1): bounds, rows and balls are moved inwards where
// there is room between them. Objectives that are not defined on the edge, such as
// log(x) over box(0, 1), are there.
func (p *Projector) Interior(share float64) *Projector {
	s := *p.set
	s.Lo, s.Hi, s.Rhs, s.Balls = slices.Clone(s.Lo), slices.Clone(s.Hi), slices.Clone(s.Rhs), slices.Clone(s.Balls)
	widths := p.Widths()
	for j := range widths {
		if s.Lo != nil {
			s.Lo[j] += share * widths[j]
			s.Hi[j] -= share * widths[j]
		}
	}
	for k := range s.Balls {
		s.Balls[k].Radius *= 1 - share
	}
	for i, kind := range s.Kind {
		if kind == problem.AtMost {
			s.Rhs[i] -= share * rowWidth(s.E, i, widths)
		}
	}
	if e := s.Extended; e != nil {
		inner := *e
		inner.Rhs = slices.Clone(e.Rhs)
		slopes := e.Slopes(p.dx)
		for i, of := range e.Of {
			if size := math.Abs(e.Rhs[i]); of < 0 && size > 0 {
				inner.Rhs[i] -= share * size
			} else if of < 0 { // over a share of the widths of x
				inner.Rhs[i] -= share * slopes[i] * linalg.Norm(widths)
			}
		}
		s.Extended = &inner
	}
	q := NewProjector(&s, p.rows, p.dx, p.dy)
	q.ctx, q.recourse.ctx = p.ctx, p.ctx
	copy(q.recourse.y, p.recourse.y)
	copy(q.u, p.u)
	return q
}

// Insides are projections of x onto parts of X that keep away from its edge, by a half of its size and ever less: what has no value at x may have one there.
func (p *Projector) Insides(x []float64) iter.Seq[[]float64] {
	return func(yield func([]float64) bool) {
		for share := 0.5; share > Nearest; share /= 8 {
			at := make([]float64, len(x))
			if p.Interior(share).Project(at, x) == nil && !slices.Equal(at, x) && !yield(at) {
				return
			}
		}
	}
}

// Nearest is the share of its size by which a start keeps away from the edge of X at the least: that of a value with half the digits.
const Nearest = 1e-7

// Widths are the sizes of X along the entries of x.
func (p *Projector) Widths() []float64 {
	widths := each.Below(p.dx, func(j int) float64 { return width(p.set.Lo, p.set.Hi, j) })
	for _, b := range p.set.Balls {
		for j := b.Start; j < b.End; j++ {
			widths[j] = math.Min(widths[j], b.Radius)
		}
	}
	return widths
}

// width is half the distance of the bounds of x_j, or, where one of them or both
// are missing, the size of the other, or 1.
func width(lo, hi []float64, j int) float64 {
	if lo == nil {
		return 1
	}
	l, h := lo[j], hi[j]
	switch {
	case !math.IsInf(l, 0) && !math.IsInf(h, 0):
		return math.Max(0, (h-l)/2)
	case !math.IsInf(l, 0) && l != 0:
		return math.Abs(l)
	case !math.IsInf(h, 0) && h != 0:
		return math.Abs(h)
	}
	return 1
}

// rowWidth is by how much row i changes over the widths of x, in quadrature.
func rowWidth(e *sparse.CSR, i int, widths []float64) float64 {
	s := 0.0
	for j, v := range e.Entries(i) {
		s = math.Hypot(s, v*widths[j])
	}
	return s
}

// withoutPoints turns balls of radius 0 into bounds.
func withoutPoints(set *problem.Set, dx int) *problem.Set {
	if !slices.ContainsFunc(set.Balls, func(b problem.Ball) bool { return b.Radius == 0 }) {
		return set
	}
	s := *set
	s.Lo, s.Hi, s.Balls = make([]float64, dx), make([]float64, dx), nil
	for j := range s.Lo {
		s.Lo[j], s.Hi[j] = math.Inf(-1), math.Inf(1)
	}
	copy(s.Lo, set.Lo)
	copy(s.Hi, set.Hi)
	for _, b := range set.Balls {
		if b.Radius > 0 {
			s.Balls = append(s.Balls, b)
			continue
		}
		for j := b.Start; j < b.End; j++ {
			c := b.At(j)
			s.Lo[j], s.Hi[j] = math.Max(s.Lo[j], c), math.Min(s.Hi[j], c)
		}
	}
	return &s
}

// ProjectUpper sets dst to the point of X nearest to x, whatever D is.
func (p *Projector) ProjectUpper(dst, x []float64) error {
	switch {
	case p.set.Extended == nil:
		return p.projectX(dst, slices.Clone(x), &search{constraints: p.upper})
	case p.outer == nil: // D takes no part
		return p.Project(dst, x)
	}
	// What it remembers is no part of the Projector's state.
	clear(p.outer.u)
	p.outer.warm, p.outer.jointWarm, p.outer.ctx = nil, nil, p.ctx
	return p.outer.Project(dst, x)
}
