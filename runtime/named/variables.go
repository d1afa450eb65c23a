// Package named arranges vectors over the variables and rows of a bound problem as the values of a
// document, under the names that the model gives them, and reads them back.
package named

import (
	"fmt"

	"bilevelc/internal/must"
	"bilevelc/ir"
	"bilevelc/runtime/document"
)

// Variables cuts a vector over a level's variables into named values.
func Variables(level *ir.Level, v []float64, sign float64) document.Values {
	var out document.Values
	for _, decl := range level.Vars {
		if decl.Hidden {
			continue
		}
		value := document.Value{Name: decl.Name, Shape: decl.Shape.Dims(), Data: make([]float64, decl.Shape.Len())}
		for k := range value.Data {
			value.Data[k] = sign*v[decl.Offset+k] + 0 // + 0 turns -0 into 0
		}
		out = append(out, value.Over(decl.Axes))
	}
	return out
}

// Vector puts named values together into the level's vector.
func Vector(level *ir.Level, vs document.Values) (_ []float64, err error) {
	defer must.Catch(&err)
	out, get := make([]float64, level.Dim), vs.Lookup()
	for _, decl := range level.Vars {
		if decl.Hidden {
			continue
		}
		v, ok := get(decl.Name)
		if !ok {
			return nil, fmt.Errorf("the result has no variable %s", decl.Name)
		}
		v = must.Get(v.Fit(decl.Shape.Dims(), decl.Axes))
		copy(out[decl.Offset:], v.Data)
	}
	return out, nil
}

// Find is the variable of that name; nil where there is none.
func Find(level *ir.Level, name string) *ir.Variable {
	for i := range level.Vars {
		if level.Vars[i].Name == name {
			return &level.Vars[i]
		}
	}
	return nil
}
