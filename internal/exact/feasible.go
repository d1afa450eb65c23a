// Package exact decides small linear systems in rational arithmetic. It is the
// truth that tests compare the floating-point solvers with, and shares nothing
// with them.
package exact

// Row is the constraint sum_j Coef[j] z_j <= Side, or = Side.
type Row struct {
	Coef  []float64
	Side  float64
	Equal bool
}

// Feasible reports whether some z in R^n satisfies all rows, exactly as their
// doubles stand. The time grows fast with the size; it is for systems
// of some tens of rows.
func Feasible(n int, rows []Row) bool {
	p := &LP{N: n}
	for _, r := range rows {
		p.Add(Doubles(r.Coef), Doubles([]float64{r.Side})[0], r.Equal)
	}
	outcome, _, _ := p.Minimize(nil)
	return outcome == Optimal
}
