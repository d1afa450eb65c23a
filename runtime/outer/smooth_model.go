package outer

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// model minimizes g's + s'Hs/2 over x + s in X with |s| <= radius, until its projected
// gradient is a part of that at s = 0. It returns s, the decrease that the model
// predicts, and whether the region ended it.
func (d *smoothDescent) model(ctx context.Context, h *hessian, c *Sample, part float64) (s []float64, decrease float64, edge bool, err error) {
	n := len(c.X)
	s = make([]float64, n)
	g := linalg.Clone(c.G) // of the model at s
	start, value := -1.0, 0.0
	x := linalg.Clone(c.X)
	for range tolerance.Steps {
		face := d.faceAt(x, g)
		rest := linalg.Clone(g)
		face.project(rest)
		if start < 0 {
			start = linalg.Norm(rest)
		}
		if linalg.Norm(rest) <= part*start {
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
		all := linalg.Norm(rest)
		for w != nil && d.hinder(face, x, w) {
			// The curvature turns the step across what the gradient leaves. Where that makes
			// up most of the gradient it is left first (Dostál 1997).
			inner := linalg.Clone(g)
			if face.project(inner); linalg.Norm(inner) < all/2 {
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
			ahead := linalg.Plus(x, t, w)
			z := linalg.Clone(ahead)
			if err := d.run.projector.ProjectUpper(z, z); err != nil {
				return nil, 0, false, err
			}
			u, hu := linalg.Minus(z, x), make([]float64, n)
			if slices.Equal(z, ahead) {
				u, hu = linalg.Plus(hu, t, w), linalg.Plus(hu, t, hw)
			} else {
				h.Apply(hu, u)
			}
			change := linalg.Dot(g, u) + linalg.Dot(u, hu)/2
			if change <= 1e-2*linalg.Dot(g, u) && change < 0 {
				value += change
				floats.Add(g, hu)
				x = z
				s = linalg.Minus(x, c.X)
				moved = true
				edge = at && t == 1
				break
			}
		}
		if !moved || edge {
			break
		}
		if linalg.Norm(s) >= 0.99*d.radius {
			edge = true
			break
		}
	}
	return s, -value, edge, nil
}

// steepest is the step from s along -gradient to the least value of the model, or to the
// edge of the region, of which it tells, and its product with the curvature.
func (d *smoothDescent) steepest(h *hessian, gradient, s []float64) (w, hw []float64, edge bool) {
	hg := make([]float64, len(s))
	h.Apply(hg, gradient)
	zero := make([]float64, len(s))
	room := d.room(s, linalg.Plus(zero, -1, gradient))
	t := room
	if curv := linalg.Dot(gradient, hg); curv > 0 {
		t = math.Min(t, linalg.Dot(gradient, gradient)/curv)
	}
	return linalg.Plus(zero, -t, gradient), linalg.Plus(zero, -t, hg), t == room
}

// room is how many times p leads from s to the edge of the region.
func (d *smoothDescent) room(s, p []float64) float64 {
	a, b, q := linalg.Dot(p, p), linalg.Dot(s, p), linalg.Dot(s, s)-d.radius*d.radius
	return (-b + math.Sqrt(math.Max(0, b*b-a*q))) / a
}

// conjugate returns a step w on the face along which the model falls from s, its product with
// the curvature, and whether |s + w| has come to the radius; nil for none.
func (d *smoothDescent) conjugate(ctx context.Context, h *hessian, f *face, gradient, s []float64, enough float64) (w, hw []float64, edge bool, err error) {
	n := len(s)
	w, hw = make([]float64, n), make([]float64, n)
	cg := linalg.Conjugate{R: linalg.Plus(w, -1, gradient), P: make([]float64, n)}
	cg.Start()
	p := cg.P
	free := n - f.rows.Size()
	for _, fixed := range f.fixed {
		if fixed {
			free--
		}
	}
	at := linalg.Clone(s) // s + w
	hp, whole := make([]float64, n), make([]float64, n)
	for range 2 * max(1, free) {
		if ctx.Err() != nil {
			return nil, nil, false, context.Cause(ctx)
		}
		h.Apply(whole, p)
		copy(hp, whole)
		f.project(hp)
		curvature := linalg.Dot(p, hp)
		t := math.Inf(1)
		if curvature > 0 {
			t = cg.RR / curvature
		}
		// To the edge of the region.
		if !(linalg.Dot(p, p) > 0) || math.IsNaN(curvature) {
			break
		}
		room := d.room(at, p)
		if !(t < room) {
			return linalg.Plus(w, room, p), linalg.Plus(hw, room, whole), true, nil
		}
		w, hw, at = linalg.Plus(w, t, p), linalg.Plus(hw, t, whole), linalg.Plus(at, t, p)
		linalg.Axpy(cg.R, -t, hp)
		if cg.Turn(); math.Sqrt(cg.RR) <= enough {
			break
		}
	}
	if linalg.Norm(w) == 0 {
		return nil, nil, false, nil
	}
	return w, hw, false, nil
}
