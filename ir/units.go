package ir

import (
	"fmt"
	"math"
	"sort"

	"bilevelc/ir/expr"
)

// InUnits is the problem with y = units times z, entry by entry, as a problem in z: the values
// of f and g, the rows and their multipliers are the same. Units are powers of two, so that
// nothing is rounded. The graph is shared. Facts and Blocks are those of another objective,
// and left out; Lets, Coupled, Report and Followers stay functions of y.
func (p *Problem) InUnits(units []float64) (*Problem, error) {
	q, g := *p, p.Graph
	q.Facts, q.Blocks = Facts{}, nil
	with := map[*expr.Node]*expr.Node{}
	for _, v := range p.Lower.Vars {
		if v.Shape.Len() == 0 {
			continue
		}
		own := units[v.Offset : v.Offset+v.Shape.Len()]
		unit := g.Const("", expr.NewArray(v.Shape, own), v.Span)
		if v.Shape.Rank == 0 {
			unit = g.Number(own[0])
		}
		n := g.Var(v.Name, true, v.Offset, v.Shape, v.Span)
		with[n] = g.Binary(expr.Mul, unit, n, v.Span)
	}
	for _, root := range []**expr.Node{&q.Lower.Objective, &q.Upper.Objective, &q.Penalized} {
		if *root != nil {
			*root = g.Replace(*root, with)
		}
	}
	b := *p.B
	b.Val = make([]float64, len(p.B.Val))
	for k, j := range p.B.Col {
		v := p.B.Val[k] * units[j]
		if math.IsInf(v, 0) || p.B.Val[k] != 0 && math.Abs(v) < 0x1p-1022 {
			return nil, fmt.Errorf("row %s leaves the range of double precision in these units", p.Rows[sort.SearchInts(p.B.Ptr, k+1)-1].Name)
		}
		b.Val[k] = v
	}
	q.B = &b
	return &q, nil
}
