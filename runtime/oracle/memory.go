package oracle

import (
	"bytes"
	"encoding/gob"
	"slices"

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
	return &hyperMemory{Recent: slices.Clone(h.recent), Learned: h.learned, Projector: h.projector.State(), Terms: h.terms}
}

// EncodeSnapshot turns a Snapshot into bytes, without loss.
func (h *Hyper) EncodeSnapshot(snapshot any) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(snapshot.(*hyperMemory))
	return b.Bytes(), err
}

// Restore returns the Hyper to an encoded snapshot.
func (h *Hyper) Restore(encoded []byte) error {
	var m hyperMemory
	if err := gob.NewDecoder(bytes.NewReader(encoded)).Decode(&m); err != nil {
		return err
	}
	h.recent, h.learned, h.terms = m.Recent, m.Learned, m.Terms
	h.projector.Restore(m.Projector)
	return nil
}

// EncodePoint turns a point into bytes, without loss but for what its lower
// solution learned, which is part of a Snapshot.
func EncodePoint(pt *Point) ([]byte, error) {
	p := *pt
	if p.Lower != nil {
		s := *p.Lower
		s.Memory = nil
		p.Lower = &s
	}
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(&p)
	return b.Bytes(), err
}

// DecodePoint reads what EncodePoint has written.
func DecodePoint(encoded []byte) (*Point, error) {
	p := &Point{}
	return p, gob.NewDecoder(bytes.NewReader(encoded)).Decode(p)
}
