package sequential

import (
	"errors"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// A follower of which g is curved in sums N y of its entries alone (problem.Facts.Sums), as the cost of travellers is in the flows of links, is solved with these sums as entries w of their own,
//
//	w = N y,   g~(x, y, w) = g(x, y + P (w - N y)),   f~ alike,   N P = I:
//
// g~ is linear along y, to the last digit, and its Hessian is that in w. Differences in y of one that is N'D N leave rounding in the many directions in which it is 0, along which answers go on. P moves one entry of each sum, which
// no other sum reads and which g is not curved in alone. With J = (I; N) a point (x, y, N y) of the one system, with multipliers, is one of the other without those of w: H = J'H~J, G = J'G~, and of the adjoint the part of w is N times that of y.
type sums struct {
	n    *sparse.CSR
	own  []int     // of each sum, the entry that P moves
	unit []float64 // of each sum, the coefficient of that
	dy   int       // entries of y
	m    int       // rows of the follower
}

// overSums is p with its sums as entries behind y; nil where it has none, or one of them no entry to move.
func overSums(p *problem.Problem) (*problem.Problem, *sums) {
	n := p.Facts.Sums
	if n == nil || n.Rows == 0 {
		return nil, nil
	}
	s := &sums{n: n, dy: p.Dy, m: p.Rows.Len()}
	read := make([]int, p.Dy)
	for _, j := range n.Col {
		read[j]++
	}
	for i := range n.Rows {
		cols, vals := n.Row(i)
		k := slices.IndexFunc(cols, func(j int) bool { return read[j] == 1 && !p.Facts.Alone[j] })
		if k < 0 || vals[k] == 0 {
			return nil, nil
		}
		s.own, s.unit = append(s.own, cols[k]), append(s.unit, vals[k])
	}
	q, rows, facts := *p, *p.Rows, p.Facts
	q.Dy += n.Rows
	q.F, q.G = &summed{p.F, s}, &summed{p.G, s}
	rows.Kind, rows.Name, rows.Rhs = slices.Clone(rows.Kind), slices.Clone(rows.Name), slices.Clone(rows.Rhs)
	rows.A, rows.B = rows.A.Clone(), rows.B.Clone()
	rows.B.Cols = q.Dy
	for i := range n.Rows {
		for j, v := range n.Entries(i) {
			rows.B.Append(j, -v)
		}
		rows.B.Append(p.Dy+i, 1)
		rows.B.EndRow()
		rows.A.EndRow()
		rows.Kind, rows.Name, rows.Rhs = append(rows.Kind, problem.Equal), append(rows.Name, ""), append(rows.Rhs, 0)
	}
	facts.Sums, facts.HessianPattern = nil, nil
	facts.Nonquadratic = slices.Clone(facts.Nonquadratic)
	for j, alone := range facts.Alone {
		facts.Nonquadratic[p.Dx+j] = facts.Nonquadratic[p.Dx+j] && alone
	}
	facts.Nonquadratic = append(facts.Nonquadratic, slices.Repeat([]bool{true}, n.Rows)...)
	q.Rows, q.Facts = &rows, facts
	if q.Hidden += n.Rows; q.Loose != nil {
		q.Loose = append(slices.Clone(q.Loose), make([]bool, n.Rows)...)
	}
	q.Blocks = each.Of(p.Followers(), slices.Clone[[]int])
	owner := p.Owners()
	for i, j := range s.own {
		q.Blocks[owner[j]] = append(q.Blocks[owner[j]], p.Dy+i)
	}
	return &q, s
}

// second is Solver.second of the model by that with sums.
func (s *sums) second(v *Solver, pt *point, fine bool) (err error) {
	defer must.Catch(&err)
	y := s.with(pt.y)
	slopes := make([]float64, len(y))
	v.p.G.GradY(slopes, pt.x, y)
	at := must.Get(v.complete(pt.x, y, append(slices.Clone(pt.lambda), slopes[s.dy:]...)))
	must.Do(v.second(at, fine))
	pt.lower = s.lower(at.lower)
	return nil
}

// with is y with its sums behind it.
func (s *sums) with(y []float64) []float64 {
	return append(slices.Clone(y), each.Below(s.n.Rows, func(i int) float64 { return s.n.RowDot(i, y) })...)
}

// answer is an answer of the follower, with its multipliers, without its sums.
func (s *sums) answer(y, lambda []float64, err error) ([]float64, []float64, error) {
	if err != nil {
		return nil, nil, err
	}
	return y[:s.dy:s.dy], lambda[:s.m:s.m], nil
}

// point is a point of the system with sums as one of the model's.
func (s *sums) point(p *kkt.Point, dx int) *kkt.Point {
	if p == nil {
		return nil
	}
	out := *p
	out.Z, out.Multipliers = s.z(p.Z, dx), s.multipliers(p.Multipliers)
	out.Leaves = each.Of(p.Leaves, func(l kkt.Leaf) kkt.Leaf { return kkt.Leaf{Fix: l.Fix, Multipliers: s.multipliers(l.Multipliers)} })
	return &out
}

// z is (x, y, lambda), and what follows it, of the model's system.
func (s *sums) z(z []float64, dx int) []float64 {
	if z == nil {
		return nil
	}
	y, k := dx+s.dy, s.n.Rows
	return slices.Concat(z[:y], z[y+k:y+k+s.m], z[y+k+s.m+k:])
}

func (s *sums) multipliers(m *kkt.Multipliers) *kkt.Multipliers {
	if m == nil {
		return nil
	}
	out := *m
	out.Adjoint, out.Slack, out.Lambda = m.Adjoint[:s.dy:s.dy], m.Slack[:s.m:s.m], m.Lambda[:s.m:s.m]
	return &out
}

// err is an error that tells of points of the system with sums as one that tells of those of the model's.
func (s *sums) err(err error, dx int) error {
	var ray *pieces.Unbounded
	var far *pieces.Endless
	switch {
	case errors.As(err, &ray):
		return &pieces.Unbounded{Z: s.z(ray.Z, dx), Ray: s.z(ray.Ray, dx)}
	case errors.As(err, &far):
		return &pieces.Endless{Z: s.z(far.Z, dx)}
	}
	return err
}

// lower are the follower's derivatives in y from those with sums.
func (s *sums) lower(lo *lower) *lower {
	entries := each.Below(s.dy, func(j int) sparse.Entry { return sparse.Entry{Row: j, Col: j, Val: 1} })
	for i := range s.n.Rows {
		for j, v := range s.n.Entries(i) {
			entries = append(entries, sparse.Entry{Row: s.dy + i, Col: j, Val: v})
		}
	}
	down := sparse.FromEntries(s.dy+s.n.Rows, s.dy, entries).T()
	out := &lower{grad: make([]float64, s.dy), h: symmetric(sparse.Mul(sparse.Mul(down, lo.h), down.T()))}
	down.MulVec(out.grad, lo.grad)
	if lo.g != nil {
		out.g = sparse.Mul(down, lo.g)
	}
	return out
}

// summed is a function of (x, y) as one of (x, y, w).
type summed struct {
	of problem.Function
	s  *sums
}

// at is y + P (w - N y), and what follows it: rounding of a sum moves nothing.
func (f *summed) at(answer []float64) []float64 {
	s := f.s
	out := slices.Concat(answer[:s.dy], answer[s.dy+s.n.Rows:])
	for i, w := range answer[s.dy : s.dy+s.n.Rows] {
		if off := w - s.n.RowDot(i, answer); math.Abs(off) > tolerance.SumRounding*s.n.AddTerms(math.Abs(w), i, answer) {
			out[s.own[i]] += off / s.unit[i]
		}
	}
	return out
}

// slopes sets dst to those in (y, w), and what follows, from those in y: (I - N'P') and P'.
func (f *summed) slopes(dst, grad []float64) {
	s := f.s
	copy(dst, grad[:s.dy])
	copy(dst[s.dy+s.n.Rows:], grad[s.dy:])
	for i, j := range s.own {
		dst[s.dy+i] = grad[j] / s.unit[i]
		for k, v := range s.n.Entries(i) {
			dst[k] -= v / s.unit[i] * grad[j]
		}
	}
}

// Value implements problem.Function.
func (f *summed) Value(x, y []float64) float64 { return f.of.Value(x, f.at(y)) }

// GradX implements problem.Function.
func (f *summed) GradX(dst, x, y []float64) { f.of.GradX(dst, x, f.at(y)) }

// GradY implements problem.Function.
func (f *summed) GradY(dst, x, y []float64) {
	at := f.at(y)
	grad := make([]float64, len(at))
	f.of.GradY(grad, x, at)
	f.slopes(dst, grad)
}

// ValueGradY implements problem.Function.
func (f *summed) ValueGradY(dst, x, y []float64) float64 {
	at := f.at(y)
	grad := make([]float64, len(at))
	v := f.of.ValueGradY(grad, x, at)
	f.slopes(dst, grad)
	return v
}

// ValueGrad implements problem.Function.
func (f *summed) ValueGrad(dstX, dstY, x, y []float64) float64 {
	at := f.at(y)
	grad := make([]float64, len(at))
	v := f.of.ValueGrad(dstX, grad, x, at)
	if dstY != nil {
		f.slopes(dstY, grad)
	}
	return v
}

// Clone implements problem.Function.
func (f *summed) Clone() problem.Function { return &summed{f.of.Clone(), f.s} }

// Probe is problem.Probe of it.
func (f *summed) Probe() problem.Function { return &summed{problem.Probe(f.of), f.s} }
