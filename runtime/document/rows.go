package document

// ConstraintRow is one row of a constraint at the point of a result, as text, tables and
// pages show it.
type ConstraintRow struct {
	Constraint, Name string
	// Residual is positive where the row is violated, and Multiplier as in the result; NaN
	// where they are not known.
	Residual, Multiplier float64
	// State is as in LowerResult.States, empty of rows of the upper level.
	State string
}

// Active reports that the row holds with equality and has a multiplier.
func (r *ConstraintRow) Active() bool { return r.State == "active" || r.State == "dependent" }

// LowerRows are the rows of the lower level.
func (r *Result) LowerRows() []ConstraintRow {
	return constraintRows(r.Residuals.Constraints, r.Lower.Multipliers, r.Lower.States())
}

// UpperRows are the rows of the upper level that are not part of X.
func (r *Result) UpperRows() []ConstraintRow {
	return constraintRows(r.Upper.Residuals, r.Upper.Multipliers, nil)
}

// constraintRows joins residuals and multipliers, of which either may be missing.
func constraintRows(residuals, multipliers Values, states map[string]string) []ConstraintRow {
	families := multipliers
	if len(residuals) > len(families) {
		families = residuals
	}
	var out []ConstraintRow
	for _, family := range families {
		for k := range family.Data {
			name := EntryName(family, k)
			out = append(out, ConstraintRow{Constraint: family.Name, Name: name, State: states[name],
				Residual: residuals.Entry(family.Name, k), Multiplier: multipliers.Entry(family.Name, k)})
		}
	}
	return out
}
