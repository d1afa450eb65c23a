package runtime_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// rotated is min a.(V'y - t)^2 + w.(U'x - s)^2 with a follower who minimizes |V'y - U'x|^2/2 over 0 <= V'y <= 1: in u = U'x it falls apart into entries of which F is
// known, with general rows and a dense Hessian.
const rotated = `model rotated
param n: int
data U: matrix[n, n]
data V: matrix[n, n]
data a: vector[n]
data t: vector[n]
data w: vector[n]
data s: vector[n]
upper {
  var x: vector[n]
  minimize sum(a .* (V' * y - t) .* (V' * y - t)) + sum(w .* (U' * x - s) .* (U' * x - s))
}
lower {
  var y: vector[n]
  minimize 0.5 * sumsq(V' * y - U' * x)
  subject to
    floor: V' * y >= 0
    cap: V' * y <= 1
}
`

// rotatedData draws data such that the optimum is at a kink in half of the entries, with the local minima of each entry.
func rotatedData(rng *rand.Rand, n int) (data runtime.Data, minima [][]float64, value func(i int, u float64) float64) {
	draw := func(f func() float64) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = f()
		}
		return out
	}
	weight := func() float64 { return 0.5 + 1.5*rng.Float64() }
	target := func() float64 { return 0.5 + rng.NormFloat64() }
	a, w, t, s := draw(weight), draw(weight), draw(target), draw(target)
	for i := range n {
		if rng.IntN(2) == 0 {
			continue
		}
		d := 0.1 + 0.9*rng.Float64()
		e := w[i] * d / a[i] * (1.2 + 2*rng.Float64())
		if s[i], t[i] = d, -e; rng.IntN(2) == 0 {
			s[i], t[i] = 1-d, 1+e
		}
	}
	value = func(i int, u float64) float64 {
		v := math.Min(math.Max(u, 0), 1)
		return a[i]*(v-t[i])*(v-t[i]) + w[i]*(u-s[i])*(u-s[i])
	}
	minima = make([][]float64, n)
	for i := range n {
		if s[i] < 0 || s[i] > 1 {
			minima[i] = append(minima[i], s[i])
		}
		if m := (a[i]*t[i] + w[i]*s[i]) / (a[i] + w[i]); m > 0 && m < 1 {
			minima[i] = append(minima[i], m)
		}
		for k, sign := range []float64{1, -1} {
			u := float64(k)
			outside, inside := 2*w[i]*(u-s[i]), 2*w[i]*(u-s[i])+2*a[i]*(u-t[i])
			if sign*outside <= 0 && sign*inside >= 0 {
				minima[i] = append(minima[i], u)
			}
		}
	}
	return runtime.Data{"n": n, "U": orthogonal(rng, n), "V": orthogonal(rng, n), "a": a, "t": t, "w": w, "s": s}, minima, value
}

// orthogonal is the product of n random reflections.
func orthogonal(rng *rand.Rand, n int) [][]float64 {
	q := make([][]float64, n)
	for i := range q {
		q[i] = make([]float64, n)
		q[i][i] = 1
	}
	for range n {
		v, square := make([]float64, n), 0.0
		for i := range v {
			v[i] = rng.NormFloat64()
			square += v[i] * v[i]
		}
		for _, row := range q {
			dot := 0.0
			for j, u := range v {
				dot += row[j] * u
			}
			for j, u := range v {
				row[j] -= 2 * dot / square * u
			}
		}
	}
	return q
}

// Each entry of a rotated problem ends at a local minimum of its own F, and the document verifies; the last member is larger than what the whole system is factorized for.
func TestLeaderSpace(t *testing.T) {
	t.Parallel()
	count := 0
	for seed := range members.SeedsOf(t, 4, 60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := 45 + rng.IntN(20)
		if count++; count == 1 {
			n = 301
		}
		data, minima, value := rotatedData(rng, n)
		p := bindData(t, rotated, data)
		r, err := p.Solve(context.Background(), runtime.Options{Search: runtime.SearchNone})
		if err != nil || r.Status != runtime.Solved || r.Method != runtime.SystemMethod || r.Certificate.Strong == nil || !verified(p, r) {
			t.Fatalf("seed %d: %+v %v", seed, r, err)
		}
		x, _ := r.Upper.Variables.Get("x")
		f, kinks := 0.0, 0
		for i := range n {
			u := 0.0
			for k, row := range data["U"].([][]float64) {
				u += row[i] * x.Data[k]
			}
			near := math.Inf(1)
			for _, m := range minima[i] {
				if math.Abs(u-m) < math.Abs(u-near) {
					near = m
				}
			}
			if math.Abs(u-near) > 1e-7 { // the tolerance of the gradient, 1e-10 of its terms, over the curvature
				t.Errorf("seed %d, entry %d: %v is none of %v", seed, i, u, minima[i])
			}
			if f += value(i, near); near == 0 || near == 1 {
				kinks++
			}
		}
		if v := float64(r.Upper.Objective); math.Abs(v-f) > 1e-9*math.Abs(f) || len(r.Certificate.Strong.Biactive) != kinks {
			t.Errorf("seed %d: F %v, not %v; %d biactive rows, not %d", seed, v, f, len(r.Certificate.Strong.Biactive), kinks)
		}
	}
}

// A run in the leader's space that is interrupted, at whatever step, has a point that its follower answers so, and goes on from its checkpoint to the document of the whole run.
func TestLeaderSpaceInterrupted(t *testing.T) {
	t.Parallel()
	for seed := range members.SeedsOf(t, 1, 20) {
		rng := rand.New(rand.NewPCG(seed, 2))
		data, _, _ := rotatedData(rng, 45)
		p := bindData(t, rotated, data)
		steps := 0
		opts := runtime.Options{Search: runtime.SearchNone, Seed: 3, Observer: func(runtime.Progress) { steps++ }}
		whole, err := p.Solve(context.Background(), opts)
		if err != nil || whole.Status != runtime.Solved {
			t.Fatalf("seed %d: %+v %v", seed, whole, err)
		}
		for range 3 {
			ctx, cancel := context.WithCancelCause(context.Background())
			after, cause := 1+rng.IntN(steps), error(context.Canceled)
			want := runtime.Interrupted
			if rng.IntN(2) == 0 {
				cause, want = runtime.ErrTimeLimit, runtime.LimitReached
			}
			steps = 0
			opts.Observer = func(runtime.Progress) {
				if steps++; steps == after {
					cancel(cause)
				}
			}
			stopped, err := p.Solve(ctx, opts)
			if err != nil || stopped.Status != want || !stopped.HasPoint() || stopped.Checkpoint == nil || !verified(p, stopped) {
				t.Fatalf("seed %d, after %d steps: %+v %v", seed, after, stopped, err)
			}
			x, _ := stopped.Upper.Variables.Get("x")
			at, err := p.Evaluate(context.Background(), x.Data)
			if err != nil || math.Abs(at.F-float64(stopped.Upper.Objective)) > 1e-8*math.Abs(at.F) {
				t.Errorf("seed %d, after %d steps: F %v, not %+v, %v", seed, after, stopped.Upper.Objective, at, err)
			}
			resumed, err := p.Solve(context.Background(), runtime.Options{Resume: stopped.Checkpoint})
			if err != nil || !equalJSON(t, resumed.Upper, whole.Upper) || !equalJSON(t, resumed.Lower, whole.Lower) || !equalJSON(t, resumed.Certificate, whole.Certificate) ||
				!equalJSON(t, resumed.Trace, whole.Trace) || resumed.Status != whole.Status || resumed.Calls != whole.Calls {
				t.Errorf("seed %d, after %d steps: a resumed run ends otherwise (%v)", seed, after, err)
			}
			cancel(nil)
		}
	}
}

// Followers with general rows, an f with waves or none and constraints of the leader that read y: no point next to the solution has a smaller F.
func TestLeaderSpaceRows(t *testing.T) {
	t.Parallel()
	kinks := 0
	for seed := range members.SeedsUntil(t, 100, func() bool { return kinks > 0 }) {
		rng := rand.New(rand.NewPCG(seed, 3))
		const nx = 6
		wavy := rng.IntN(2) == 1
		// A quadratic f is minimized in the leader's space from some hundred unknowns on, and one with waves only where the whole system fails, at any size.
		ny, m := 50, 60
		if wavy {
			ny, m = 24, 30
		}
		matrix := func(r, c int, scale float64) [][]float64 {
			out := make([][]float64, r)
			for i := range out {
				out[i] = make([]float64, c)
				for j := range out[i] {
					out[i][j] = scale * rng.NormFloat64()
				}
			}
			return out
		}
		// The compiler shows constraints that read the follower to be affine where f is quadratic.
		waves, reads := "+ 0.2 * sum(cos(x))", math.Inf(1)
		coupled := ""
		if !wavy {
			waves, reads, coupled = "", 3, "subject to\n    reads: sum(y) + sum(x) <= 3"
		}
		text := `model rows
param nx: int
param ny: int
param m: int
data L: matrix[ny, ny]
data P: matrix[ny, nx]
data A: matrix[m, nx]
data B: matrix[m, ny]
data c: vector[ny]
data d: vector[ny]
upper {
  var x: vector[nx] in box(-1, 1)
  minimize sumsq(y - d) + 0.1 * sumsq(x) ` + waves + `
  ` + coupled + `
}
lower {
  var y: vector[ny]
  minimize 0.5 * sumsq(L' * y) + 0.5 * sumsq(y) + (P * x + c)' * y
  subject to
    limit: A * x + B * y <= 1
}
`
		data := runtime.Data{"nx": nx, "ny": ny, "m": m, "L": matrix(ny, ny, 0.1), "P": matrix(ny, nx, 1), "A": matrix(m, nx, 0.1), "B": matrix(m, ny, 0.3), "c": matrix(1, ny, 1)[0],
			"d": matrix(1, ny, 1)[0]}
		p := bindData(t, text, data)
		opts := runtime.Options{Search: runtime.SearchNone}
		if !members.Full() {
			opts.Starts = 1
		}
		r, err := p.Solve(context.Background(), opts)
		if err != nil || r.Status != runtime.Solved || r.Method != runtime.SystemMethod || !verified(p, r) {
			t.Fatalf("seed %d: %v %v %v", seed, r.Status, r.Reason, err)
		}
		kinks += len(r.Certificate.Strong.Biactive)
		x, _ := r.Upper.Variables.Get("x")
		// falls is by how much F falls along d at the distance h, more than curvature makes of it; 0 for no fall.
		falls := func(d []float64, h float64) float64 {
			w, sum := append([]float64(nil), x.Data...), 0.0
			for j := range w {
				w[j] = math.Max(-1, math.Min(1, w[j]+h*d[j]))
				sum += w[j]
			}
			at, err := p.Evaluate(context.Background(), w)
			if err != nil {
				t.Fatal(err)
			}
			for _, y := range at.Y {
				sum += y
			}
			if fall := float64(r.Upper.Objective) - at.F; sum <= reads && fall > 1e3*h*h {
				return fall
			}
			return 0
		}
		for range 40 {
			d := make([]float64, nx)
			for j := range d {
				d[j] = rng.NormFloat64()
			}
			if far, near, beside := falls(d, 1e-4), falls(d, 1e-5), falls(d, 1e-6); far > 0 && near > 0 && beside > 0 { // beyond another kink it may
				t.Errorf("seed %d: F falls by %g, %g, %g", seed, far, near, beside)
			}
		}
	}
	if kinks == 0 {
		t.Error("no kinks")
	}
}

// Followers with a sparse Hessian: a chain whose optimum is known, 0.125 at x = (0.25, 0.5, ...), from a start where all rows are biactive; and chains with random weights
// and targets in which rows come to hold, next to whose solutions no point has a smaller F.
func TestLeaderSpaceSparse(t *testing.T) {
	t.Parallel()
	p := bindText(t, `model chain
param n: int = 500
upper {
  var x: vector[10] in box(0, 1)
  minimize sumsq(y) / n + sumsq(x - 0.5)
}
lower {
  var y: vector[n] in box(0, 1)
  minimize sumsq(y - x[1]) + sum(i in 1..n - 1: (y[i] - y[i+1])^2)
}
`)
	r, err := p.Solve(context.Background(), runtime.Options{})
	if err != nil || r.Status != runtime.Solved || r.Method != runtime.SystemMethod || math.Abs(float64(r.Upper.Objective)-0.125) > 1e-9 || !verified(p, r) {
		t.Errorf("a chain: %+v %v", r, err)
	}
	solved := 0
	for seed := range members.SeedsOf(t, 5, 100) {
		rng := rand.New(rand.NewPCG(seed, 4))
		const n = 450
		draw := func(n int) []float64 {
			v := make([]float64, n)
			for i := range v {
				v[i] = rng.NormFloat64()
			}
			return v
		}
		link, rate := draw(n-1), [][]float64{draw(n), draw(n), draw(n), draw(n)}
		for i := range link {
			link[i] *= link[i]
		}
		p := bindData(t, `model chain
param n: int
data link: vector[n - 1]
data rate: matrix[4, n]
data target: vector[n]
upper {
  var x: vector[4] in box(-1, 1)
  minimize sumsq(y - target) / n + 0.1 * sumsq(x)
}
lower {
  var y: vector[n] in box(-0.5, 0.5)
  minimize sumsq(y - rate' * x) + sum(i in 1..n - 1: link[i] * (y[i] - y[i+1])^2)
  subject to
    pair: y[1] + y[n] <= 0.1 + x[1]
}
`, runtime.Data{"n": n, "link": link, "rate": rate, "target": draw(n)})
		r, err := p.Solve(context.Background(), runtime.Options{Starts: 1})
		if err != nil || r.Status != runtime.Solved || !verified(p, r) {
			t.Fatalf("seed %d: %v %v %v", seed, r.Status, r.Reason, err)
		}
		if r.Method != runtime.SystemMethod {
			continue // too many pieces on the way
		}
		solved++
		x, _ := r.Upper.Variables.Get("x")
		for range 20 {
			const h = 1e-4
			w := append([]float64(nil), x.Data...)
			for j := range w {
				w[j] = math.Max(-1, math.Min(1, w[j]+h*rng.NormFloat64()))
			}
			at, err := p.Evaluate(context.Background(), w)
			if err != nil || at.F < float64(r.Upper.Objective)-1e3*h*h {
				t.Errorf("seed %d: F falls by %g, %v", seed, float64(r.Upper.Objective)-at.F, err)
			}
		}
	}
	if solved == 0 {
		t.Error("none was solved in the leader's space")
	}
}
