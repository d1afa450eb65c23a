package problem

import "slices"

// Steep is a bound of X at which the slope of F in entry Entry of x has no end: F rises from there to the inside, or falls, by more than any multiple of the distance; in all else that it reads F is
// differentiable there. Where it rises, no multiplier of the bound is too small: the others show a point there to be stationary with that entry held. Where it falls, no point at the bound is.
type Steep struct {
	Entry        int
	Upper, Rises bool
}

// bound is that of s.
func (x *Set) bound(s Steep) float64 {
	if s.Upper {
		return x.Hi[s.Entry]
	}
	return x.Lo[s.Entry]
}

// Held are the entries of x that are at a bound from which F rises without end of its slope.
func (p *Problem) Held(x []float64) (entries []int) {
	for _, s := range p.Facts.Steep {
		if s.Rises && x[s.Entry] == p.X.bound(s) {
			entries = append(entries, s.Entry)
		}
	}
	return entries
}

// AtHeld is the problem with the entries that are held at x fixed there, in X and in what F reads; p itself where there are none.
func (p *Problem) AtHeld(x []float64) *Problem {
	held := p.Held(x)
	if len(held) == 0 {
		return p
	}
	q, set := *p, *p.X
	set.Lo, set.Hi = slices.Clone(set.Lo), slices.Clone(set.Hi)
	for _, j := range held {
		set.Lo[j], set.Hi[j] = x[j], x[j]
	}
	q.X, q.F = &set, &pinned{withoutHeld{p.F, p}, slices.Clone(x), held}
	return &q
}

// pinned is a Function of x with some entries as they are at a point.
type pinned struct {
	withoutHeld
	at      []float64
	entries []int
}

func (f *pinned) place(x []float64) []float64 {
	out := slices.Clone(x)
	for _, j := range f.entries {
		out[j] = f.at[j]
	}
	return out
}

// Value implements Function.
func (f *pinned) Value(x, y []float64) float64 { return f.withoutHeld.Value(f.place(x), y) }

// GradX implements Function.
func (f *pinned) GradX(dst, x, y []float64) { f.withoutHeld.GradX(dst, f.place(x), y) }

// GradY implements Function.
func (f *pinned) GradY(dst, x, y []float64) { f.withoutHeld.GradY(dst, f.place(x), y) }

// ValueGradY implements Function.
func (f *pinned) ValueGradY(dst, x, y []float64) float64 {
	return f.withoutHeld.ValueGradY(dst, f.place(x), y)
}

// ValueGrad implements Function.
func (f *pinned) ValueGrad(dstX, dstY, x, y []float64) float64 {
	return f.withoutHeld.ValueGrad(dstX, dstY, f.place(x), y)
}

// Clone implements Function.
func (f *pinned) Clone() Function {
	return &pinned{withoutHeld{f.Function.Clone(), f.p}, f.at, f.entries}
}

// WithoutHeld is F with slopes of 0 in the entries of x that are held at its argument.
func (p *Problem) WithoutHeld() Function {
	if !slices.ContainsFunc(p.Facts.Steep, func(s Steep) bool { return s.Rises }) {
		return p.F
	}
	return &withoutHeld{p.F, p}
}

// withoutHeld is a Function whose gradients in x have 0 in the place of slopes without end that hold x at its bounds.
type withoutHeld struct {
	Function
	p *Problem
}

func (f *withoutHeld) clear(dst, x []float64) {
	for _, j := range f.p.Held(x) {
		dst[j] = 0
	}
}

// GradX implements Function.
func (f *withoutHeld) GradX(dst, x, y []float64) {
	f.Function.GradX(dst, x, y)
	f.clear(dst, x)
}

// ValueGrad implements Function.
func (f *withoutHeld) ValueGrad(dstX, dstY, x, y []float64) float64 {
	v := f.Function.ValueGrad(dstX, dstY, x, y)
	f.clear(dstX, x)
	return v
}

// Clone implements Function.
func (f *withoutHeld) Clone() Function { return &withoutHeld{f.Function.Clone(), f.p} }
