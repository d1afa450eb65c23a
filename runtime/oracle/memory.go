package oracle

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"slices"

	"bilevelc/internal/must"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/qp"
)

// hyperMemory is what a Hyper remembers between calls: the warm starts,
// the products of gradients, and what the projector has learned. A Hyper restored from it, on the same problem with
// the same methods, gives the same results bit for bit, provided that the lower
// solver's results depend on its arguments alone.
type hyperMemory struct {
	Recent    []*solved
	Learned   *lower.Memory
	Projector qp.ProjectorState
	Terms     *terms
}

// Snapshot returns what the Hyper remembers, without encoding it. It shares the
// solutions, which are not changed once made.
func (h *Hyper) Snapshot() any {
	return &hyperMemory{Recent: slices.Clone(h.recent), Learned: h.learned, Projector: h.Projector().State(), Terms: h.terms}
}

// EncodeSnapshot turns a Snapshot into bytes, without loss.
func (h *Hyper) EncodeSnapshot(snapshot any) ([]byte, error) {
	m := *snapshot.(*hyperMemory)
	m.Learned = m.Learned.Written()
	return encoded(&m)
}

func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(v)
	return b.Bytes(), err
}

// Restore returns the Hyper to an encoded snapshot. One that is not of the
// problem's dimensions is refused.
func (h *Hyper) Restore(encoded []byte) error {
	var m hyperMemory
	err := gob.NewDecoder(bytes.NewReader(encoded)).Decode(&m)
	if err == nil {
		err = h.fits(&m)
	}
	if err != nil {
		return fmt.Errorf("what the lower level remembers: %w", err)
	}
	h.recent, h.learned, h.terms = m.Recent, m.Learned, m.Terms
	h.Projector().Restore(m.Projector)
	return nil
}

// fits reports what keeps a memory from being one of this problem.
func (h *Hyper) fits(m *hyperMemory) (err error) {
	defer must.Catch(&err)
	for _, r := range m.Recent {
		if r == nil || len(r.X) != h.p.Dx {
			return fmt.Errorf("a point is not of %d entries", h.p.Dx)
		}
		must.Do(h.fitsSolution(r.Sol))
	}
	must.Do(m.Learned.Fits(h.p))
	return h.Projector().Fits(m.Projector)
}

// Fits reports what keeps a point from being one of this problem.
func (h *Hyper) Fits(pt *Point) error {
	if len(pt.X) != h.p.Dx || pt.Grad != nil && len(pt.Grad) != h.p.Dx {
		return fmt.Errorf("x has %d entries, not %d", len(pt.X), h.p.Dx)
	}
	if err := Indices(h.p.FaceLen(), slices.Concat(pt.Face, pt.Undecided)); err != nil {
		return err
	}
	return h.fitsSolution(pt.Lower)
}

func (h *Hyper) fitsSolution(s *lower.Solution) error {
	if s == nil || len(s.Y) != h.p.Dy || len(s.Lambda) != h.p.Rows.Len() {
		return fmt.Errorf("a lower solution is not of %d entries of y and %d rows", h.p.Dy, h.p.Rows.Len())
	}
	return Indices(h.p.Rows.Len(), slices.Concat(s.Active, s.Weak, s.Dependent))
}

// Indices reports the first of some indices that is not of n rows.
func Indices(n int, rows []int) error {
	for _, i := range rows {
		if i < 0 || i >= n {
			return fmt.Errorf("there is no row %d", i+1)
		}
	}
	return nil
}

// Written is the point as a checkpoint has it: without what its lower solution learned, which is part of a Snapshot.
func (pt *Point) Written() *Point {
	p := *pt
	if p.Lower != nil {
		s := *p.Lower
		s.Memory = nil
		p.Lower = &s
	}
	return &p
}

// EncodePoint turns a point into bytes, as Written has it.
func EncodePoint(pt *Point) ([]byte, error) {
	return encoded(pt.Written())
}

// DecodePoint reads what EncodePoint has written.
func DecodePoint(encoded []byte) (*Point, error) {
	p := &Point{}
	err := gob.NewDecoder(bytes.NewReader(encoded)).Decode(p)
	if p.Face == nil {
		p.Face = []int{} // which the encoding leaves out: a face without rows, not none
	}
	return p, err
}
