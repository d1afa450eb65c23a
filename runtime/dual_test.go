package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/runtime"
)

// priced is a random quadratic follower with prices in the leader's objective,
//
//	min 1/2 y'Qy + (C x + c)'y  subject to  A y <= b + D x,  e'y == d + x_1,
//	f = w'dual(cap) + u dual(balance) y_1 + y'y + x'x,
//
// solved here by trying every active set, and differentiated by the KKT matrix of
// the right one: nothing of the runtime takes part.
type priced struct {
	n, m, dx        int
	q, c, a, d      [][]float64
	cost, rhs, e, w []float64
	demand, weight  float64
	x, y, cap       []float64
	balance, margin float64
	value           float64
	gradient        []float64
}

func (p *priced) model(sense string) string {
	sign := ""
	if sense == "maximize" {
		sign = "-"
	}
	return fmt.Sprintf(`model priced
data Q: matrix[%d, %d] = %s
data C: matrix[%d, %d] = %s
data A: matrix[%d, %d] = %s
data D: matrix[%d, %d] = %s
data c: vector[%d] = %s
data b: vector[%d] = %s
data e: vector[%d] = %s
data w: vector[%d] = %s
upper {
  var x: vector[%d] in box(-1, 1)
  let price = dual(balance)
  minimize w' * dual(cap) + %v * price * y[1] + sumsq(y) + sumsq(x)
}
lower {
  var y: vector[%d]
  %s %s(0.5 * y' * Q * y + (C * x + c)' * y)
  subject to
    cap: A * y <= b + D * x
    balance: e' * y == %v + x[1]
}
report {
  tolls = dual(cap)
  price = dual(balance)
}
`, p.n, p.n, text(p.q), p.n, p.dx, text(p.c), p.m, p.n, text(p.a), p.m, p.dx, text(p.d),
		p.n, text(p.cost), p.m, text(p.rhs), p.n, text(p.e), p.m, text(p.w), p.dx, p.weight, p.n, sense, sign, p.demand)
}

func newPriced(rng *rand.Rand) *priced {
	p := &priced{n: 3 + rng.IntN(3), m: 1 + rng.IntN(3), dx: 1 + rng.IntN(3)}
	d := draws{rng, 1e-3}
	p.q = d.definite(p.n, 1)
	p.c, p.a, p.d = d.matrix(p.n, p.dx), d.matrix(p.m, p.n), d.matrix(p.m, p.dx)
	p.cost, p.rhs, p.e, p.w, p.x = d.vector(p.n), d.vector(p.m), d.vector(p.n), d.vector(p.m), make([]float64, p.dx)
	for j := range p.x {
		p.x[j] = math.Round(1e3*(2*rng.Float64()-1)) / 1e3
	}
	p.demand, p.weight = d.vector(1)[0], d.vector(1)[0]
	return p
}

// solve finds the active set by enumeration; false where none fits with a margin.
func (p *priced) solve() bool {
	for set := range 1 << p.m {
		var rows []int
		for i := range p.m {
			if set>>i&1 == 1 {
				rows = append(rows, i)
			}
		}
		k := len(rows) + 1
		if k > p.n {
			continue
		}
		size := p.n + k
		kkt := mat.NewDense(size, size, nil)
		right := mat.NewVecDense(size, nil)
		motion := mat.NewDense(size, p.dx, nil) // of the right side with x
		for i := range p.n {
			for j := range p.n {
				kkt.Set(i, j, p.q[i][j])
			}
			v := -p.cost[i]
			for j := range p.dx {
				v -= p.c[i][j] * p.x[j]
				motion.Set(i, j, -p.c[i][j])
			}
			right.SetVec(i, v)
		}
		for r := range k {
			row, value := p.e, p.demand+p.x[0]
			if r == k-1 {
				motion.Set(p.n+r, 0, 1)
			} else {
				row, value = p.a[rows[r]], p.rhs[rows[r]]
				for j := range p.dx {
					value += p.d[rows[r]][j] * p.x[j]
					motion.Set(p.n+r, j, p.d[rows[r]][j])
				}
			}
			for j, v := range row {
				kkt.Set(p.n+r, j, v)
				kkt.Set(j, p.n+r, v)
			}
			right.SetVec(p.n+r, value)
		}
		var z mat.VecDense
		var dz mat.Dense
		if z.SolveVec(kkt, right) != nil || dz.Solve(kkt, motion) != nil {
			continue
		}
		p.y, p.cap, p.margin = z.RawVector().Data[:p.n], make([]float64, p.m), math.Inf(1)
		for r, i := range rows {
			p.cap[i] = z.AtVec(p.n + r)
			p.margin = math.Min(p.margin, p.cap[i])
		}
		p.balance = z.AtVec(size - 1)
		for i := range p.m {
			if set>>i&1 == 1 {
				continue
			}
			slack := p.rhs[i]
			for j := range p.dx {
				slack += p.d[i][j] * p.x[j]
			}
			for j := range p.n {
				slack -= p.a[i][j] * p.y[j]
			}
			p.margin = math.Min(p.margin, slack)
		}
		if p.margin < 1e-3 {
			continue
		}
		p.value = p.weight * p.balance * p.y[0]
		p.gradient = make([]float64, p.dx)
		for j := range p.dx {
			p.value += p.x[j] * p.x[j]
			p.gradient[j] = 2*p.x[j] + p.weight*(dz.At(size-1, j)*p.y[0]+p.balance*dz.At(0, j))
			for i := range p.n {
				p.gradient[j] += 2 * p.y[i] * dz.At(i, j)
			}
			for r, i := range rows {
				p.gradient[j] += p.w[i] * dz.At(p.n+r, j)
			}
		}
		for _, v := range p.y {
			p.value += v * v
		}
		for i, v := range p.cap {
			p.value += p.w[i] * v
		}
		return true
	}
	return false
}

func TestPricesInTheLeadersObjective(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 11))
	tried := 0
	for tried < 60 {
		p := newPriced(rng)
		if !p.solve() {
			continue
		}
		tried++
		// The follower that maximizes the negative has the same multipliers.
		sense := []string{"minimize", "maximize"}[tried%2]
		problem := bindText(t, p.model(sense))
		at := runtime.Values{{Name: "x", Shape: []int{p.dx}, Data: p.x}}
		for oracle, accuracy := range map[string]float64{"face": 1e-8, "difference": 1e-5, "value": 1e-5} {
			r, err := problem.Eval(context.Background(), at, runtime.Options{Oracle: oracle})
			if err != nil {
				t.Fatal(err)
			}
			label := fmt.Sprintf("case %d, %s, oracle %s", tried, sense, oracle)
			scale := 1 + math.Abs(p.value)
			if got := float64(r.Upper.Objective); !(math.Abs(got-p.value) <= 1e-8*scale) {
				t.Errorf("%s: F = %v, want %v", label, got, p.value)
			}
			gradient, _ := r.Upper.Hypergradient.Get("x")
			for j, want := range p.gradient {
				if !(math.Abs(gradient.Data[j]-want) <= accuracy*(scale+length2(p.gradient))) {
					t.Errorf("%s: dF/dx[%d] = %v, want %v", label, j+1, gradient.Data[j], want)
				}
			}
			tolls, _ := r.Report.Get("tolls")
			price, _ := r.Report.Get("price")
			for i, want := range append(append([]float64(nil), p.cap...), p.balance) {
				if got := append(append([]float64(nil), tolls.Data...), price.Data...)[i]; !(math.Abs(got-want) <= 1e-8*(1+math.Abs(want))) {
					t.Errorf("%s: multiplier %d is %v, want %v", label, i+1, got, want)
				}
			}
		}
		if _, err := problem.Eval(context.Background(), at, runtime.Options{Oracle: "penalty"}); err == nil || !strings.Contains(err.Error(), "dual") {
			t.Errorf("the penalty oracle took an objective that reads multipliers: %v", err)
		}
	}
}

func length2(v []float64) float64 {
	sum := 0.0
	for _, e := range v {
		sum += e * e
	}
	return math.Sqrt(sum)
}
