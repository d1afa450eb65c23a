package tree

import (
	"context"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// leftNothing are the variables without an end of which a leaf's multipliers leave nothing of the cost, to rounding: in a proof, equations for the weights.
// Where the weights that are not 0 determine fewer of these, as at a degenerate vertex, some depend on others, and with data in decimals they are off by the rounding of the data: exactly, a cost has the wrong sign, which no end makes up for.
type leftNothing struct {
	of         *activeset.Program
	b          *activeset.Bounds
	z          []float64
	row, bound []float64
	cost       []float64 // of the variables
	terms      []float64 // of what is left of it
	noise      float64
	equations  []int
	dependent  []int // of equations
}

func newLeftNothing(of *activeset.Program, b *activeset.Bounds, z, row, bound []float64) *leftNothing {
	l := &leftNothing{of: of, b: b, z: z, row: row, bound: bound, cost: slices.Clone(bound), terms: make([]float64, of.N), noise: noiseOf(row, bound)}
	for i, w := range row {
		if w == 0 {
			continue
		}
		for j, v := range of.A.Entries(i) {
			l.cost[j] += w * v
			l.terms[j] += math.Abs(w * v)
		}
	}
	if of.Q != nil {
		for j := range l.cost {
			v := rowDot(of.Q, j, z)
			l.cost[j] -= v
			l.terms[j] += math.Abs(v)
		}
	}
	l.equations = append(l.equations, each.WhereBelow(len(l.terms), func(j int) bool {
		return l.terms[j] > l.noise && math.Abs(bound[j]) <= tolerance.Rounded*l.terms[j] && (math.IsInf(b.Lo[j], -1) || math.IsInf(b.Hi[j], 1))
	})...)
	l.dependent, _ = linalg.Independent(of.A.T(), l.equations, func(i int) bool { return math.Abs(row[i]) <= l.noise })
	return l
}

// inward moves the multipliers, and what is left of costs, into the inside of the signs that variables without an end ask for. The move w is by what rounding leaves of the terms t_j of a cost, and as far as the cone of the signs goes:
//
//	maximize sum of u_j  subject to  0 <= u_j <= t_j, u_j <= (-A'w)_j
//
// over the dependent equations, with the signs of all variables that have nothing left and of weights that are 0. Its dual, which is what is solved, has the directions in which the relaxation's
// points recede: what is 0 along all of them is what gets a part (Goldman and Tucker 1956). What it costs the bound is as rounding (safe dual bounds: Neumaier and Shcherbina 2004).
// Both are nil where there is no room, or less would be left of what they show than keep allows.
func (l *leftNothing) inward(ctx context.Context, keep func(before, after float64) bool) (moved, left []float64) {
	if len(l.dependent) == 0 {
		return nil, nil
	}
	of, b, row, bound, terms, noise, n := l.of, l.b, l.row, l.bound, l.terms, l.noise, l.of.N
	// The columns of the dual: z_j of variables that have an end on one side at the most, in the sense of the sign that is left, and beside those that are to have a part one in [0, 1].
	program := &activeset.Program{}
	place, at, sign := make([]int, n), make([]int, n), make([]float64, n) // of z_j and the other one, from 1 on
	put := func(cost, lo, hi float64) int {
		program.C, program.Lo, program.Hi = append(program.C, cost), append(program.Lo, lo), append(program.Hi, hi)
		return len(program.C)
	}
	for j := range n {
		below, above := math.IsInf(b.Lo[j], -1), math.IsInf(b.Hi[j], 1)
		if !below && !above {
			continue
		}
		if sign[j] = 1; below {
			sign[j] = -1
		}
		switch {
		case below && above:
			place[j] = put(0, math.Inf(-1), math.Inf(1))
		case terms[j] > noise && math.Abs(bound[j]) > tolerance.Rounded*terms[j]: // it has room
		default:
			place[j] = put(0, 0, math.Inf(1))
			if slices.Contains(l.dependent, j) {
				at[j] = put(-terms[j], 0, 1)
			}
		}
	}
	program.N = len(program.C)
	program.A = sparse.Empty(program.N)
	inf := math.Inf(1)
	for i, w := range row {
		for j, v := range of.A.Entries(i) {
			for _, c := range [2]int{place[j], at[j]} {
				if c > 0 {
					program.A.Append(c-1, sign[j]*v)
				}
			}
		}
		program.A.EndRow()
		lo, hi := 0.0, 0.0 // any sign of the weight
		switch below, above := math.IsInf(b.RowLo[i], -1), math.IsInf(b.RowHi[i], 1); {
		case below && above:
			lo, hi = -inf, inf
		case math.Abs(w) > noise:
		case below:
			lo = -inf
		case above:
			hi = inf
		}
		program.RowLo, program.RowHi = append(program.RowLo, lo), append(program.RowHi, hi)
	}
	move := activeset.Once(ctx, program)
	if move.Status != activeset.Optimal {
		return nil, nil
	}
	moved, left = slices.Clone(row), slices.Clone(bound)
	for i, w := range move.Row {
		if w == 0 {
			continue
		}
		moved[i] += tolerance.Rounded * w
		for j, v := range of.A.Entries(i) {
			left[j] -= tolerance.Rounded * w * v
		}
	}
	for j, v := range left {
		if place[j] == 0 && sign[j]*v < 0 { // it had room
			return nil, nil
		}
		if at[j] > 0 {
			left[j] = bound[j] // what it has more than that its end takes
		}
	}
	was, _ := shows(of, l.cost, b, &activeset.Solution{Z: l.z, Row: row})
	if is, _ := shows(of, l.cost, b, &activeset.Solution{Z: l.z, Row: moved}); !keep(was, is) {
		return nil, nil
	}
	return moved, left
}

// without are bounds without the rows whose weights the dependent equations are for; nil where there are none.
func (l *leftNothing) without() *activeset.Bounds {
	out, some := *l.b, false
	out.RowLo, out.RowHi = slices.Clone(out.RowLo), slices.Clone(out.RowHi)
	for i, w := range l.row {
		if math.Abs(w) > l.noise && slices.ContainsFunc(l.dependent, func(j int) bool { return l.of.A.At(i, j) != 0 }) {
			out.RowLo[i], out.RowHi[i], some = math.Inf(-1), math.Inf(1), true
		}
	}
	if !some {
		return nil
	}
	return &out
}
