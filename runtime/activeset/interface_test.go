package activeset_test

import (
	"math"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
)

func TestMisuseIsRefused(t *testing.T) {
	row := func(v float64) *sparse.CSR { return sparse.FromDense(1, 1, []float64{v}) }
	sides := func(v ...float64) activeset.Bounds {
		return activeset.Bounds{RowLo: v[:1], RowHi: v[1:2], Lo: v[2:3], Hi: v[3:4]}
	}
	good := activeset.Program{N: 1, C: []float64{1}, A: row(1), Bounds: sides(0, 1, 0, 1)}
	if _, err := activeset.New(&good); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(p *activeset.Program){
		"cost":  func(p *activeset.Program) { p.C = nil },
		"rows":  func(p *activeset.Program) { p.A = sparse.FromDense(1, 2, []float64{1, 1}) },
		"sides": func(p *activeset.Program) { p.RowLo = nil },
		"bound": func(p *activeset.Program) { p.Bounds = sides(0, 1, math.NaN(), 1) },
		"Q":     func(p *activeset.Program) { p.Q = sparse.FromDense(2, 2, []float64{1, 0, 0, 1}) },
	} {
		p := good
		spoil(&p)
		if _, err := activeset.New(&p); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for name, spoil := range map[string]func(p *activeset.Program){
		"nan":    func(p *activeset.Program) { p.C = []float64{math.NaN()} },
		"number": func(p *activeset.Program) { p.A = row(math.Inf(1)) },
		"sizes":  func(p *activeset.Program) { p.A, p.Bounds = row(1e-300), sides(0, 1, 0, 1e300) },
		"side":   func(p *activeset.Program) { p.A, p.Bounds = row(1e-200), sides(1e250, 1e300, 0, 1e300) },
	} {
		p := good
		spoil(&p)
		solver, err := activeset.New(&p)
		if err != nil {
			t.Fatal(err)
		}
		if sol := solver.Solve(t.Context(), nil, nil, activeset.Options{}); name != "sizes" && sol.Status != activeset.Failed {
			t.Errorf("%s: %v", name, sol.Status)
		}
	}
}

func TestStatusNames(t *testing.T) {
	if s := activeset.CutOff.String() + activeset.Failed.String() + activeset.Status(77).String(); s != "cut offfailedstatus 77" {
		t.Error(s)
	}
	var _ = []activeset.State{activeset.Inactive, activeset.AtLower, activeset.AtUpper, activeset.Held}
}
