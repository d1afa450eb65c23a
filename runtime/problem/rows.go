package problem

import (
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/tolerance"
)

// HasInequalities reports whether some row of the lower level is AtMost.
func (p *Problem) HasInequalities() bool {
	return slices.Contains(p.Rows.Kind, AtMost)
}

// RowName is the name of row i for messages.
func (r *Rows) RowName(i int) string {
	if i < len(r.Name) && r.Name[i] != "" {
		return r.Name[i]
	}
	return fmt.Sprintf("row %d", i)
}

// Within takes what rounding leaves of y (len Dy) beyond bounds that do not read x off it.
func (r *Rows) Within(y []float64) {
	for i := range r.Kind {
		j, coef := r.Bound(i)
		if cols, _ := r.A.Row(i); j < 0 || len(cols) > 0 {
			continue
		}
		if end := -r.Rhs[i] / coef; coef > 0 {
			y[j] = math.Max(y[j], end)
		} else {
			y[j] = math.Min(y[j], end)
		}
	}
}

// Shortest are the multipliers (len m) that make the forces of lambda by the rows that have one there, rows scaled to length 1, and are shortest: those of rows that do not depend on each
// other are lambda's own, and what others may have besides, which nothing tells, is left out. It is the projection of lambda onto the range of B.
func (r *Rows) Shortest(lambda []float64) []float64 {
	length := r.lengths(func(i int) bool { return lambda[i] != 0 })
	want := each.Below(len(lambda), func(i int) float64 { return lambda[i] * length[i] })
	found, _ := r.project(length, want)
	for i, l := range length {
		if l > 0 {
			found[i] /= l
		}
	}
	return found
}

// Meet is y (len Dy) after the shortest step to where rows hold as nearly as they can together, by least squares, rows scaled to length 1.
func (r *Rows) Meet(x, y []float64, rows []int) []float64 {
	in, h, want := make([]bool, r.Len()), make([]float64, r.Len()), make([]float64, r.Len())
	for _, i := range rows {
		in[i] = true
	}
	length := r.lengths(func(i int) bool { return in[i] })
	r.Residual(h, x, y)
	for i, l := range length {
		if l > 0 {
			want[i] = h[i] / l
		}
	}
	_, step := r.project(length, want)
	for j, t := range y {
		step[j] += t
	}
	return step
}

// lengths are those of the rows of B, 0 of rows that are left out.
func (r *Rows) lengths(in func(i int) bool) []float64 {
	length := make([]float64, r.B.Rows)
	for i := range length {
		if !in(i) {
			continue
		}
		square := 0.0
		_, vals := r.B.Row(i)
		for _, v := range vals {
			square += v * v
		}
		length[i] = math.Sqrt(square)
	}
	return length
}

// project is the projection of want (len m) onto the range of the rows of B by their lengths, those of length 0 left out, and the shortest y that it is the image of.
func (r *Rows) project(length, want []float64) (found, image []float64) {
	least := each.Sum(want, func(t float64) float64 { return tolerance.Feasibility * t * tolerance.Feasibility * t })
	found, image = slices.Clone(want), make([]float64, r.B.Cols)
	rest := slices.Clone(want)
	forward := func(dst, y []float64) {
		for i, l := range length {
			if l > 0 {
				dst[i] = r.B.RowDot(i, y) / l
			}
		}
	}
	back := func(dst, rest []float64) {
		clear(dst)
		for i, l := range length {
			if l > 0 {
				r.B.AddRow(dst, i, rest[i]/l)
			}
		}
	}
	sparse.LeastSquares(image, rest, 2*len(image), forward, back, func(_, now float64) bool { return !(now > least) }) // twice what it takes without rounding
	for i, t := range rest {
		found[i] -= t
	}
	return found, image
}
