package runtime

import (
	"fmt"
	"math"

	"bilevelc/ir"
)

// multiplierValues arranges multipliers by the constraints the user wrote. The
// multiplier of two opposite inequalities that became one equality goes to the
// one that presses; the other's is 0.
func multiplierValues(rows []ir.Row, lambda []float64) Values {
	own := make([]float64, len(lambda))
	for i, v := range lambda {
		if own[i] = v; rows[i].Opposite != nil {
			own[i] = math.Max(v, 0)
		}
	}
	return withOpposites(families(rows, own), rows, func(i int, ratio float64) float64 { return math.Max(-lambda[i], 0) / ratio })
}

// residualValues arranges residuals by the constraints the user wrote.
func residualValues(rows []ir.Row, h []float64) Values {
	return withOpposites(families(rows, h), rows, func(i int, ratio float64) float64 { return -ratio * h[i] })
}

// withOpposites adds what other(i, ratio) says of the rows that were united
// with row i.
func withOpposites(vs Values, rows []ir.Row, other func(i int, ratio float64) float64) Values {
	for i, row := range rows {
		o := row.Opposite
		if o == nil {
			continue
		}
		v, ok := vs.Get(o.Family.Name)
		if !ok {
			v = Value{Name: o.Family.Name, Shape: o.Family.Shape.Dims(), Data: make([]float64, o.Family.Shape.Len())}
			vs = append(vs, v)
		}
		v.Data[o.Index] = other(i, o.Ratio) + 0
	}
	return vs
}

// multipliersOf is the inverse of multiplierValues.
func multipliersOf(rows []ir.Row, vs Values) ([]float64, error) {
	return unitedValues(rows, vs, func(row *ir.Row, own, other float64) (float64, error) {
		if own < 0 || other < 0 || own > 0 && other > 0 {
			return 0, fmt.Errorf("%s and the row opposite to it have the multipliers %v and %v: both press, or one pulls", row.Name, own, other)
		}
		return own - row.Opposite.Ratio*other, nil
	})
}

// residualsOf is the inverse of residualValues.
func residualsOf(rows []ir.Row, vs Values) ([]float64, error) {
	return unitedValues(rows, vs, func(row *ir.Row, own, other float64) (float64, error) {
		turned := -row.Opposite.Ratio * own
		if !(math.Abs(other-turned) <= reportTolerance*math.Abs(turned)) {
			return 0, fmt.Errorf("%s has the residual %v, and the row opposite to it %v instead of %v", row.Name, own, other, turned)
		}
		return own, nil
	})
}

// unitedValues reads one number a row, and for united rows what join makes of
// both.
func unitedValues(rows []ir.Row, vs Values, join func(row *ir.Row, own, other float64) (float64, error)) ([]float64, error) {
	out, err := rowValues(rows, vs)
	for i := range rows {
		row := &rows[i]
		if err != nil {
			return nil, err
		}
		if row.Opposite == nil {
			continue
		}
		var other []float64
		if other, err = rowValues([]ir.Row{{Family: row.Opposite.Family, Index: row.Opposite.Index}}, vs); err == nil {
			out[i], err = join(row, out[i], other[0])
		}
	}
	return out, err
}
