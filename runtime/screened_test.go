package runtime

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/members"
)

// Where an answer of the follower is cheap, F is looked at along one upper variable however many lower ones there are: of cosines of answers b x, or b x + a exp(-0.3 x), between bounds, and of a projection of a + x b on a simplex, whose
// threshold bisection gives, no point of a fine grid is better by more than a thousandth of F's range.
func TestManyAnswersToOneVariable(t *testing.T) {
	t.Parallel()
	for seed := range members.SeedsOf(t, 3, 30) {
		rng := rand.New(rand.NewPCG(seed, 36))
		n := 450 + rng.IntN(300)
		a, b := make([]float64, n), make([]float64, n)
		for j := range a {
			a[j], b[j] = rng.NormFloat64(), rng.NormFloat64()
		}
		text := "model m\nparam n: int\ndata a: vector[n]\ndata b: vector[n]\nupper {\n  var x: real in box(-6, 6)\n  minimize sum(a .* cos(3 * y)) / n + 0.02 * x^2\n}\n" +
			"lower {\n  var y: vector[n] in box(-1, 2)\n  minimize sumsq(y - b * x)\n}\n"
		push := 0.0
		f := func(x float64) float64 {
			sum := 0.02 * x * x
			for j := range a {
				sum += a[j] * math.Cos(3*min(max(b[j]*x+push*a[j]*math.Exp(-0.3*x), -1), 2)) / float64(n)
			}
			return sum
		}
		switch seed % 3 {
		case 1:
			text, push = strings.Replace(text, "sumsq(y - b * x)", "0.5 * exp(0.3 * x) * sumsq(y - b * x) - a' * y", 1), 1
		case 2:
			text = "model m\nparam n: int\ndata a: vector[n]\ndata b: vector[n]\nupper {\n  var x: real in box(-6, 6)\n  minimize sumsq(y - a) + a' * y\n}\n" +
				"lower {\n  var y: vector[n] in nonneg\n  minimize sumsq(y - a - x * b)\n  subject to sum(y) == 5\n}\n"
			f = func(x float64) float64 {
				lo, hi := -1e3, 1e3
				for range 100 {
					sum := 0.0
					for j := range a {
						sum += max(0, a[j]+x*b[j]-(lo+hi)/2)
					}
					if sum > 5 {
						lo = (lo + hi) / 2
					} else {
						hi = (lo + hi) / 2
					}
				}
				sum := 0.0
				for j := range a {
					y := max(0, a[j]+x*b[j]-hi)
					sum += (y-a[j])*(y-a[j]) + a[j]*y
				}
				return sum
			}
		}
		model, err := Compile("m.blv", text)
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Bind(Data{"n": n, "a": a, "b": b}, BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Solve(context.Background(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		least, most := math.Inf(1), math.Inf(-1)
		for k := range 2401 {
			v := f(-6 + float64(k)/200)
			least, most = math.Min(least, v), math.Max(most, v)
		}
		x, _ := r.Upper.Variables.Get("x")
		found := float64(r.Upper.Objective)
		if r.Status != Solved || math.Abs(found-f(x.Data[0])) > 1e-8*(1+math.Abs(found)) || found > least+1e-3*(most-least) {
			t.Errorf("seed %d, n = %d: %s, F %v at %v, where it is %v; the grid's least is %v of up to %v: %s", seed, n, r.Status, found, x.Data[0], f(x.Data[0]), least, most, r.Reason)
		}
	}
}

// Where nothing bounds F, starts that cost little go on beyond the stopping rule: to the lowest of the local minima of this one (F found on a grid with the follower's active sets enumerated) lead about 17 % of random
// starts, which eight miss with 22 %, and thirty with less than 1 %.
func TestStartsBeyondTheRule(t *testing.T) {
	t.Parallel()
	const least = -0.748953
	p := mustBind(t, `model m
data H: matrix[3, 3] = [[0.738437, -0.331121, 0.327245], [-0.331121, 1.224494, -0.224442], [0.327245, -0.224442, 1.920242]]
data c: vector[3] = [-0.439, 1.472, 1.38]
data Z: matrix[3, 2] = [[-1.298, 1.396], [2.821, 3.017], [3.954, -0.304]]
data u: vector[3] = [1.49, 1.37, 0.51]
upper {
  var x: vector[2] in ball(1)
  minimize x[1] * y[1] + 0.3 * sumsq(x - 0.4) - y[2]
  subject to sum(y) <= 1 + x[1]^2
}
lower {
  var y: vector[3] in box(0, u)
  minimize 0.5 * quad(H, y) + c' * y + y' * Z * x
}
`)
	missed, tried := 0, 0
	for seed := range members.SeedsOf(t, 12, 60) {
		r, err := p.Solve(context.Background(), Options{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		if tried++; r.Status != Solved || float64(r.Upper.Objective) > least+1e-5 {
			missed++
		}
	}
	t.Logf("%d of %d missed", missed, tried)
	if missed > 2 { // 12 with 0.4 % each: more than 2 with 1e-5; 60: with 2e-3
		t.Errorf("%d of %d runs missed the least value", missed, tried)
	}
}

// Where followers are linear F jumps, and local solutions are those of one of its pieces: weights that several followers share, who fill knapsacks by value for weight, are found from noisy amounts to no more than what the noise leaves at the weights that made them. Weights add up to 1.
func TestWeightsOfManyKnapsacks(t *testing.T) {
	const goods, days, noise = 5, 30, 0.1
	missed, tried := 0, 0
	for seed := range members.SeedsOf(t, 4, 24) {
		rng := rand.New(rand.NewPCG(seed, 37))
		w, sum, want := make([]float64, goods), 0.0, 0.0
		for i := range w {
			w[i] = 0.1 + rng.Float64()
			sum += w[i]
		}
		size, seen, room := make([][]float64, days), make([][]float64, days), make([]float64, days)
		for day := range days {
			size[day], seen[day] = make([]float64, goods), make([]float64, goods)
			order := rng.Perm(goods)
			for i := range goods {
				size[day][i] = 0.2 + rng.Float64()
			}
			room[day] = 0.5 + 1.5*rng.Float64()
			slices.SortFunc(order, func(a, b int) int { return cmp.Compare(w[b]/size[day][b], w[a]/size[day][a]) })
			left := room[day]
			for _, i := range order {
				amount := math.Min(1, left/size[day][i])
				left -= amount * size[day][i]
				off := noise * rng.NormFloat64()
				seen[day][i] = amount + off
				want += off * off
			}
		}
		model, err := Compile("m.blv", `model m
param T: int
param n: int
data A: matrix[T, n]
data b: vector[T]
data Y: matrix[T, n]
upper {
  var w: vector[n] in simplex(1)
  minimize sum(t in 1..T: sum(i in 1..n: (y[t, i] - Y[t, i])^2))
}
lower day[t in 1..T] {
  var y: vector[n] in box(0, 1)
  maximize w' * y
  subject to
    fits: A[t, :] * y <= b[t]
}
solve { ties = optimistic }
`)
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Bind(Data{"T": days, "n": goods, "A": size, "b": room, "Y": seen}, BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Solve(context.Background(), Options{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		if tried++; r.Status != Solved || float64(r.Upper.Objective) > want*(1+1e-6) {
			missed++
		}
	}
	if 4*missed > tried { // none of 24
		t.Errorf("in %d of %d runs the weights that made the amounts are better", missed, tried)
	}
}
