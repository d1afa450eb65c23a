package outer

import (
	"context"
	"errors"
	"math"
	"slices"

	"bilevelc/runtime/central"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// smoothDescent minimizes F_mu over X from a point by Newton's method with a trust
// region. The model of a step has the second derivative of F_mu (central.Second), in
// products with vectors alone; it is minimized over X and the region in rounds, each of
// conjugate gradients on the face of X that the point is on and that the model's gradient
// holds it to, until the model curves down or the region ends (Steihaug 1983), and of a
// search along the projection of what they give (Moré and Toraldo 1991; Lin and Moré 1999).
type smoothDescent struct {
	run    *Run
	path   *central.Path
	mu     float64
	radius float64 // of the trust region; it is taken over from the stage before
	gain   float64 // a decrease of F_mu that does not matter

	known  *float64 // F where the descent begins, from which gain then follows; nil: gain is all
	whole  bool     // the first second derivative is made a matrix at once
	steps  int      // taken or refused
	metric *metric  // nil before there is one

	set *problem.Set
	at  *bend // the second derivative where the descent stands; nil: not yet
}

// bend is the second derivative of F_mu at a point. Products are kept: after a step that is
// refused conjugate gradients go the same way again, up to the smaller region. It is made a
// matrix, by as many products as x has entries, once that many have been made: whoever pays for
// a thing only when what it would have saved has come to its price pays at most twice what is
// least.
type bend struct {
	second *central.Second
	n      int
	made   []product
	full   []float64 // n x n; nil: not yet
}

// product is H v.
type product struct{ v, hv []float64 }

// Apply sets dst to the product with v.
func (h *bend) Apply(dst, v []float64) {
	if h.full == nil {
		for _, p := range h.made {
			if slices.Equal(p.v, v) {
				copy(dst, p.hv)
				return
			}
		}
		if len(h.made) < h.n {
			h.second.Apply(dst, v)
			h.made = append(h.made, product{clone(v), clone(dst)})
			return
		}
		h.form()
	}
	for i := range dst {
		dst[i] = dot(h.full[i*h.n:(i+1)*h.n], v)
	}
}

func (h *bend) form() {
	h.full, h.made = make([]float64, h.n*h.n), nil
	e := make([]float64, h.n)
	for j := range e {
		e[j] = 1
		h.second.Apply(h.full[j*h.n:(j+1)*h.n], e)
		e[j] = 0
	}
	for i := range h.n {
		for j := range i {
			v := (h.full[i*h.n+j] + h.full[j*h.n+i]) / 2
			h.full[i*h.n+j], h.full[j*h.n+i] = v, v
		}
	}
}

// The constants of the trust region (Nocedal and Wright, algorithm 4.1; Lin and Moré).
const (
	smoothAccept = 1e-4 // of the predicted decrease that a step must attain
	smoothPoor   = 0.25 // below it the region shrinks
	smoothGood   = 0.75 // above it the region grows, where the step has reached its edge
	smoothRounds = 30   // of one model
	// A model is minimized until its gradient on the face is this part of that of F_mu,
	// or the square root of what is left of the first of the stage (Eisenstat and Walker).
	smoothForcing = 0.1
)

// minimize returns where descent from x has come to, or from ahead, where that is not nil
// and F_mu is lower there; nil where the path was not found at x itself.
func (d *smoothDescent) minimize(ctx context.Context, ahead, x []float64) (*Sample, error) {
	d.set = d.run.h.(pathful).Problem().X
	c, err := d.evaluate(ctx, x)
	if err != nil || c == nil {
		return nil, err
	}
	if ahead != nil {
		if err := d.run.projector.ProjectUpper(ahead, ahead); err != nil {
			return nil, err
		}
		next, err := d.evaluate(ctx, ahead)
		if err != nil {
			return nil, err
		}
		if next == nil {
			if next, err = d.evaluate(ctx, plus(x, 0.5, minus(ahead, x))); err != nil {
				return nil, err
			}
		}
		if next != nil && next.F < c.F {
			c = next
		} else if c, err = d.evaluate(ctx, x); err != nil || c == nil {
			return nil, err
		}
	}
	if d.known != nil {
		d.gain = math.Max(d.gain, approachTolerance*math.Abs(c.F-*d.known))
	}
	first := 0.0
	d.at = nil
	refused := 0
	for range approachSteps {
		d.steps++
		held := d.faceAt(c.X, c.G)
		rest := clone(c.G)
		held.project(rest)
		slope := norm(rest)
		if first == 0 {
			first = slope
		}
		if slope == 0 {
			break
		}
		if d.at == nil {
			d.at = &bend{second: d.path.Second(c.X), n: len(c.X)}
			if d.whole && d.metric == nil {
				d.at.form()
				d.formed(d.at)
			}
		}
		step, decrease, edge, err := d.model(ctx, d.at, c, math.Min(smoothForcing, math.Sqrt(slope/first)))
		if err != nil {
			return nil, err
		}
		length := norm(step)
		if !(decrease > d.gain) && !edge || length <= 1e-15*d.run.size(c.X) {
			break
		}
		next, err := d.evaluate(ctx, plus(c.X, 1, step))
		if err != nil {
			return nil, err
		}
		ratio := math.Inf(-1)
		if next != nil {
			ratio = (c.F - next.F) / decrease
		}
		switch {
		case !(ratio >= smoothPoor):
			d.radius = 0.25 * length
		case ratio > smoothGood && edge:
			d.radius *= 2.5
		}
		if next != nil && ratio > smoothAccept {
			c, refused, d.at = next, 0, nil
			continue
		}
		if decrease <= d.gain {
			break
		}
		if refused++; refused > mostRefused {
			break
		}
		// Products need the path at c, and so does the next trial.
		if !d.path.Return(c.X) {
			if c, err = d.evaluate(ctx, c.X); err != nil || c == nil {
				return nil, err
			}
			d.at = nil
		}
	}
	// The point of the path is that of the last trial.
	return d.evaluate(ctx, c.X)
}

// mostRefused is how many steps in a row may be refused: the region is then a part of
// 1e-12 of what it was.
const mostRefused = 20

// evaluate returns F_mu and its gradient at x; nil where the path was not found.
func (d *smoothDescent) evaluate(ctx context.Context, x []float64) (*Sample, error) {
	if err := d.run.check(ctx); err != nil {
		return nil, err
	}
	d.run.Evaluations++
	s := &Sample{X: clone(x), G: make([]float64, len(x))}
	var err error
	if s.F, err = d.path.Evaluate(ctx, s.G, x, d.mu); err != nil {
		if errors.Is(err, central.ErrOff) {
			return nil, nil
		}
		return nil, err
	}
	return s, nil
}

// model minimizes g's + s'Hs/2 over x + s in X with |s| <= radius, until its projected
// gradient is a part of that at s = 0. It returns s, the decrease that the model
// predicts, and whether the region ended it.
func (d *smoothDescent) model(ctx context.Context, h *bend, c *Sample, part float64) (s []float64, decrease float64, edge bool, err error) {
	n := len(c.X)
	s = make([]float64, n)
	g := clone(c.G) // of the model at s
	start, value := -1.0, 0.0
	x := clone(c.X)
	for range smoothRounds {
		face := d.faceAt(x, g)
		rest := clone(g)
		face.project(rest)
		if start < 0 {
			start = norm(rest)
		}
		if norm(rest) <= part*start {
			break
		}
		w, hw, err := d.newton(ctx, h, face, rest, s, part*start)
		at := false
		if w == nil && err == nil {
			w, hw, at, err = d.conjugate(ctx, h, face, rest, s, part*start)
		}
		d.formed(h)
		if err != nil {
			return nil, 0, false, err
		}
		all := norm(rest)
		for w != nil && d.hinder(face, x, w) {
			// The curvature turns the step across what the gradient leaves. Where that makes
			// up most of the gradient it is left first (Dostál 1997).
			inner := clone(g)
			if face.project(inner); norm(inner) < all/2 {
				w = nil
				break
			}
			if w, hw, at, err = d.conjugate(ctx, h, face, inner, s, part*start); err != nil {
				return nil, 0, false, err
			}
		}
		if w == nil {
			w, hw, at = d.steepest(h, rest, s)
		}
		// Along the projection of x + s + t w.
		moved := false
		for t := 1.0; t > 1e-10; t /= 4 {
			ahead := plus(x, t, w)
			z := clone(ahead)
			if err := d.run.projector.ProjectUpper(z, z); err != nil {
				return nil, 0, false, err
			}
			u, hu := minus(z, x), make([]float64, n)
			if slices.Equal(z, ahead) {
				u, hu = plus(hu, t, w), plus(hu, t, hw)
			} else {
				h.Apply(hu, u)
			}
			change := dot(g, u) + dot(u, hu)/2
			if change <= 1e-2*dot(g, u) && change < 0 {
				value += change
				for j := range g {
					g[j] += hu[j]
				}
				x = z
				s = minus(x, c.X)
				moved = true
				edge = at && t == 1
				break
			}
		}
		if !moved || edge {
			break
		}
		if norm(s) >= 0.99*d.radius {
			edge = true
			break
		}
	}
	return s, -value, edge, nil
}

// steepest is the step from s along -gradient to the least value of the model, or to the
// edge of the region, of which it tells, and its product with the curvature.
func (d *smoothDescent) steepest(h *bend, gradient, s []float64) (w, hw []float64, edge bool) {
	hg := make([]float64, len(s))
	h.Apply(hg, gradient)
	a, b, q := dot(gradient, gradient), -dot(s, gradient), dot(s, s)-d.radius*d.radius
	room := (-b + math.Sqrt(math.Max(0, b*b-a*q))) / a
	t := room
	if bend := dot(gradient, hg); bend > 0 {
		t = math.Min(t, a/bend)
	}
	zero := make([]float64, len(s))
	return plus(zero, -t, gradient), plus(zero, -t, hg), t == room
}

// conjugate returns a step w on the face along which the model falls from s, its product with
// the curvature, and whether |s + w| has come to the radius; nil for none.
func (d *smoothDescent) conjugate(ctx context.Context, h *bend, f *face, gradient, s []float64, enough float64) (w, hw []float64, edge bool, err error) {
	n := len(s)
	w, hw = make([]float64, n), make([]float64, n)
	cg := linalg.Conjugate{R: plus(w, -1, gradient), P: make([]float64, n)}
	cg.Start()
	p := cg.P
	free := n - f.rows.Size()
	for _, fixed := range f.fixed {
		if fixed {
			free--
		}
	}
	at := clone(s) // s + w
	hp, whole := make([]float64, n), make([]float64, n)
	for range 2 * max(1, free) {
		if ctx.Err() != nil {
			return nil, nil, false, context.Cause(ctx)
		}
		h.Apply(whole, p)
		copy(hp, whole)
		f.project(hp)
		curvature := dot(p, hp)
		t := math.Inf(1)
		if curvature > 0 {
			t = cg.RR / curvature
		}
		// To the edge of the region.
		a, b, q := dot(p, p), dot(at, p), dot(at, at)-d.radius*d.radius
		if !(a > 0) || math.IsNaN(curvature) {
			break
		}
		room := (-b + math.Sqrt(math.Max(0, b*b-a*q))) / a
		if !(t < room) {
			return plus(w, room, p), plus(hw, room, whole), true, nil
		}
		w, hw, at = plus(w, t, p), plus(hw, t, whole), plus(at, t, p)
		linalg.Axpy(cg.R, -t, hp)
		if cg.Turn(); math.Sqrt(cg.RR) <= enough {
			break
		}
	}
	if norm(w) == 0 {
		return nil, nil, false, nil
	}
	return w, hw, false, nil
}

// face is the part of X's boundary that a point is held to.
type face struct {
	fixed  []bool    // entries at a bound, or held at a kink of a row of X
	planes []plane   // rows of X that the point is on
	rows   linalg.QR // of those that are held, on the other entries
}

// plane is a row of X that a point is on; where the row bends, what it is there.
type plane struct {
	normal []float64
	size   float64 // of normal
	held   bool
}

// hold is how near a bound or row counts as on it, relative to the size of x: what
// projections round to.
const hold = 1e-12

// faceAt finds the face on which a step down a gradient stays: what holds x, and where a
// short such step is projected to.
func (d *smoothDescent) faceAt(x, g []float64) *face {
	near := hold * d.run.size(x)
	f := &face{fixed: make([]bool, len(x))}
	z := plus(x, -math.Sqrt(hold)*d.run.size(x)/math.Max(norm(g), math.SmallestNonzeroFloat64), g)
	if d.run.projector.ProjectUpper(z, z) != nil {
		copy(z, x) // all that holds x holds the step
	}
	if d.set != nil && d.set.Lo != nil {
		for j, v := range x {
			f.fixed[j] = math.Max(v, z[j]) <= d.set.Lo[j]+near || math.Min(v, z[j]) >= d.set.Hi[j]-near
		}
	}
	f.planes = d.planes(x, z, near)
	d.kinks(f, x, z, near)
	d.span(f)
	return f
}

// kinks fixes the entries at which a row of X that holds x has a kink there and at z: the row
// keeps them where they are, as the budget of a sum of absolute values does with those that are 0.
func (d *smoothDescent) kinks(f *face, x, z []float64, near float64) {
	if d.set == nil {
		return
	}
	e := d.set.Extended
	for i := range e.Len() {
		if e.Of[i] >= 0 {
			continue
		}
		if normal, value := e.Cut(i, x); -value > near*norm(normal) {
			continue
		}
		low, high, ok := e.Ends(i, x, near)
		if !ok {
			continue
		}
		lowest, highest, _ := e.Ends(i, z, near)
		for j := range f.fixed {
			f.fixed[j] = f.fixed[j] || low[j] < high[j] && lowest[j] < highest[j]
		}
	}
}

// planes are the rows of X that x is on, held where z is on them, too.
func (d *smoothDescent) planes(x, z []float64, near float64) []plane {
	var out []plane
	if d.set == nil {
		return nil
	}
	add := func(normal []float64, slack float64, equal bool) {
		if size := norm(normal); slack <= near*size {
			out = append(out, plane{normal, size, equal || slack-dot(normal, z)+dot(normal, x) <= near*size})
		}
	}
	for i, kind := range d.set.Kind {
		normal := make([]float64, len(x))
		d.set.E.AddRow(normal, i, 1)
		add(normal, d.set.Rhs[i]-dot(normal, x), kind == problem.Equal)
	}
	for i := range d.set.Extended.Len() {
		if d.set.Extended.Of[i] < 0 {
			normal, value := d.set.Extended.Cut(i, x)
			add(normal, -value, false)
		}
	}
	return out
}

// hinder adds to the face what holds x and a step would cross, and reports whether there is
// any.
func (d *smoothDescent) hinder(f *face, x, w []float64) bool {
	near, any := hold*d.run.size(x), false
	if d.set != nil && d.set.Lo != nil {
		for j, v := range x {
			if !f.fixed[j] && (v <= d.set.Lo[j]+near && w[j] < 0 || v >= d.set.Hi[j]-near && w[j] > 0) {
				f.fixed[j], any = true, true
			}
		}
	}
	for i := range f.planes {
		if p := &f.planes[i]; !p.held && dot(p.normal, w) > hold*p.size*norm(w) {
			p.held, any = true, true
		}
	}
	if any {
		d.span(f)
	}
	return any
}

// span makes the basis of the rows that are held, on the entries that are not fixed.
func (d *smoothDescent) span(f *face) {
	n := len(f.fixed)
	f.rows.Reset(n)
	coef := make([]float64, min(n, len(f.planes)))
	for _, p := range f.planes {
		if !p.held {
			continue
		}
		row := clone(p.normal)
		for j, fixed := range f.fixed {
			if fixed {
				row[j] = 0
			}
		}
		if rest := f.rows.Split(row, coef, row); rest > 1e-10*p.size {
			f.rows.Push(coef, row, rest)
		}
	}
}

// project takes out of v what is normal to the face.
func (f *face) project(v []float64) {
	for j, fixed := range f.fixed {
		if fixed {
			v[j] = 0
		}
	}
	f.rows.Split(v, nil, v)
}
