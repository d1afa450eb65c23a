package runtime_test

import (
	"context"
	"math"
	"testing"

	"bilevelc/runtime"
)

func TestParseAlong(t *testing.T) {
	a, err := runtime.ParseAlong(` flow["a=b", "c"] = 0 : 5:0.1`)
	if want := (runtime.Along{Entry: `flow["a=b", "c"]`, From: 0, To: 5, Step: 0.1}); err != nil || a != want {
		t.Errorf("%+v, %v", a, err)
	}
	for _, bad := range []string{"", "x", "x=", "=0:1:1", "x=0:1", "x=0:1:1:1", "x=0:1:0", "x=0:1:-1", "x=1:0:1", "x=0:1:1e-9", "x=0:NaN:1",
		"x=0:Inf:1", "x=a:1:1", "x=0:1e308:1e-308", "x=-1e308:1e308:1"} {
		if a, err := runtime.ParseAlong(bad); err == nil {
			t.Errorf("%q is read as %+v", bad, a)
		}
	}
}

// TestAlongIsEvaluation compares every point of lines with an evaluation there that
// starts cold, and the ends with what was asked for.
func TestAlongIsEvaluation(t *testing.T) {
	p := bindFile(t, "../examples/toll/toll.blv")
	base := runtime.Values{{Name: "toll", Shape: []int{6}, Data: []float64{1, 0.5, 0, 2, 0, 1}}}
	for _, c := range []struct {
		a runtime.Along
		n int
	}{
		{runtime.Along{Entry: "toll[3]", From: 0, To: 2, Step: 0.1}, 21},
		{runtime.Along{Entry: "toll[ 1 ]", From: 3, To: 0, Step: -0.7}, 5},
		{runtime.Along{Entry: "toll[1]", From: 0, To: 0.3, Step: 0.1}, 4}, // 0.1 + 0.1 + 0.1 > 0.3
		{runtime.Along{Entry: "toll[1]", From: 1, To: 1}, 1},
	} {
		line, err := p.Along(context.Background(), base, c.a, runtime.Options{})
		if err != nil || len(line.Points) != c.n {
			t.Fatalf("%+v: %v, %d points", c.a, err, len(line.Points))
		}
		for _, pt := range line.Points {
			x := runtime.Value{Name: "toll", Shape: []int{6}, Data: append([]float64(nil), base[0].Data...)}
			x.Data[map[string]int{"toll[1]": 0, "toll[3]": 2}[line.Along.Entry]] = float64(pt.At)
			r, err := p.Eval(context.Background(), runtime.Values{x}, runtime.Options{})
			if err != nil {
				t.Fatal(err)
			}
			// Both are solved to rounding.
			same := func(what string, a, b []float64) {
				for k := range b {
					if math.Abs(a[k]-b[k]) > 1e-9*(1+math.Abs(b[k])) {
						t.Errorf("%s at %v: %v along the line, %v evaluated", what, pt.At, a, b)
						return
					}
				}
			}
			same("F", []float64{float64(pt.Objective), float64(pt.Lower)}, []float64{float64(r.Upper.Objective), float64(r.Lower.Objective)})
			for k, v := range r.Lower.Variables {
				same(v.Name, pt.Variables[k].Data, v.Data)
			}
			for k, v := range r.Lower.Multipliers {
				same(v.Name, pt.Multipliers[k].Data, v.Data)
			}
			if pt.Strict != r.Stationarity.Strict || len(pt.Active) != len(r.Lower.Active) {
				t.Errorf("at %v: strict %v and %v, active %v and %v", pt.At, pt.Strict, r.Stationarity.Strict, pt.Active, r.Lower.Active)
			}
		}
	}
	for _, entry := range []string{"toll", "toll[7]", "share[1]", "tol[1]", ""} {
		if _, err := p.Along(context.Background(), base, runtime.Along{Entry: entry, To: 1, Step: 1}, runtime.Options{}); err == nil {
			t.Errorf("a line of %q", entry)
		}
	}
	// Points of a line are warm: they take fewer gradients than each on its own.
	warm, err := p.Along(context.Background(), base, runtime.Along{Entry: "toll[1]", From: 0, To: 2, Step: 0.1}, runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cold := int64(0)
	for _, pt := range warm.Points {
		one, err := p.Along(context.Background(), base, runtime.Along{Entry: "toll[1]", From: float64(pt.At), To: float64(pt.At)}, runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		cold += one.Calls.GradG
	}
	if 3*warm.Calls.GradG > cold {
		t.Errorf("%d gradients of g along a line, %d at its points one by one", warm.Calls.GradG, cold)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if line, err := p.Along(ctx, base, runtime.Along{Entry: "toll[1]", To: 1, Step: 0.1}, runtime.Options{}); err != context.Canceled || line == nil {
		t.Errorf("a line that was interrupted: %v", err)
	}
}
