package relaxation

import (
	"context"
	"math"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/qp"
)

// Where y is the follower's answer, forces grad_y g = B'lambda hold it, lambda >= 0 on
// inequalities; where more rows meet than y has entries there are many such lambda. A row
// whose multiplier is positive in all of them stays tight along every way that x can take:
// for the leader it is an equation, whose multiplier has no sign. Of any other row there is
// a lambda without it, and a way along which the answer leaves it.

// A hold is what Held found of one row.
type hold struct {
	fast   bool
	spared []float64 // len m: multipliers without the row, where it is not fast
}

// certain is the part of the forces that no multipliers of other rows may make up for a row
// to count as one that they all need: ten times what verification asks for, which is in turn
// what the forces of a document must be known to.
const certain = 1e-5

// holds says of a row of the lower level whether every lambda has it. With the forces'
// nearest point in the cone of the other rows, sum_j z_j B_j, and what is left, u, it is
// B_j'u <= 0 for these and so lambda_i B_i'u >= u'u for every lambda. ok is false where
// that point was not found.
func (r *Relaxation) holds(ctx context.Context, near []int, lambda []float64, row int) (h hold, ok bool) {
	p := r.p
	m := p.Rows.Len()
	force := make([]float64, p.Dy)
	p.Rows.B.AddMulVecT(force, 1, lambda)
	size := linalg.Norm(force)
	if !(size > 0) || math.IsInf(size, 1) {
		return hold{}, false
	}
	for j := range force {
		force[j] /= -size
	}
	cone := &qp.Problem{H: qp.Identity(p.Dy), C: force, Context: ctx, A: sparse.Empty(p.Dy)}
	var of []int
	var lengths []float64
	for _, i := range near {
		if i >= m || i == row {
			continue
		}
		cols, vals := p.Rows.B.Row(i)
		length := linalg.Norm(vals)
		if length == 0 {
			continue
		}
		of, lengths = append(of, i), append(lengths, length)
		for k, j := range cols {
			cone.A.Append(j, vals[k]/length)
		}
		cone.A.EndRow()
		cone.B, cone.Equal = append(cone.B, 0), append(cone.Equal, p.Rows.Kind[i] == problem.Equal)
	}
	s := qp.Solve(cone, nil)
	if s.Status != qp.Solved {
		return hold{}, false
	}
	if linalg.Norm(s.Z) > certain {
		return hold{fast: true}, true
	}
	h.spared = make([]float64, m)
	for k, i := range of {
		if h.spared[i] = s.Lambda[k] * size / lengths[k]; p.Rows.Kind[i] != problem.Equal {
			h.spared[i] = math.Max(0, h.spared[i])
		}
	}
	return h, true
}
