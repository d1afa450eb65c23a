package reduced

import (
	"bilevelc/internal/each"
	"bilevelc/internal/gram"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// condensed is the follower with its multipliers in the place of y, and the problem with f as a function of x and these,
//
//	f(x, y0 + J x + E'lambda),
//
// whose Hessian is made once: what y takes is gone from each step. nil where that does not pay: f is not a quadratic that is known, it reads multipliers of its own, the follower falls into blocks or is taken with
// sparse factors, or x and the rows are more than y, of which products with J and E are.
func condensed(f *follower) (*follower, *problem.Problem) {
	s := f.sys
	nx, k := s.Nx, s.Nx+f.m
	if f.sparse != nil || len(f.blocks) > 1 || len(s.P.Duals) > 0 || s.Objective == nil || !s.Objective.Known || k > f.n {
		return nil, nil
	}
	e := f.blocks[0].e
	v := make([]float64, (nx+f.n)*k) // (x, y) = (0, y0) + V (x, lambda)
	for i := range nx {
		v[i*k+i] = 1
	}
	for i := range f.n {
		row := v[(nx+i)*k : (nx+i+1)*k]
		copy(row, f.j[i*f.nw:i*f.nw+nx])
		for r := range f.m {
			row[nx+r] = e[r*f.n+i]
		}
	}
	c := &composite{hess: make([]float64, k*k), lin: make([]float64, k)}
	gx, ga, answer := make([]float64, nx), make([]float64, s.P.AnswerLen()), make([]float64, s.P.AnswerLen())
	copy(answer, f.y0)
	c.at = s.P.F.ValueGrad(gx, ga, make([]float64, nx), answer)
	linalg.Gemv(c.lin, 1, v[:nx*k], nx, k, true, gx)
	linalg.Gemv(c.lin, 1, v[nx*k:], f.n, k, true, ga[:f.n])
	if h := s.Objective.Hess; h != nil {
		hv := make([]float64, len(v))
		read := each.Number(nx + f.n)
		multiply(hv, h.Part(read, read, nx+f.n).Negated(), v, k)
		gram.Subtract(matrix(c.hess, k, k), matrix(v, nx+f.n, k), true, matrix(hv, nx+f.n, k))
		linalg.Symmetrize(k, c.hess)
	}
	short, p := *f, *s.P
	short.whole, short.n, short.j, short.y0, short.work = f, f.m, nil, make([]float64, f.m), 0
	short.blocks = []block{{ys: each.Number(f.m), m: f.m, terms: f.blocks[0].terms, y: f.blocks[0].y}}
	short.coupled = nil
	for _, row := range f.coupled {
		x, l := append([]float64(nil), row.x...), make([]float64, f.m)
		f.addJT(x, row.y)
		f.addE(l, row.y)
		row.rhs -= linalg.Dot(row.y, f.y0)
		row.x, row.y = x, l
		short.coupled = append(short.coupled, row)
	}
	p.Dy, p.F, p.Coupled = f.m, problem.Joint(c.valueGrad), nil
	return &short, &p
}

// composite is the quadratic 1/2 z'hess z + lin'z + at of z = (x, lambda).
type composite struct {
	hess, lin []float64
	at        float64
}

// valueGrad is a problem.Joint.
func (c *composite) valueGrad(dx, dl, x, l []float64) float64 {
	k := len(c.lin)
	g, v := make([]float64, k), c.at
	for part, z := range [2][]float64{x, l} {
		first := part * len(x)
		for i, t := range z {
			if t != 0 { // as multipliers are for the most part
				linalg.Axpy(g, t, c.hess[(first+i)*k:(first+i+1)*k])
			}
		}
	}
	v += linalg.Dot(g[:len(x)], x)/2 + linalg.Dot(g[len(x):], l)/2 + linalg.Dot(c.lin[:len(x)], x) + linalg.Dot(c.lin[len(x):], l)
	linalg.Axpy(g, 1, c.lin)
	copy(dx, g)
	if dl != nil {
		copy(dl, g[len(x):])
	}
	return v
}
