package outer

import (
	"cmp"
	"fmt"

	"bilevelc/runtime/linalg"
)

func (m *bundle) Valid(d Dimensions) error {
	s := &m.State
	if s.Center.G == nil {
		return fmt.Errorf("its center has no gradient")
	}
	for _, sample := range append([]Sample{s.Center}, s.Bundle...) {
		if err := sample.Valid(d); err != nil {
			return err
		}
		if sample.G == nil {
			return fmt.Errorf("a point of its bundle has no gradient")
		}
	}
	if s.H.N != d.X {
		return fmt.Errorf("its curvature is not that of %d entries of x", d.X)
	}
	if err := s.H.valid(); err != nil {
		return err
	}
	if n := s.Newton; n != nil {
		if d.Y == 0 || !(n.Radius > 0) || !linalg.Finite([]float64{n.Radius}) {
			return fmt.Errorf("its lower level has no second derivative, or its trust region no radius")
		}
		if err := Vectors(d.Y, n.Y); err != nil {
			return err
		}
	}
	if a := s.Path; a != nil {
		ofX, ofY := [][]float64{a.X}, [][]float64{a.Y}
		if a.Before != nil {
			ofX = append(ofX, a.Before)
		}
		if a.Scale.Floor > 0 {
			ofY = append(ofY, a.Scale.At)
		}
		if d.Y == 0 {
			return fmt.Errorf("its lower level has no central path")
		}
		if err := cmp.Or(Vectors(d.X, ofX...), Vectors(d.Y, ofY...)); err != nil {
			return err
		}
		if a.Stage < 0 || a.Whole < 0 || a.Wholes < 0 || !(a.Mu > 0) || !(a.Ratio > 0 && a.Ratio < 1) || !(a.Scale.Mu > 0) || !(a.Scale.Floor >= 0) || !(a.Last >= 0) || !(a.Older >= 0) || !(a.Radius >= 0) || !linalg.Finite([]float64{a.Mu, a.Scale.Mu, a.Scale.Floor, a.Last, a.Older, a.Start, a.Moved, a.Radius, a.Gain, a.F}) {
			return fmt.Errorf("its path is at no stage")
		}
	}
	if !(s.Within >= 0) || !linalg.Finite([]float64{s.Within}) {
		return fmt.Errorf("a certificate of radius %v", s.Within)
	}
	if s.Sampled < 0 || s.Stagnated < 0 {
		return fmt.Errorf("it counts fewer than no samples")
	}
	return nil
}
