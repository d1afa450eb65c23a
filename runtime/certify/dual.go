package certify

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// The lower level with g replaced by its second-order model at y is a strictly
// convex quadratic program. It is solved by the dual active-set method of Goldfarb and
// Idnani (1983): multipliers stay at least 0, the rows held stay independent, and each
// step raises the minimum, so that it ends wherever it starts from. Where more rows are
// tight than y has entries, as in a network whose nodes have all their arcs at bounds,
// corrections of a face by signs alone go in a circle; this exchanges rows instead.

// component is a part of y that neither g nor the rows mix with others.
type component struct {
	entries []int
	rows    []int // those that involve its entries
}

var errNoAnswer = errors.New("no y satisfies the rows of the lower level")

// model is the quadratic program at (x, y) over one component.
type model struct {
	d           *deriver
	h           *hessian
	k           int // the component
	c           *component
	x           []float64
	y           []float64 // len Dy; the component's entries are moved
	base        []float64 // where the model was taken
	grad        []float64 // grad_y g there
	held        []int     // rows held, ascending and independent
	multipliers []float64 // their multipliers
	on          componentSystem
}

// system is that of the given rows.
func (m *model) system(rows []int) componentSystem {
	return must.Get(m.h.componentSystem(m.k, rows))
}

// step is the way of the component's entries, and of minus the multipliers, that a force and gaps of the rows held ask for.
func (m *model) step(force, gaps []float64) (u, v []float64) {
	u, v, err := m.on.solve(force, gaps, true)
	must.Do(err)
	return u, v
}

// hold solves the model on the given rows.
func (m *model) hold(rows []int) {
	m.on = m.system(rows)
	m.held = m.on.rows()
	gaps := each.Of(m.held, func(i int) float64 { return m.d.residual(i, m.x, m.base) })
	u, v := m.step(scaled(picked(m.grad, m.c.entries), -1), gaps)
	for r, j := range m.c.entries {
		m.y[j] = m.base[j] + u[r]
	}
	m.multipliers = scaled(v, -1)
}

// begin holds those of the given rows, and all equality rows, whose multipliers have the right sign.
func (m *model) begin(rows []int) {
	for {
		m.hold(rows)
		rows = nil
		for k, i := range m.held {
			// A multiplier has the wrong sign by more than rounding.
			if wrong := m.multipliers[k]*m.on.give(k) < -tolerance.Rounded*m.d.s.rows[i]; !wrong || m.d.p.Rows.Kind[i] == problem.Equal {
				rows = append(rows, i)
			}
		}
		if len(rows) == len(m.held) {
			return
		}
	}
}

// worst is the row violated most, by more than rounding, and which way; -1 where
// there is none.
func (m *model) worst() (row int, sign float64) {
	row, sign = -1, 1
	most := 1.0
	for _, i := range m.c.rows {
		if _, in := slices.BinarySearch(m.held, i); in {
			continue
		}
		h := m.d.residual(i, m.x, m.y)
		way := 1.0
		if m.d.p.Rows.Kind[i] == problem.Equal && h < 0 {
			h, way = -h, -1
		}
		if h /= tolerance.Rounded * m.d.s.rows[i]; h > most {
			most, row, sign = h, i, way
		}
	}
	return row, sign
}

// add makes row p hold: its multiplier is raised, and rows that lose theirs on the way
// are let go.
func (m *model) add(p int, sign float64) {
	row := make([]float64, m.d.p.Dy)
	m.d.p.Rows.B.AddRow(row, p, sign)
	normal := picked(row, m.c.entries)
	alone := m.system([]int{p})
	if len(alone.rows()) == 0 {
		must.Do(errFace)
	}
	whole := alone.give(0)
	raised := 0.0
	for range len(m.c.rows) + 1 {
		u, v := m.step(normal, make([]float64, len(m.held)))
		full, slope := math.Inf(1), floats.Dot(normal, u)
		if slope > tolerance.Rounded*whole {
			full = math.Max(0, sign*m.d.residual(p, m.x, m.y)) / slope
		}
		step, drop := full, -1
		top := maxAbs(v)
		for k, i := range m.held {
			if m.d.p.Rows.Kind[i] == problem.AtMost && v[k] > tolerance.Rounded*top {
				if t := math.Max(0, m.multipliers[k]) / v[k]; t < step {
					step, drop = t, k
				}
			}
		}
		if math.IsInf(step, 1) {
			must.Do(errNoAnswer)
		}
		if !math.IsInf(full, 1) {
			for r, j := range m.c.entries {
				m.y[j] += step * u[r]
			}
		}
		for k := range m.multipliers {
			m.multipliers[k] -= step * v[k]
		}
		raised += step
		next, multipliers := slices.Clone(m.held), m.multipliers
		if drop < 0 {
			at, _ := slices.BinarySearch(next, p)
			next, multipliers = slices.Insert(next, at, p), slices.Insert(multipliers, at, sign*raised)
		} else {
			next, multipliers = slices.Delete(next, drop, drop+1), slices.Delete(multipliers, drop, drop+1)
		}
		m.on = m.system(next)
		if drop < 0 && len(m.on.rows()) != len(next) { // dependent to the accuracy of the system
			must.Do(errFace)
		}
		if m.held, m.multipliers = m.on.rows(), multipliers; drop < 0 {
			return
		}
	}
	must.Do(errNoAnswer)
}

// solve is the face of the model's minimum, from the rows given.
func (m *model) solve(rows []int) {
	m.begin(rows)
	// Each step raises the minimum; a start that is near takes a few.
	for range 50 + 10*len(m.c.rows) {
		p, sign := m.worst()
		if p < 0 {
			return
		}
		m.add(p, sign)
	}
	must.Be(false, "the lower level was not solved in the steps that a start near by takes")
}

// dual finds the face of y*(x) from y and a face, by quadratic models of g; where g is
// one, the first says all.
func (d *deriver) dual(x, y []float64, face []int) (at *derived, err error) {
	defer must.Catch(&err)
	y = slices.Clone(y)
	endless := map[string]bool{} // faces on which Newton's method did not come to an end
	for range tolerance.Steps {
		h := must.Get(d.curvature(x, y, true))
		if !h.direct() {
			return nil, errProducts
		}
		base, grad := slices.Clone(y), gradY(d.g, x, y)
		in := set(face)
		var next []int
		for k := range h.comps {
			c := &h.comps[k]
			rows := slices.DeleteFunc(slices.Clone(c.rows), func(i int) bool { return !in[i] && d.p.Rows.Kind[i] != problem.Equal })
			m := &model{d: d, h: h, k: k, c: c, x: x, y: y, base: base, grad: grad}
			m.solve(rows)
			next = append(next, m.held...)
		}
		// These rows alone: which of more that depend on each other are held says how
		// the multipliers divide among them.
		slices.Sort(next)
		face = next
		at, err := d.onFace(x, y, face)
		if key := fmt.Sprint(face); err != nil {
			if d.p.Facts.QuadraticInY || endless[key] {
				return nil, err
			}
			endless[key] = true
			continue // the next model, at the minimum of this one
		}
		if !d.correct(map[int]bool{}, at, d.off(at, tolerance.Target), false) {
			return at, nil
		}
		if d.p.Facts.QuadraticInY {
			return nil, errors.New("no face that solves the lower level was found")
		}
		copy(y, at.y)
	}
	return nil, errors.New("the models of the lower level did not come to an end")
}
