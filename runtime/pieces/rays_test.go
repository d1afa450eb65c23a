package pieces_test

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/problem"
)

// makeConcave makes f concave along an entry of x.
func makeConcave(p *problem.Problem, j int, by float64) {
	f := p.F.(*kkttest.Quadratic)
	f.M = slices.Clone(f.M)
	f.M[j*(p.Dx+p.Dy)+j] -= by
}

// Where some entries of x have no ends, f is found to fall without end along rays that package certify accepts, which shares nothing with these solves; else
// there is a point.
func TestUnboundedAlongRays(t *testing.T) {
	rng := members.Rand(t, 3)
	rays, points, open, slopes := 0, 0, 0, 0
	for k := range draws {
		p := kkttest.Random(rng, 3, 3, 2, k%2 == 0, k%3 == 0)
		p.X.Lo[0], p.X.Hi[0] = math.Inf(-1), math.Inf(1)
		if k%2 == 1 {
			p.X.Hi[1] = math.Inf(1)
		}
		if k%4 < 2 {
			makeConcave(p, rng.IntN(3), float64(rng.IntN(4)))
		}
		s, v := solverOf(t, p)
		_, err := v.From(t.Context(), make([]float64, s.Nx))
		var none *pieces.FollowerError
		var falls *pieces.Unbounded
		switch {
		case err == nil:
			points++
		case errors.As(err, &none):
		case errors.As(err, &falls):
			rays++
			doc := &certify.Document{X: s.X(falls.Z), Y: s.Y(falls.Z), Lambda: s.Lambda(falls.Z), Unbounded: true, Tied: true,
				Certificate: &certify.Certificate{Ray: &certify.Ray{X: s.X(falls.Ray), Y: s.Y(falls.Ray), Multipliers: s.Lambda(falls.Ray)}}}
			doc.Upper, doc.Lower = p.F.Value(doc.X, doc.Y), p.G.Value(doc.X, doc.Y)
			for _, c := range certify.Verify(doc, p).Failures() {
				t.Errorf("case %d: %v", k, c)
			}
			// A slope that the accuracy of the point decides the sign of is none: f = (a'(z - z0) - e) d'z / |d|, a across d, falls by e.
			z, d := append(slices.Clone(doc.X), doc.Y...), append(s.X(falls.Ray), s.Y(falls.Ray)...)
			length, a, off := floats.Norm(d, 2), make([]float64, len(d)), 0.0
			for j := range a {
				a[j] = rng.NormFloat64()
			}
			clear(a[:p.Dx]) // x is exact
			for range 2 {
				floats.AddScaled(a[p.Dx:], -floats.Dot(a, d)/math.Max(floats.Dot(d[p.Dx:], d[p.Dx:]), 1e-300), d[p.Dx:])
			}
			if least, most := linalg.NormInf(doc.Y), linalg.NormInf(z); least < 0.1 || most > 100 || floats.Norm(a, 2) < 0.1 {
				continue // y may be exact
			}
			slopes++
			off = floats.Dot(a, z)
			for _, e := range [2]float64{1e-15, 1e-2} {
				f := &kkttest.Quadratic{Nx: p.Dx, Ny: p.Dy, M: make([]float64, len(d)*len(d)), C: make([]float64, len(d))}
				for i := range d {
					f.C[i] = -(off + e) * d[i] / length
					for j := range d {
						f.M[i*len(d)+j] = (a[i]*d[j] + a[j]*d[i]) / length
					}
				}
				q := *p
				q.F = f
				doc.Upper = f.Value(doc.X, doc.Y)
				if failed := len(certify.Verify(doc, &q).Failures()) > 0; failed != (e < 1e-8) {
					t.Errorf("case %d: a slope of %v along a ray: refused: %v", k, e, failed)
				}
			}
		case errors.Is(err, pieces.ErrEndless): // said to be open
			open++
		default:
			t.Errorf("case %d: %v", k, err)
		}
	}
	if rays < 20 || points < 20 || open > rays/10 || slopes < 10 {
		t.Errorf("%d rays, %d of them with slopes, %d points, %d open", rays, slopes, points, open)
	}
}

// A safe point is one at which the follower has a single answer, by all vertices of its set, and one is found wherever a random x nearby is one with as good an F, nearly.
func TestSafePoints(t *testing.T) {
	rng := members.Rand(t, 4)
	found, missed := 0, 0
	for k := range draws {
		p := kkttest.Random(rng, 2, 2, 2, false, k%3 == 0)
		s, v := solverOf(t, p)
		point, err := v.From(t.Context(), []float64{6*rng.Float64() - 3, 6*rng.Float64() - 3})
		if err != nil || len(point.Biactive) == 0 {
			continue
		}
		near := func(f float64) bool { return math.Abs(f-point.F) <= 0.1*(1+math.Abs(point.F)) }
		if safe := v.SafePoint(t.Context(), point); safe != nil {
			found++
			x := s.X(safe.Z)
			if y := onlyAnswer(p, x); y == nil || math.Abs(y[0]-s.Y(safe.Z)[0])+math.Abs(y[1]-s.Y(safe.Z)[1]) > 1e-7 {
				t.Errorf("case %d: at %v the follower has the answer %v, and not alone: %v", k, x, s.Y(safe.Z), y)
			}
			if want := p.F.Value(x, s.Y(safe.Z)); math.Abs(want-safe.F) > 1e-9*(1+math.Abs(want)) {
				t.Errorf("case %d: F is %v there, not %v", k, want, safe.F)
			}
			continue
		}
		for range 200 {
			x := slices.Clone(s.X(point.Z))
			for j := range x {
				x[j] = math.Max(p.X.Lo[j], math.Min(p.X.Hi[j], x[j]+1e-3*(2*rng.Float64()-1)))
			}
			if y := onlyAnswer(p, x); y != nil && near(p.F.Value(x, y)) {
				missed++
				break
			}
		}
	}
	if found < draws/20 || missed > found/10 {
		t.Errorf("%d found, %d missed", found, missed)
	}
}

// onlyAnswer is the best vertex of a linear follower's two variables, nil where another is as good, or there is none.
func onlyAnswer(p *problem.Problem, x []float64) []float64 {
	c := make([]float64, 2)
	p.G.GradY(c, x, make([]float64, 2))
	m := p.Rows.Len()
	side := make([]float64, m) // B y >= side
	for i := range m {
		side[i] = p.Rows.A.RowDot(i, x) - p.Rows.Rhs[i]
	}
	var vertices [][]float64
	cost := func(y []float64) float64 { return c[0]*y[0] + c[1]*y[1] }
	for i := range m {
		for k := range i {
			a, b, d, e := p.Rows.B.At(i, 0), p.Rows.B.At(i, 1), p.Rows.B.At(k, 0), p.Rows.B.At(k, 1)
			det := a*e - b*d
			if det == 0 {
				continue
			}
			y := []float64{(side[i]*e - b*side[k]) / det, (a*side[k] - side[i]*d) / det}
			inside := true
			for r := range m {
				inside = inside && p.Rows.B.RowDot(r, y) >= side[r]-1e-10
			}
			if inside {
				vertices = append(vertices, y)
			}
		}
	}
	if len(vertices) == 0 {
		return nil
	}
	best := slices.MinFunc(vertices, func(a, b []float64) int { return cmp.Compare(cost(a), cost(b)) })
	for _, y := range vertices { // one that is not the same costs more by a part of how far it is away
		if away := math.Abs(y[0]-best[0]) + math.Abs(y[1]-best[1]); away > 1e-9 && cost(y)-cost(best) < 1e-8*away {
			return nil
		}
	}
	return best
}
