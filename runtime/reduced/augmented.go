package reduced

import (
	"errors"
	"math"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// augmentation is what makes a Hessian that is positive definite along the equality rows so everywhere: g and sum_i weight_i/2 (B_i y - A_i x + b_i)^2 over them have the same minimizers with the same multipliers,
// as the sum and its slopes are 0 there (augmented Lagrangian: Nocedal and Wright 2006, theorem 17.5).
type augmentation struct {
	weight []float64 // of each row of the problem, 0 for inequalities
}

// eliminable is the follower of a system, augmented where there are equality rows and its Hessian as it stands has half of the digits in some direction, or no curvature.
func eliminable(s *kkt.System) (*follower, error) {
	f, err := newFollower(s, tolerance.HalfDigits)
	if !errors.Is(err, ErrClass) || !(s.P.Facts.StrongConvexity > 0) {
		return f, err
	}
	if own, by := augmented(s); own != nil {
		if f, failed := newFollower(own, tolerance.NoCurvature); failed == nil {
			f.by = by
			return f, nil
		}
	}
	return newFollower(s, tolerance.NoCurvature)
}

// augmented is the system of the augmented g; nil where there are no equality rows, or where their products are too many numbers. Each row's largest curvature is that of H.
func augmented(s *kkt.System) (*kkt.System, *augmentation) {
	rows, top, products := s.P.Rows, 0.0, 0
	for j := range s.Ny {
		top = math.Max(top, s.H.At(j, j))
	}
	by := &augmentation{make([]float64, s.M)}
	b, a := sparse.Empty(s.Ny), sparse.Empty(s.Nx) // times the roots of the weights
	q := make([]float64, 0, s.M)
	for i, kind := range rows.Kind {
		cols, vals := rows.B.Row(i)
		length := linalg.Norm(vals)
		if kind != problem.Equal || !(length > 0) {
			continue
		}
		if products += len(cols) * len(cols); products > tolerance.MostNumbers {
			return nil, nil
		}
		root := math.Sqrt(top) / length
		by.weight[i] = root * root
		b.AppendScaled(cols, 0, vals, root, 1)
		b.EndRow()
		cols, vals = rows.A.Row(i)
		a.AppendScaled(cols, 0, vals, root, 1)
		a.EndRow()
		q = append(q, root*rows.Rhs[i])
	}
	if b.Rows == 0 {
		return nil, nil
	}
	own, t := *s, b.T()
	own.H = sparse.Add(1, s.H, 1, sparse.Mul(t, b))
	own.G = sparse.Add(1, s.G, -1, sparse.Mul(t, a))
	own.Q = append([]float64(nil), s.Q...)
	b.AddMulVecT(own.Q, 1, q)
	return &own, by
}

// original turns multipliers of the augmented system into those of the system: what the squares add to the derivatives of grad_y g by the adjoint is a force of the equality rows.
func (by *augmentation) original(m *kkt.Multipliers, rows *problem.Rows) {
	if by == nil {
		return
	}
	for i, w := range by.weight {
		if w != 0 {
			m.Slack[i] += w * rows.B.RowDot(i, m.Adjoint)
		}
	}
}
