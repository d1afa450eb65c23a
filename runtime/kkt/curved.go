package kkt

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// Curved is a quadratic constraint of the leader, 1/2 z'Hess z + Lin'z + Const <= 0 in the model's units: constraint Coupled of
// problem.Coupled, of an equation also Negated (>= 0), or |x - center|^2 <= radius^2 of ball Ball of X; Ball or Coupled is -1.
type Curved struct {
	Coupled, Ball int
	Negated       bool
	// Dual says that the quadratic is without the products of x, y and lambda, by strong duality: it is the constraint's function at every feasible point of the system, and convex, which that is not.
	Dual bool
	sparse.Quadratic
}

// AppliesCurved is Applies where quadratic constraints of the leader are allowed.
func AppliesCurved(p *problem.Problem) string {
	switch {
	case !p.Facts.JointlyQuadratic:
		return "g is not quadratic in x and y together"
	case p.Coupled == nil || p.Facts.AffineCoupled:
		return ""
	}
	for i := range p.Coupled.Kind {
		if i >= len(p.Facts.DegreeCoupled) || p.Facts.DegreeCoupled[i] > 2 {
			return "a constraint of the upper level is not quadratic"
		}
	}
	return ""
}

// NewCurved is New for a problem whose leader has quadratic constraints: they are no rows of the relaxation, but Curved. The box of an entry of x in a ball is that of the
// ball. why says, in words, what keeps the problem out.
func NewCurved(p *problem.Problem) (s *System, why string, err error) {
	defer must.Catch(&err)
	if why := AppliesCurved(p); why != "" {
		return nil, why, nil
	}
	own, set := *p, *p.X
	own.X = &set
	set.Lo, set.Hi = set.Boxes(p.Dx)
	for _, b := range set.Balls {
		for j := b.Start; j < b.End; j++ {
			c := b.At(j)
			set.Lo[j], set.Hi[j] = math.Max(set.Lo[j], c-b.Radius), math.Min(set.Hi[j], c+b.Radius)
		}
	}
	s = must.Get(read(&own))
	s.Objective = must.Get(newObjective(s))
	if !s.Objective.Known {
		return s, "", nil
	}
	must.Do(s.readCurved())
	s.boxCurved()
	for k := range s.Curved {
		c := &s.Curved[k]
		if !Semidefinite(c.Hess) {
			if left, _ := s.strongDuality(&c.Quadratic); left != nil && Semidefinite(left.Hess) {
				c.Dual, c.Quadratic = true, *left
			}
		}
		s.shorten(c)
	}
	return s, "", nil
}

// boxCurved narrows the boxes of entries of x by constraints of single ones, a x^2 + b x + c <= 0 with a > 0: they are between the roots, with what rounding leaves of these. Those of
// an equation are then two ends of a range, which one branch tells apart, as of a binary entry.
func (s *System) boxCurved() {
	for k := range s.Curved {
		of := &s.Curved[k]
		reads := each.WhereBelow(s.N, func(j int) bool { return of.Lin[j] != 0 || of.Hess.Reads(j) })
		if of.Coupled < 0 || len(reads) != 1 || reads[0] >= s.Nx {
			continue
		}
		j := reads[0]
		a, b := of.Hess.At(j, j)/2, of.Lin[j]
		left, terms := b*b-4*a*of.Const, b*b+math.Abs(4*a*of.Const)
		if !(a > 0) || left < -0x1p-48*terms {
			continue
		}
		root := math.Sqrt(math.Max(0, left) + 0x1p-48*terms)
		lo, hi, rounding := (-b-root)/(2*a), (-b+root)/(2*a), 0x1p-48*(math.Abs(b)+root)/(2*a)
		s.P.X.Lo[j], s.P.X.Hi[j] = math.Max(s.P.X.Lo[j], lo-rounding), math.Min(s.P.X.Hi[j], hi+rounding)
		s.Relaxation.Lo[j], s.Relaxation.Hi[j] = s.P.X.Lo[j]/s.ColScale[j], s.P.X.Hi[j]/s.ColScale[j]
	}
}

// negated is the constraint that the other sign of the function makes.
func (c *Curved) negated() Curved {
	out := *c
	out.Negated, out.Const, out.Lin = true, -c.Const, slices.Clone(c.Lin)
	floats.Scale(-1, out.Lin)
	out.Hess = c.Hess.Clone()
	floats.Scale(-1, out.Hess.Val)
	return out
}

// Convex reports that all branches of the system are convex programs: of f, and of the leader's quadratic constraints.
func (s *System) Convex() bool {
	return s.Objective.Convex && !slices.ContainsFunc(s.Curved, func(c Curved) bool { return !Semidefinite(c.Hess) })
}

// shorten makes the units of the columns that a constraint is curved in no longer than where its terms are alike: its tangents are rows next to which those of the relaxation may be small.
func (s *System) shorten(c *Curved) {
	for j, a := range c.Lin {
		if h := math.Abs(c.Hess.At(j, j)); h != 0 {
			s.shortenUnit(j, math.Sqrt(math.Max(math.Abs(c.Const), a*a/h)/h))
		}
	}
}

// curvedRow reports that coupled constraint i is no row of the relaxation.
func (s *System) curvedRow(i int) bool {
	f := &s.P.Facts
	return !f.AffineCoupled && i < len(f.DegreeCoupled) && f.DegreeCoupled[i] == 2
}

// readCurved reads the quadratic constraints off gradients of f plus a constraint so large a number of times that f is rounding beside it; where the constraint has no term, f's is all there is.
func (s *System) readCurved() error {
	probe := s.probing()
	n := s.Nx + s.Ny + len(s.P.Duals)
	_, sides := s.gradient(make([]float64, s.N), make([]float64, s.N))
	for i := range sides {
		if !s.curvedRow(i) {
			continue
		}
		at, columns, err := problem.Affine(n, n, n, nil, s.reading(make([]float64, s.N), func(dst, z []float64) {
			answer := s.answer(z)
			answer[s.Ny+len(s.P.Duals)+i] = 1 / tolerance.LeastSquared
			gx, ga := make([]float64, s.Nx), make([]float64, len(answer))
			probe.P.F.ValueGrad(gx, ga, s.X(z), answer)
			s.spread(dst, gx, ga)
			floats.Scale(tolerance.LeastSquared, dst)
		}))
		if err != nil {
			return fmt.Errorf("the gradient of %s: %w", s.P.Coupled.Name[i], err)
		}
		of := func(v, f float64) float64 {
			if math.Abs(v) <= 4*math.Abs(f)*tolerance.LeastSquared {
				return 0
			}
			return v
		}
		c := Curved{Coupled: i, Ball: -1, Quadratic: sparse.Quadratic{Lin: make([]float64, s.N), Const: sides[i]}}
		for k, v := range at {
			c.Lin[s.place(k)] = of(v, s.Objective.Lin[s.place(k)])
		}
		var entries []sparse.Entry
		for k, column := range columns {
			if h := s.Objective.Hess; h != nil {
				for j, v := range column {
					column[j] = of(v, h.At(s.place(j), s.place(k)))
				}
			}
			entries = s.appendColumn(entries, k, column)
		}
		c.Hess = symmetric(sparse.FromEntries(s.N, s.N, entries))
		s.Curved = append(s.Curved, c)
		if s.P.Coupled.Kind[i] == problem.Equal {
			s.Curved = append(s.Curved, c.negated())
		}
	}
	for k, b := range s.P.X.Balls {
		c := Curved{Coupled: -1, Ball: k, Quadratic: sparse.Quadratic{Lin: make([]float64, s.N), Const: -b.Radius * b.Radius}}
		var entries []sparse.Entry
		for j := b.Start; j < b.End; j++ {
			center := b.At(j)
			entries = append(entries, sparse.Entry{Row: j, Col: j, Val: 2})
			c.Lin[j] = -2 * center
			c.Const += center * center
		}
		c.Hess = sparse.FromEntries(s.N, s.N, entries)
		s.Curved = append(s.Curved, c)
	}
	return nil
}
