package runtime_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// What is proved has a proof that shows it, in whatever units variables and rows are: small problems whose terms are of moderate size, with coefficients from 1e-8 to 1e10.
func TestProofsInUnitsFarApart(t *testing.T) {
	proved := 0
	for k := range members.Seeds(t, 40) {
		rng := rand.New(rand.NewPCG(k, 714))
		units := func(n int) []float64 {
			u := make([]float64, n)
			for j := range u {
				u[j] = math.Pow(10, float64(rng.IntN(10)-4))
			}
			return u
		}
		const m = 3
		nx, ny := 1+rng.IntN(3), 2+rng.IntN(2)
		rows, ux, uy, one := units(m), units(nx), units(ny), []float64{1}
		whole := func(size int, left, right []float64) [][]float64 {
			a := make([][]float64, len(left))
			for i := range a {
				a[i] = make([]float64, len(right))
				for j := range a[i] {
					a[i][j] = float64(rng.IntN(2*size+1)-size) * left[i] * right[j]
				}
			}
			return a
		}
		over := func(v float64, u []float64) []float64 {
			out := make([]float64, len(u))
			for j := range u {
				out[j] = v / u[j]
			}
			return out
		}
		side, square := make([]float64, m), make([]float64, ny)
		for i := range side {
			side[i] = float64(1+rng.IntN(9)) * rows[i]
		}
		curved, ties := "", "solve { ties = optimistic }\n"
		for j := range square {
			square[j] = uy[j] * uy[j]
		}
		if k%2 == 0 {
			curved, ties = fmt.Sprintf(" + %s' * (y .* y)", text(square)), ""
		}
		model := fmt.Sprintf(`model units
data A: matrix[%[1]d, %[2]d] = %[4]s
data B: matrix[%[1]d, %[3]d] = %[5]s
data b: vector[%[1]d] = %[6]s
data P: matrix[%[2]d, %[3]d] = %[7]s
data Q: matrix[%[2]d, %[3]d] = %[8]s
upper {
  var x: vector[%[2]d] in box(%[9]s, %[10]s)
  minimize %[11]s' * x + %[12]s' * y + x' * (Q * y)
}
lower {
  var y: vector[%[3]d] in box(%[13]s, %[14]s)
  minimize %[15]s' * y + x' * (P * y)%[16]s
  subject to
    r: A * x + B * y <= b
}
%[17]s`, m, nx, ny, text(whole(3, rows, ux)), text(whole(3, rows, uy)), text(side), text(whole(2, ux, uy)), text(whole(2, ux, uy)), text(over(-2, ux)), text(over(3, ux)),
			text(whole(4, one, ux)[0]), text(whole(4, one, uy)[0]), text(over(-4, uy)), text(over(4, uy)), text(whole(4, one, uy)[0]), curved, ties)
		p := bindText(t, model)
		r, err := p.Solve(t.Context(), runtime.Options{})
		if err != nil {
			t.Fatalf("%v\n%s", err, model)
		}
		if r.Global == nil || !r.Global.Proved {
			continue
		}
		proved++
		var proof bytes.Buffer
		if err := r.WriteProof(t.Context(), &proof); err != nil {
			t.Errorf("member %d: %v\n%s", k, err, model)
			continue
		}
		if !r.Global.Proved || r.Status != runtime.Solved {
			t.Errorf("member %d: its proof leaves a gap of %v\n%s", k, r.Global.Gap, model)
			continue
		}
		if report, err := p.VerifyProof(r, "p", &proof); err != nil || !report.OK() {
			t.Errorf("member %d: its proof: %v, %v\n%s", k, err, report, model)
		}
	}
	if proved < members.Count(40)/2 {
		t.Errorf("%d proved", proved)
	}
}
