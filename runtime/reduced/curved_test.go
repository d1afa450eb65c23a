package reduced_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/reduced"
)

// exponential is q(x)_i = c_i + sum_j slope_ij x_j + w_i exp(p_i'x).
type exponential struct {
	c, w     []float64
	slope, p [][]float64
}

func (q *exponential) power(i int, x []float64) float64 {
	at := 0.0
	for j, t := range x {
		at += q.p[i][j] * t
	}
	return q.w[i] * math.Exp(at)
}

// Force implements reduced.Curved.
func (q *exponential) Force(dst, x []float64) {
	for i := range dst {
		dst[i] = q.c[i] + q.power(i, x)
		for j, t := range x {
			dst[i] += q.slope[i][j] * t
		}
	}
}

// Slopes implements reduced.Curved.
func (q *exponential) Slopes(x []float64) (*sparse.CSR, error) {
	m := sparse.Empty(len(x))
	for i := range q.c {
		for j := range x {
			m.Append(j, q.slope[i][j]+q.p[i][j]*q.power(i, x))
		}
		m.EndRow()
	}
	m.Rows = len(q.c)
	return m, nil
}

// HessianProduct implements reduced.Curved.
func (q *exponential) HessianProduct(dst, x, a, d []float64) {
	clear(dst)
	for i, t := range a {
		along := 0.0
		for j, u := range d {
			along += q.p[i][j] * u
		}
		for j := range dst {
			dst[j] += t * q.power(i, x) * q.p[i][j] * along
		}
	}
}

// curvedFollowers are followers apart whose linear term in y is exponential in x, linearized at 0.
func curvedFollowers(t *testing.T, rng *rand.Rand) (*kkt.System, *exponential) {
	p := followersApart(rng)
	g := p.G.(*smooth)
	q := &exponential{}
	for i := range p.Dy {
		w, p0, slope := rng.NormFloat64(), make([]float64, p.Dx), make([]float64, p.Dx)
		for j := range p0 {
			p0[j] = rng.NormFloat64()
			slope[j] = g.m[(p.Dx+i)*g.n+j]
		}
		q.c, q.w, q.p, q.slope = append(q.c, g.c[p.Dx+i]), append(q.w, w), append(q.p, p0), append(q.slope, slope)
		g.c[p.Dx+i] += w
		for j := range p0 {
			g.m[(p.Dx+i)*g.n+j] += w * p0[j]
			g.m[j*g.n+p.Dx+i] += w * p0[j]
		}
	}
	s, err := kkt.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return s, q
}

// The derivatives of F_mu of a curved follower are those of differences of its values, wherever the system was linearized; the path ends in X, where F, of the follower's exact answer to its own q, is no larger.
func TestCurvedPath(t *testing.T) {
	checked, apart, bent, fell := 0, 0, 0, 0
	rng := members.Rand(t, 33)
	for k := range members.Count(200) {
		s, q := curvedFollowers(t, rng)
		p := s.P
		x, d := make([]float64, p.Dx), make([]float64, p.Dx)
		for j := range x {
			x[j], d[j] = 0.4*rng.NormFloat64(), rng.NormFloat64()
			x[j] = math.Max(-0.9, math.Min(0.9, x[j]))
		}
		const mu, h = 0.1, 1e-3
		moved := func(t float64) []float64 {
			w := append([]float64(nil), x...)
			for j := range w {
				w[j] += t * d[j]
			}
			return w
		}
		_, grad, product := reduced.Smoothed(s, q, x, mu)
		ahead, up, _ := reduced.Smoothed(s, q, moved(h), mu)
		behind, down, _ := reduced.Smoothed(s, q, moved(-h), mu)
		if grad == nil || up == nil || down == nil {
			continue
		}
		checked++
		slope, size := 0.0, 1.0
		for j, v := range grad {
			slope += v * d[j]
			size += math.Abs(v)
		}
		if v := (ahead - behind) / (2 * h); math.Abs(v-slope) > 1e-2*size {
			apart++
			t.Logf("case %d: F_mu grows by %g, the gradient says %g", k, v, slope)
		}
		got := make([]float64, p.Dx)
		product(got, d)
		off, length := 0.0, 1.0
		for j := range got {
			v := (up[j] - down[j]) / (2 * h)
			off, length = math.Max(off, math.Abs(v-got[j])), math.Max(length, math.Abs(v))
		}
		if off > 3e-2*length {
			bent++
			t.Logf("case %d: the product is off by %g of %g", k, off, length)
		}
		end, err := reduced.Path(t.Context(), s, x, q, reduced.Options{})
		if err != nil {
			t.Errorf("case %d: %v", k, err)
			continue
		}
		value := func(x []float64) float64 {
			at := *p
			g := *p.G.(*smooth)
			g.m, g.c = append([]float64(nil), g.m...), append([]float64(nil), g.c...)
			force := make([]float64, p.Dy)
			q.Force(force, x)
			for i, t := range force {
				g.c[p.Dx+i] = t
				for j := range p.Dx {
					g.m[(p.Dx+i)*g.n+j], g.m[j*g.n+p.Dx+i] = 0, 0
				}
			}
			at.G = &g
			there, err := kkt.New(&at)
			if err != nil {
				t.Fatal(err)
			}
			_, f, ok := newTruth(t, there).at(x)
			if !ok {
				t.Errorf("case %d: no answer at %v", k, x)
			}
			return f
		}
		if !inX(p, end, 1e-9) {
			t.Errorf("case %d: the end is not in X", k)
		}
		from, to := value(x), value(end)
		if to > from+1e-9*(1+math.Abs(from)) {
			t.Errorf("case %d: F is %v at the end, %v at the start", k, to, from)
		}
		if to < from-1e-3 {
			fell++
		}
	}
	t.Logf("%d of %d paths end lower", fell, checked)
	if checked < members.Count(200)/4 || fell < checked/2 {
		t.Errorf("only %d points, of which %d lead down", checked, fell)
	}
	if apart > members.Misses(checked, 0.02) || bent > members.Misses(checked, 0.02) {
		t.Errorf("%d gradients and %d products of %d are not those of differences", apart, bent, checked)
	}
}
