package certify

import (
	"math"
	"math/rand/v2"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// scales are the sizes that tolerances are relative to. All are measured on the
// problem itself, around the point of the document, so that a problem in other
// units is judged alike; no constant here has a unit.
type scales struct {
	width    []float64 // of each entry of x: half its interval, or the size of its values
	x        float64   // the largest of them
	y        float64   // size of the entries of y, or how far they move as x moves by its width
	hidden   float64   // what the rounding of its forces hides of y, where that is more than y tells (lengthen); else 0
	response float64   // how far y moves as x moves by x
	force    float64   // size of the terms of grad_y g
	gradient float64   // size of the terms of grad F over X
	local    float64   // the same at the point itself, told from it and half way to 0: what a claim about the gradient there is relative to, however wide X is
	value    float64   // size of the terms of f
	rows     []float64 // of each row's terms A x, B y and b
	normB    []float64 // 2-norm of each row of B
	stiff    float64   // typical curvature of g in y
	unknown  bool      // response is by curvature alone, and far more than y is large, though rows hold y
}

// probes is how many points of X the functions are looked at. Sizes, not
// bounds, are wanted: a few say as much as many.
const probes = 3

// shares of the way to a probe at which it is looked at, and the size at its end
// is told from what has changed by then. For what is linear in the way, as the
// gradient of a quadratic, all say the same. Where a function grows as exp does, its
// values far off say nothing of its terms at the point; where it is flat at the point
// alone, nor do those near by: the middle one of the three counts.
var shares = [...]float64{1, 0x1p-6, 0x1p-12}

// typical is the size at the end of a way, by its change up to a share of it: the
// median, of those that are finite.
func typical(change func(share float64) float64) float64 {
	sizes := each.Of(shares[:], func(t float64) float64 { return math.Abs(change(t)) / t })
	sizes = slices.DeleteFunc(sizes, func(c float64) bool { return !isNumber(c) })
	if len(sizes) == 0 {
		return 0
	}
	slices.Sort(sizes)
	return sizes[(len(sizes)-1)/2]
}

// measure finds the scales around (x, y, lambda). Values that are not finite,
// outside the domain of a function, are left out. y does not move further than most as
// x moves by its width, if its rows do not move it: +Inf where that is not known.
func measure(p *problem.Problem, f, g problem.Function, x, y, lambda []float64, most float64) *scales {
	s := &scales{width: widths(p, x), rows: make([]float64, p.Rows.Len())}
	s.normB = each.Below(p.Rows.Len(), func(i int) float64 { _, vals := p.Rows.B.Row(i); return norm(vals) })
	s.x = orOne(maxAbs(s.width))
	rng := rand.New(rand.NewPCG(1, uint64(p.Dx)))
	points := each.Below(probes, func(int) []float64 { return s.probe(p, x, rng) })
	fx, fy := make([]float64, p.Dx), make([]float64, p.AnswerLen())
	grad := gradY(g, x, y)
	s.force = finite(maxAbs(grad))

	// How far y moves: by the change of its forces over the curvature, or as the
	// rows move that hold it.
	force := make([]float64, p.Dy)
	p.Rows.B.AddMulVecT(force, 1, lambda)
	s.force = math.Max(s.force, finite(maxAbs(force)))
	moved := 0.0
	for _, z := range points {
		moved = math.Max(moved, typical(func(t float64) float64 { return maxAbs(minus(gradY(g, between(x, z, t), y), grad)) }))
		for i, n := range s.normB {
			if n > 0 {
				s.response = math.Max(s.response, math.Abs(p.Rows.A.RowDot(i, z)-p.Rows.A.RowDot(i, x))/n)
			}
		}
	}
	s.force = math.Max(s.force, moved)
	if way := reach(p, g, x, y, grad, moved, rng); way > 0 {
		byRows := s.response
		lo, hi := boundsOfY(p, x)
		room := slices.Max(append(minus(hi, lo), 0)) // how far an entry of y can move between its bounds at x
		s.response = math.Max(byRows, math.Min(math.Min(way, most), byRows+room))
		s.unknown = byRows < s.response && maxAbs(s.normB) > 0 && s.response > tolerance.Hiding*math.Max(byRows, maxAbs(y))
		s.stiff = moved / way
	} else if way := reach(p, g, x, y, grad, s.force, rng); way > 0 {
		s.stiff = s.force / way
	}
	s.sizeOfY(p, x, y, lambda)
	s.force = orOne(math.Max(s.force, math.Min(s.stiff*s.y, balance(g, x, y, grad))))
	for i := range s.rows {
		s.rows[i] = s.inX(p, i, x) + s.normB[i]*s.y
	}

	// Gradients of f on the way to the probes, with y moved as well: at an optimum all of
	// them may vanish where the point itself is.
	valueAt := func(x, y []float64) float64 { return f.ValueGrad(fx, fy, x, p.Answer(y, lambda)) }
	terms := func(fx, fy []float64) float64 {
		return norm(fx) + norm(fy[:p.Dy])*s.response/s.x + norm(fy[p.Dy:p.Dy+len(p.Duals)])*maxAbs(lambda)/s.x
	}
	value := valueAt(x, y)
	s.gradient, s.value = finite(terms(fx, fy)), finite(math.Abs(value))
	fx0, fy0 := slices.Clone(fx), slices.Clone(fy)
	for k := range signings {
		half := halfWay(slices.Concat(x, y, lambda), k)
		f.ValueGrad(fx, fy, half[:p.Dx], p.Answer(half[p.Dx:p.Dx+p.Dy], half[p.Dx+p.Dy:]))
		s.local = math.Max(s.local, s.gradient+finite(2*terms(minus(fx, fx0), minus(fy, fy0))))
	}
	off := func(by float64) []float64 {
		return each.Of(y, func(v float64) float64 { return v + by*(2*rng.Float64()-1) })
	}
	for _, z := range points {
		end := off(s.response)
		of := map[float64][2]float64{}
		for _, t := range shares {
			v := valueAt(between(x, z, t), between(y, end, t))
			of[t] = [2]float64{terms(minus(fx, fx0), minus(fy, fy0)), v - value}
		}
		for k, size := range []*float64{&s.gradient, &s.value} {
			*size = math.Max(*size, typical(func(t float64) float64 { return of[t][k] }))
		}
	}
	if s.gradient == 0 {
		// Nothing moves y: a gradient of F would have the size that y's moving by its own size would give it, where
		// it is and, as at the least of f in y, where it moves to.
		for _, y := range [][]float64{y, off(s.y)} {
			f.ValueGrad(fx, fy, x, p.Answer(y, lambda))
			s.gradient = math.Max(s.gradient, finite(norm(fy)*s.y/s.x))
		}
	}
	if s.local = math.Min(s.local, s.gradient); s.local == 0 {
		s.local = s.gradient
	}
	s.value = math.Max(s.value, s.gradient*s.x)
	return s
}

// inX are the terms of row i of x over X, and its constant.
func (s *scales) inX(p *problem.Problem, i int, x []float64) float64 {
	size := math.Abs(p.Rows.Rhs[i])
	for j, v := range p.Rows.A.Entries(i) {
		size += math.Abs(v) * math.Max(math.Abs(x[j]), s.width[j])
	}
	return size
}

// way is how far y*(x) moves as x moves by its width: the most that is found where a run
// starts and at a few points of X, or, where y*(x) is out of reach from here, at the nearest
// halving of the way there, and no less than y is large. A follower of little curvature, as
// one with ties, is moved by its rows from vertex to vertex and no further. 0 where no such
// point is in reach, or y is 0 there and here.
func (d *deriver) way(x, y []float64, active []int) float64 {
	most, reached := 0.0, false
	for _, z := range d.around(x) {
		for t := 1.0; t >= shares[len(shares)-1]; t /= 2 {
			at, err := d.lower(between(x, z, t), y, active)
			if err != nil {
				continue
			}
			most, reached = math.Max(most, finite(maxAbs(minus(at.y, y))/t)), true
			break
		}
	}
	d.near = nil // the curvature is to be that at x
	if most = math.Max(most, maxAbs(y)); !reached || most <= tolerance.SumRounding*d.s.response {
		return 0 // what is left of a y of 0 is no way
	}
	return most
}

// balance is the size of the terms that balance in grad_y g: what it changes by as each entry of y is changed by
// its own size, either way. Curvature by the size of y counts that of an entry at 1e-200, beside the edge of
// an entropy, for all; this, that of an exponential by the exponent. Neither is less than the terms.
func balance(g problem.Function, x, y, grad []float64) float64 {
	rng := rand.New(rand.NewPCG(2, uint64(len(y))))
	size := 0.0
	for range probes {
		sign := each.Of(y, func(float64) float64 { return float64(2*rng.IntN(2) - 1) })
		size = math.Max(size, typical(func(t float64) float64 {
			z := each.Below(len(y), func(j int) float64 { return y[j] * (1 + t*sign[j]) })
			return maxAbs(minus(gradY(g, x, z), grad))
		}))
	}
	return size
}

// sizeOfY sets y. What rows that hold y make of it is a difference of terms: up to their
// rounding a y says nothing of its own size, which is then that of the terms; and no y
// that is more has a size of which the rounding is not within the tolerances.
func (s *scales) sizeOfY(p *problem.Problem, x, y, lambda []float64) {
	s.y = math.Max(maxAbs(y), s.response)
	held, first := 0.0, 0.0
	for i, n := range s.normB {
		if n == 0 {
			continue
		}
		if first == 0 {
			first = math.Abs(p.Rows.Rhs[i]) / n
		}
		if p.Rows.Kind[i] != problem.Equal && lambda[i] == 0 {
			continue
		}
		terms := p.Rows.A.AddTerms(math.Abs(p.Rows.Rhs[i]), i, x)
		held = math.Max(held, terms/n)
	}
	switch {
	case s.y > tolerance.SumRounding*held:
		s.y = math.Max(s.y, tolerance.SumRounding*held/tolerance.Target)
	case held > 0:
		s.y = held
	default:
		s.y = orOne(first)
	}
}

// lengthen makes y no smaller than what the rounding of its forces, over the curvature of an entry,
// says nothing of: differences of the size that y had before were lost there.
func (s *scales) lengthen(curvature float64) {
	length := tolerance.SumRounding * s.force / curvature / tolerance.Target
	if !(length > s.y) || math.IsInf(length, 1) {
		return
	}
	for i, n := range s.normB {
		s.rows[i] += n * (length - s.y)
	}
	s.y, s.hidden = length, tolerance.Target*length
}

// finite is a size, and 0 for what is none.
func finite(v float64) float64 {
	if !isNumber(v) {
		return 0
	}
	return v
}

// orOne is a size, and 1 for a problem that has nothing to measure it by.
func orOne(v float64) float64 {
	if !(v > 0) {
		return 1
	}
	return v
}
