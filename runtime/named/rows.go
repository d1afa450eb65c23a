package named

import (
	"fmt"
	"math"

	"bilevelc/ir"
	"bilevelc/runtime/document"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// Multipliers arranges multipliers by the constraints the user wrote. The
// multiplier of two opposite inequalities that became one equality goes to the
// one that presses; the other's is 0.
func Multipliers(rows []ir.Row, lambda []float64) document.Values {
	own := make([]float64, len(lambda))
	for i, v := range lambda {
		if own[i] = v; rows[i].Opposite != nil {
			own[i] = math.Max(v, 0)
		}
	}
	return withOpposites(Families(rows, own), rows, func(i int, ratio float64) float64 { return math.Max(-lambda[i], 0) / ratio })
}

// Residuals arranges residuals by the constraints the user wrote.
func Residuals(rows []ir.Row, h []float64) document.Values {
	return withOpposites(Families(rows, h), rows, func(i int, ratio float64) float64 { return rows[i].Opposite.By - ratio*h[i] })
}

// withOpposites adds what other(i, ratio) says of the rows that were united
// with row i.
func withOpposites(vs document.Values, rows []ir.Row, other func(i int, ratio float64) float64) document.Values {
	for i, row := range rows {
		o := row.Opposite
		if o == nil {
			continue
		}
		v, ok := vs.Get(o.Family.Name)
		if !ok {
			v = document.Value{Name: o.Family.Name, Shape: o.Family.Shape.Dims(), Data: make([]float64, o.Family.Shape.Len())}.Over(o.Family.Axes)
			vs = append(vs, v)
		}
		v.Data[o.Index] = other(i, o.Ratio) + 0
	}
	return vs
}

// ReadMultipliers is the inverse of Multipliers.
func ReadMultipliers(rows []ir.Row, vs document.Values) ([]float64, error) {
	return unitedValues(rows, vs, func(row *ir.Row, own, other float64) (float64, error) {
		if own < 0 || other < 0 || own > 0 && other > 0 {
			return 0, fmt.Errorf("%s and the row opposite to it have the multipliers %v and %v: both press, or one pulls", row.Name, own, other)
		}
		return own - row.Opposite.Ratio*other, nil
	})
}

// ReadResiduals is the inverse of Residuals.
func ReadResiduals(rows []ir.Row, vs document.Values, tolerance float64) ([]float64, error) {
	return unitedValues(rows, vs, func(row *ir.Row, own, other float64) (float64, error) {
		turned := row.Opposite.By - row.Opposite.Ratio*own
		if !(math.Abs(other-turned) <= tolerance*math.Abs(turned)) {
			return 0, fmt.Errorf("%s has the residual %v, and the row opposite to it %v instead of %v", row.Name, own, other, turned)
		}
		return own, nil
	})
}

// unitedValues reads one number a row, and for united rows what join makes of
// both.
func unitedValues(rows []ir.Row, vs document.Values, join func(row *ir.Row, own, other float64) (float64, error)) ([]float64, error) {
	out, err := Rows(rows, vs)
	for i := range rows {
		row := &rows[i]
		if err != nil {
			return nil, err
		}
		if row.Opposite == nil {
			continue
		}
		var other []float64
		if other, err = Rows([]ir.Row{{Family: row.Opposite.Family, Index: row.Opposite.Index}}, vs); err == nil {
			out[i], err = join(row, out[i], other[0])
		}
	}
	return out, err
}

// Families arranges one number a row by the constraints the user wrote. Rows
// that hold for every (x, y) were dropped by the compiler: they are 0.
func Families(rows []ir.Row, v []float64) document.Values {
	var out document.Values
	place := map[*ir.Family]int{}
	for i, row := range rows {
		if row.Family.Hidden {
			continue
		}
		k, seen := place[row.Family]
		if !seen {
			k = len(out)
			place[row.Family] = k
			out = append(out, document.Value{Name: row.Family.Name, Shape: row.Family.Shape.Dims(),
				Data: make([]float64, row.Family.Shape.Len())}.Over(row.Family.Axes))
		}
		out[k].Data[row.Index] = v[i] + 0
	}
	return out
}

// Rows is the inverse of Families.
func Rows(rows []ir.Row, vs document.Values) ([]float64, error) {
	out := make([]float64, len(rows))
	fitted, get := map[*ir.Family]document.Value{}, vs.Lookup()
	for i, row := range rows {
		if row.Family.Hidden {
			continue
		}
		v, known := fitted[row.Family]
		if !known {
			found, ok := get(row.Family.Name)
			if !ok {
				return nil, fmt.Errorf("the result has no constraint %s", row.Family.Name)
			}
			var err error
			if v, err = found.Fit(row.Family.Shape.Dims(), row.Family.Axes); err != nil {
				return nil, err
			}
			fitted[row.Family] = v
		}
		out[i] = v.Data[row.Index]
	}
	return out, nil
}

// RowNames are the names of rows that the model has: of two inequalities that became one equality, both.
func RowNames(rows []ir.Row, indices []int) []string {
	names := make([]string, 0, len(indices))
	for _, i := range indices {
		if !rows[i].Family.Hidden {
			names = append(names, rows[i].Name)
		}
		if o := rows[i].Opposite; o != nil && !o.Family.Hidden {
			names = append(names, o.Name)
		}
	}
	return names
}

// Unpressed reports that one of two inequalities that became one equality is about to
// take over from the other: the multiplier of the equality passes through 0, and those
// of the inequalities, of which one is 0 on each side, have a kink.
func Unpressed(rows []ir.Row, lambda []float64) bool {
	most := linalg.NormInf(lambda)
	for i, row := range rows {
		if row.Opposite != nil && math.Abs(lambda[i]) <= tolerance.Rounded*most {
			return true
		}
	}
	return false
}

// MultiplierRates arranges derivatives of multipliers as Multipliers does the
// multipliers: of two inequalities that became one equality the one that presses has
// it, at a multiplier of 0 the one that begins to.
func MultiplierRates(rows []ir.Row, lambda, rate []float64, sign float64) document.Values {
	zero := tolerance.Rounded * linalg.NormInf(lambda) // as in Unpressed
	presses := func(i int) float64 {
		if math.Abs(lambda[i]) > zero {
			return lambda[i]
		}
		return rate[i]
	}
	own := make([]float64, len(rate))
	for i, v := range rate {
		if rows[i].Opposite == nil || presses(i) > 0 {
			own[i] = sign * v
		}
	}
	return withOpposites(Families(rows, own), rows, func(i int, ratio float64) float64 {
		if presses(i) < 0 {
			return -sign * rate[i] / ratio
		}
		return 0
	})
}
