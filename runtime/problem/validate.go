package problem

import (
	"fmt"
	"math"

	"bilevelc/internal/sparse"
)

// Validate checks that lengths and shapes agree, that the numbers are finite
// and that bounds and indices are in order. Problems that come out of the
// compiler pass; it is for those built by hand.
func (p *Problem) Validate() error {
	switch {
	case p.Dx < 0 || p.Dy < 0:
		return fmt.Errorf("problem %s: negative dimension", p.Name)
	case p.F == nil || p.G == nil:
		return fmt.Errorf("problem %s: f or g is missing", p.Name)
	case p.Rows == nil || p.X == nil:
		return fmt.Errorf("problem %s: rows or X is missing", p.Name)
	case p.Start != nil && len(p.Start) != p.Dx:
		return fmt.Errorf("problem %s: start has %d entries, x has %d", p.Name, len(p.Start), p.Dx)
	}
	if err := finite("start", p.Start); err != nil {
		return err
	}
	if err := p.Rows.validate(p.Dx, p.Dy); err != nil {
		return err
	}
	if err := p.X.validate(p.Dx); err != nil {
		return err
	}
	if len(p.Parts) > 0 && len(p.Parts) != len(p.Blocks) {
		return fmt.Errorf("problem %s: %d parts of g for %d blocks", p.Name, len(p.Parts), len(p.Blocks))
	}
	return validateBlocks(p.Blocks, p.Dy)
}

func (r *Rows) validate(dx, dy int) error {
	m := r.Len()
	if len(r.Rhs) != m || (r.Name != nil && len(r.Name) != m) {
		return fmt.Errorf("rows: %d kinds, %d right-hand sides, %d names", m, len(r.Rhs), len(r.Name))
	}
	if err := matrix("rows: A", r.A, m, dx); err != nil {
		return err
	}
	if err := matrix("rows: B", r.B, m, dy); err != nil {
		return err
	}
	return finite("rows: b", r.Rhs)
}

func (s *Set) validate(dx int) error {
	if len(s.Lo) != dx || len(s.Hi) != dx {
		return fmt.Errorf("set X: bounds of length %d and %d for %d entries of x", len(s.Lo), len(s.Hi), dx)
	}
	for j := range s.Lo {
		if math.IsNaN(s.Lo[j]) || math.IsNaN(s.Hi[j]) || math.IsInf(s.Lo[j], 1) || math.IsInf(s.Hi[j], -1) {
			return fmt.Errorf("set X: bounds %v and %v of entry %d", s.Lo[j], s.Hi[j], j)
		}
	}
	m := len(s.Kind)
	if len(s.Rhs) != m {
		return fmt.Errorf("set X: %d kinds and %d right-hand sides", m, len(s.Rhs))
	}
	if m > 0 || s.E != nil {
		if err := matrix("set X: E", s.E, m, dx); err != nil {
			return err
		}
	}
	for _, b := range s.Balls {
		if b.Start < 0 || b.End > dx || b.Start > b.End || (b.Center != nil && len(b.Center) != b.End-b.Start) || !(b.Radius >= 0) {
			return fmt.Errorf("set X: ball %s over entries %d to %d with radius %v", b.Name, b.Start, b.End, b.Radius)
		}
	}
	if err := s.Extended.Validate(dx); err != nil {
		return fmt.Errorf("set X: %w", err)
	}
	return finite("set X: e", s.Rhs)
}

func validateBlocks(blocks [][]int, dy int) error {
	if blocks == nil {
		return nil
	}
	seen := make([]bool, dy)
	count := 0
	for _, block := range blocks {
		for _, j := range block {
			if j < 0 || j >= dy || seen[j] {
				return fmt.Errorf("blocks: entry %d of y is outside y or in two blocks", j)
			}
			seen[j] = true
			count++
		}
	}
	if count != dy {
		return fmt.Errorf("blocks: %d of the %d entries of y are in none", dy-count, dy)
	}
	return nil
}

func matrix(what string, a *sparse.CSR, rows, cols int) error {
	if a == nil {
		return fmt.Errorf("%s is missing", what)
	}
	if a.Rows != rows || a.Cols != cols || len(a.Ptr) != rows+1 {
		return fmt.Errorf("%s is %d x %d, not %d x %d", what, a.Rows, a.Cols, rows, cols)
	}
	return finite(what, a.Val)
}

func finite(what string, v []float64) error {
	for i, t := range v {
		if math.IsNaN(t) || math.IsInf(t, 0) {
			return fmt.Errorf("%s: entry %d is %v", what, i, t)
		}
	}
	return nil
}
