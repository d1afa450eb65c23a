package kkt

import (
	"math"
	"slices"
)

// basic bounds the multipliers of a block that the leader does not read: with x, y and those it reads as they are,
//
//	sum over rows of B_ij lambda_i = r_j,   r = H y + G x + q - (B'lambda of the other rows),
//
// some whose rows are linearly independent solve that as well, and no others than before are positive (Caratheodory 1911). Let rows of several entries of y be the nodes of a graph and columns its edges: each has at most two, with the same |B_ij|. In independent rows, a tree of
// it has a root, whose lambda_i is r_j/B_ij of one column j, or is half the sum of +-r_j/|B_ij| around a cycle, and each edge on the way from there adds its own (Zaslavsky 1982). So an end of a range is at most one that columns with a single row have, and the sum
// over those with two; of the nodes of a network, where two have opposite signs, there are no cycles, and no lambda_i has another sign than these say. A row of a single entry takes what is left of its column.
func (l *limiter) basic(p Block) {
	s, rows := l.s, l.s.P.Rows
	several := map[int]bool{} // of rows that are not read: whether they have several entries
	for _, i := range p.Rows {
		if !slices.Contains(s.P.Duals, i) {
			alone, _ := rows.Bound(i)
			several[i] = alone < 0
		}
	}
	bt := rows.B.T()
	done := map[int]bool{} // columns
	for _, j := range p.Y {
		if done[j] {
			continue
		}
		cols, nodes, fits := []int{j}, map[int]bool{}, true
		done[j] = true
		for k := 0; k < len(cols); k++ {
			count, size := 0, 0.0
			for i, v := range bt.Nonzeros(cols[k]) {
				if !several[i] {
					continue
				}
				count++
				fits = fits && count <= 2 && (size == 0 || size == math.Abs(v))
				size = math.Abs(v)
				if nodes[i] {
					continue
				}
				nodes[i] = true
				for c := range rows.B.Nonzeros(i) {
					if !done[c] {
						done[c], cols = true, append(cols, c)
					}
				}
			}
		}
		if !fits {
			nodes = nil
		}
		l.network(cols, nodes, several)
	}
}

// network bounds the multipliers of the nodes of a network, and of rows of single entries of its columns.
func (l *limiter) network(cols []int, nodes, several map[int]bool) {
	s := l.s
	bt, at := s.P.Rows.B.T(), func(i int) int { return s.Nx + s.Ny + i }
	single := func(i int) bool {
		more, is := several[i]
		return is && !more
	}
	left := make([]span, len(cols))
	var ends span
	paths, directed := 0.0, true
	for k, j := range cols {
		r, size, signs := l.gradient(j), 1.0, []float64(nil)
		for i, v := range bt.Nonzeros(j) {
			if nodes[i] {
				size, signs = math.Abs(v), append(signs, math.Copysign(1, v))
			} else if !single(i) {
				r = r.plus(-v, l.span(at(i)))
			}
		}
		left[k] = r
		switch len(signs) {
		case 1:
			ends = ends.hull(span{}.plus(signs[0]/size, r))
		case 2:
			paths += math.Max(-r.lo, r.hi) / size
			directed = directed && signs[0] != signs[1]
		}
	}
	if most := math.Max(-ends.lo, ends.hi); !directed {
		ends = span{-most, most}
	}
	for i := range nodes {
		l.tighten(at(i), span{ends.lo - paths, ends.hi + paths})
	}
	for k, j := range cols {
		r := left[k]
		for i, v := range bt.Nonzeros(j) {
			if nodes[i] {
				r = r.plus(-v, l.span(at(i)))
			}
		}
		for i, v := range bt.Nonzeros(j) {
			if single(i) {
				l.tighten(at(i), span{}.hull(span{}.plus(1/v, r)))
			}
		}
	}
}

// span is a range.
type span struct{ lo, hi float64 }

func (l *limiter) span(j int) span {
	lo, hi := l.box(j)
	return span{lo, hi}
}

// plus adds v times another one.
func (a span) plus(v float64, b span) span {
	switch {
	case v > 0:
		return span{a.lo + v*b.lo, a.hi + v*b.hi}
	case v < 0:
		return span{a.lo + v*b.hi, a.hi + v*b.lo}
	}
	return a
}

func (a span) hull(b span) span { return span{math.Min(a.lo, b.lo), math.Max(a.hi, b.hi)} }

// gradient is the range of (H y + G x + q)_j.
func (l *limiter) gradient(j int) span {
	s := l.s
	r := span{s.Q[j], s.Q[j]}
	for c, v := range s.G.Nonzeros(j) {
		r = r.plus(v, l.span(c))
	}
	for k, v := range s.H.Nonzeros(j) {
		r = r.plus(v, l.span(s.Nx+k))
	}
	return r
}

// tighten narrows the range of a variable, with a margin for rounding.
func (l *limiter) tighten(j int, to span) {
	scale := l.s.ColScale[j]
	if hi := outward(to.hi) / scale; hi < l.program.Hi[j] {
		l.program.Hi[j] = hi
	}
	if lo := -outward(-to.lo) / scale; lo > l.program.Lo[j] {
		l.program.Lo[j] = lo
	}
}
