package outer

import (
	"math"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// face is the part of X's boundary that a point is held to.
type face struct {
	fixed  []bool    // entries at a bound
	planes []plane   // rows of X that the point is on
	rows   linalg.QR // of those that are held, on the other entries
}

// plane is a row of X that a point is on; where the row is curved, what it is there.
type plane struct {
	normal []float64
	size   float64 // of normal
	held   bool
}

// faceAt finds the face on which a step down a gradient stays: what holds x, and where a
// short such step is projected to.
func (d *smoothDescent) faceAt(x, g []float64) *face {
	near := tolerance.Feasibility * d.run.Size(x)
	f := &face{fixed: make([]bool, len(x))}
	z := linalg.Plus(x, -math.Sqrt(tolerance.Feasibility)*d.run.Size(x)/math.Max(linalg.Norm(g), math.SmallestNonzeroFloat64), g)
	if d.run.projector.ProjectUpper(z, z) != nil {
		copy(z, x) // all that holds x holds the step
	}
	if d.set != nil && d.set.Lo != nil {
		for j, v := range x {
			f.fixed[j] = math.Max(v, z[j]) <= d.set.Lo[j]+near || math.Min(v, z[j]) >= d.set.Hi[j]-near
		}
	}
	f.planes = d.planes(x, z, near)
	d.span(f)
	return f
}

// planes are the rows of X that x is on, held where z is on them, too.
func (d *smoothDescent) planes(x, z []float64, near float64) []plane {
	var out []plane
	if d.set == nil {
		return nil
	}
	add := func(normal []float64, slack float64, equal bool) {
		if size := linalg.Norm(normal); slack <= near*size {
			out = append(out, plane{normal, size, equal || slack-linalg.Dot(normal, z)+linalg.Dot(normal, x) <= near*size})
		}
	}
	for i, kind := range d.set.Kind {
		normal := make([]float64, len(x))
		d.set.E.AddRow(normal, i, 1)
		add(normal, d.set.Rhs[i]-linalg.Dot(normal, x), kind == problem.Equal)
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
	near, any := tolerance.Feasibility*d.run.Size(x), false
	if d.set != nil && d.set.Lo != nil {
		for j, v := range x {
			if !f.fixed[j] && (v <= d.set.Lo[j]+near && w[j] < 0 || v >= d.set.Hi[j]-near && w[j] > 0) {
				f.fixed[j], any = true, true
			}
		}
	}
	for i := range f.planes {
		if p := &f.planes[i]; !p.held && linalg.Dot(p.normal, w) > tolerance.Feasibility*p.size*linalg.Norm(w) {
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
	for _, p := range f.planes {
		if !p.held {
			continue
		}
		row := linalg.Clone(p.normal)
		for j, fixed := range f.fixed {
			if fixed {
				row[j] = 0
			}
		}
		f.rows.Extend(row, 1e-10*p.size)
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
