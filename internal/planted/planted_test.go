package planted

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"bilevelc/runtime/problem"
)

// small are instances that brute force can check: at most 8 floors.
func small() []Options {
	var all []Options
	for _, family := range []Family{Convex, Slack} {
		for seed := range uint64(4) {
			o := Options{Family: family, Dx: 3, Dy: 9, Links: 2, Floors: 6, Active: 2, Kinks: 2, Weak: 1, Condition: 50, Seed: seed}
			all = append(all, o)
			with := func(change func(*Options)) {
				c := o
				change(&c)
				all = append(all, c)
			}
			with(func(c *Options) { c.Links, c.UpperActive = 0, 1 })
			with(func(c *Options) { c.Links, c.Floors, c.Active, c.Kinks, c.Weak = 4, 0, 0, 0, 0 })
			with(func(c *Options) { c.Bounds, c.Links, c.Kinks = true, 0, 3 })
			with(func(c *Options) { c.Implied = 2 })
			with(func(c *Options) { c.Dx, c.Dy, c.Links, c.Floors, c.Active, c.Kinks, c.Weak = 1, 1, 0, 1, 0, 1, 0 })
			if family == Convex {
				with(func(c *Options) { c.Curved = true })
			}
		}
	}
	return all
}

func instance(t *testing.T, o Options) *Instance {
	t.Helper()
	in, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// scale is the size of rounding errors in gradients of g: its curvature times
// values of y of a few units.
func (in *Instance) scale() float64 { return 1e-13 * in.Problem.Facts.Smoothness * 100 }

// The KKT conditions of the lower level hold at the planted point, F* is f
// there, and the rows are what they are said to be.
func TestPlantedPoint(t *testing.T) {
	options := append(small(),
		Options{Family: Convex, Dx: 1000, Dy: 1000, Links: 100, Floors: 500, Active: 200, Kinks: 100, Weak: 20, Implied: 50, UpperActive: 30, Condition: 1e6},
		Options{Family: Slack, Dx: 500, Dy: 1000, Links: 100, Floors: 500, Active: 200, Kinks: 100, Weak: 20, Implied: 50, UpperActive: 30, Condition: 1e8},
	)
	for _, o := range options {
		in := instance(t, o)
		p, opt := in.Problem, in.Optimum
		kkt(t, in, opt.X, opt.Y, opt.Lambda)
		if f := p.F.Value(opt.X, opt.Y); math.Abs(f-opt.F) > 1e-11*float64(o.Dx+o.Dy) {
			t.Errorf("%+v: f(x*, y*) = %v, F* = %v", o, f, opt.F)
		}
		h := make([]float64, p.Rows.Len())
		p.Rows.Residual(h, opt.X, opt.Y)
		count := map[Activity]int{}
		for i, is := range opt.Activity {
			count[is]++
			tight := math.Abs(h[i]) < 1e-10
			positive := opt.Lambda[i] > 1e-3
			wrong := (p.Rows.Kind[i] == problem.Equal) != (is == link)
			switch is {
			case inactive:
				wrong = wrong || tight || math.Abs(opt.Lambda[i]) > 0
			case active:
				wrong = wrong || !tight || !positive
			case kink, weak:
				wrong = wrong || !tight || math.Abs(opt.Lambda[i]) > in.scale()
			}
			if wrong {
				t.Errorf("%+v: row %s is not %s: h %g, multiplier %g", o, p.Rows.Name[i], is, h[i], opt.Lambda[i])
			}
		}
		want := map[Activity]int{link: o.Links, active: o.Active, kink: o.Kinks, weak: o.Weak,
			inactive: o.Floors - o.Active - o.Kinks - o.Weak + o.Implied}
		for is, n := range want {
			if count[is] != n {
				t.Errorf("%+v: %d rows are %s, want %d", o, count[is], is, n)
			}
		}
		atBound := 0
		for j, x := range opt.X {
			if x < p.X.Lo[j] || x > p.X.Hi[j] || p.Start[j] < p.X.Lo[j] || p.Start[j] > p.X.Hi[j] {
				t.Errorf("%+v: x* or the start is outside X", o)
			}
			if x == p.X.Lo[j] || x == p.X.Hi[j] {
				atBound++
			}
		}
		if atBound != o.UpperActive {
			t.Errorf("%+v: %d entries of x* at a bound", o, atBound)
		}
	}
}

// kkt checks primal and dual feasibility, complementarity and stationarity.
func kkt(t *testing.T, in *Instance, x, y, lambda []float64) {
	t.Helper()
	p := in.Problem
	h := make([]float64, p.Rows.Len())
	p.Rows.Residual(h, x, y)
	grad := make([]float64, p.Dy)
	p.G.GradY(grad, x, y)
	p.Rows.B.AddMulVecT(grad, -1, lambda)
	for j, g := range grad {
		if math.Abs(g) > in.scale() {
			t.Errorf("%+v: stationarity %g in entry %d", in.Options, g, j)
			return
		}
	}
	for i := range h {
		if p.Rows.Kind[i] == problem.Equal {
			if math.Abs(h[i]) > 1e-10 {
				t.Errorf("%+v: %s is violated by %g", in.Options, p.Rows.Name[i], h[i])
			}
			continue
		}
		if h[i] > 1e-10 || lambda[i] < 0 || math.Abs(h[i]*lambda[i]) > in.scale() {
			t.Errorf("%+v: %s: h %g, multiplier %g", in.Options, p.Rows.Name[i], h[i], lambda[i])
		}
	}
}

// The analytic gradients agree with central differences, and the entry points
// with each other.
func TestGradients(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, o := range small() {
		in := instance(t, o)
		p := in.Problem
		x, y := normals(rng, p.Dx), normals(rng, p.Dy)
		for name, fn := range map[string]problem.Function{"f": p.F, "g": p.G, "clone of g": p.G.Clone()} {
			gx, gy, gy2 := make([]float64, p.Dx), make([]float64, p.Dy), make([]float64, p.Dy)
			value := fn.ValueGrad(gx, gy, x, y)
			if v := fn.ValueGradY(gy2, x, y); v != value || fn.Value(x, y) != value || !reflect.DeepEqual(gy, gy2) {
				t.Errorf("%+v: %s: entry points differ", o, name)
			}
			differences(t, fmt.Sprintf("%+v: %s in x", o, name), gx, x, func() float64 { return fn.Value(x, y) }, p.Facts.Smoothness)
			differences(t, fmt.Sprintf("%+v: %s in y", o, name), gy, y, func() float64 { return fn.Value(x, y) }, p.Facts.Smoothness)
		}
	}
}

// differences compares grad with central differences of value in at, with an
// error of rounding/step and, where not quadratic, step^2.
func differences(t *testing.T, label string, grad, at []float64, value func() float64, scale float64) {
	t.Helper()
	const step = 1e-5
	for j := range at {
		old := at[j]
		at[j] = old + step
		up := value()
		at[j] = old - step
		down := value()
		at[j] = old
		if fd := (up - down) / (2 * step); math.Abs(fd-grad[j]) > 1e-8*(100+scale) {
			t.Errorf("%s: entry %d: %v, differences give %v", label, j, grad[j], fd)
		}
	}
}

// No point of X, near or far, has a smaller F than the planted one. F comes
// from an enumeration of active sets that knows nothing of the construction.
func TestOptimumIsGlobal(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, o := range small() {
		in := instance(t, o)
		p, opt := in.Problem, in.Optimum
		for _, radius := range []float64{1e-3, 0.1, 1, 5} {
			for range 6 {
				x := normals(rng, p.Dx)
				for j := range x {
					x[j] = math.Max(p.X.Lo[j], math.Min(p.X.Hi[j], opt.X[j]+radius*x[j]))
				}
				var f float64
				if o.Curved {
					e, _ := in.Exact(x)
					kkt(t, in, x, e.Y, e.Lambda)
					f = e.F
				} else {
					y, lambda := enumerate(t, p, x)
					kkt(t, in, x, y, lambda)
					f = p.F.Value(x, y)
				}
				// rho/2 |x - x*|^2 is in every F - F* (Slack), or its modulus (Convex).
				distance := 0.0
				for j := range x {
					distance += (x[j] - opt.X[j]) * (x[j] - opt.X[j])
				}
				if f < opt.F+0.05*distance-1e-10 {
					t.Errorf("%+v: F = %v at %v, F* = %v", o, f, x, opt.F)
				}
			}
		}
	}
}

// Exact agrees with the enumeration, and its gradient with differences of F.
func TestExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, o := range small() {
		if o.Family != Convex || o.Curved {
			continue
		}
		in := instance(t, o)
		x := normals(rng, o.Dx)
		e, _ := in.Exact(x)
		y, lambda := enumerate(t, in.Problem, x)
		for j := range y {
			if math.Abs(y[j]-e.Y[j]) > 1e-10 {
				t.Errorf("%+v: y[%d] = %v, enumeration %v", o, j, e.Y[j], y[j])
			}
		}
		for i := range lambda {
			if math.Abs(lambda[i]-e.Lambda[i]) > in.scale()+1e-10 {
				t.Errorf("%+v: lambda[%d] = %v, enumeration %v", o, i, e.Lambda[i], lambda[i])
			}
		}
		if f := in.Problem.F.Value(x, y); math.Abs(f-e.F) > 1e-9 {
			t.Errorf("%+v: F = %v, enumeration %v", o, e.F, f)
		}
		differences(t, fmt.Sprintf("%+v: F", o), e.Gradient, x, func() float64 {
			e, _ := in.Exact(x)
			return e.F
		}, 0)
	}
	if _, ok := instance(t, Options{Family: Slack, Dx: 1, Dy: 1, Condition: 1}).Exact([]float64{0}); ok {
		t.Error("the family slack has no closed form")
	}
}

// F has a kink at x* exactly where one is planted: the second difference
// falls like the step, not like its square.
func TestKinks(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, o := range small() {
		if o.Curved || o.UpperActive > 0 {
			continue
		}
		in := instance(t, o)
		value := func(step float64, v []float64) float64 {
			x := make([]float64, len(v))
			for j := range x {
				x[j] = in.Optimum.X[j] + step*v[j]
			}
			y, _ := enumerate(t, in.Problem, x)
			return in.Problem.F.Value(x, y)
		}
		const step = 1e-5
		v := normals(rng, o.Dx)
		second := (value(step, v) - 2*in.Optimum.F + value(-step, v)) / step
		if kinked := second > 1e-3; kinked != (o.Kinks > 0) {
			t.Errorf("%+v: second difference over step is %g", o, second)
		}
	}
}

func TestOptionsAreReproducibleAndChecked(t *testing.T) {
	a, b := instance(t, Defaults()), instance(t, Defaults())
	if a.Model != b.Model || !reflect.DeepEqual(a.Data, b.Data) || !reflect.DeepEqual(a.Optimum, b.Optimum) {
		t.Error("equal options give different instances")
	}
	o := Defaults()
	o.Seed++
	if c := instance(t, o); reflect.DeepEqual(a.Optimum.X, c.Optimum.X) {
		t.Error("different seeds give the same x*")
	}
	for name, change := range map[string]func(*Options){
		"no x":          func(o *Options) { o.Dx = 0 },
		"too many rows": func(o *Options) { o.Floors = o.Dy },
		"too active":    func(o *Options) { o.Active = o.Floors },
		"negative":      func(o *Options) { o.Weak = -1 },
		"condition":     func(o *Options) { o.Condition = math.NaN() },
		"bounds of x":   func(o *Options) { o.UpperActive = o.Dx + 1 },
		"implied":       func(o *Options) { *o = Options{Dx: 1, Dy: 1, Implied: 1, Condition: 1} },
		"curved":        func(o *Options) { o.Family, o.Curved = Slack, true },
		"family":        func(o *Options) { o.Family = 7 },
	} {
		o := Defaults()
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func normals(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return v
}

// enumerate solves a lower level with quadratic g by trying every set of
// active floors: the one whose KKT system gives a feasible y and multipliers
// of the right sign.
func enumerate(t *testing.T, p *problem.Problem, x []float64) (y, lambda []float64) {
	t.Helper()
	n, m := p.Dy, p.Rows.Len()
	zero, grad0, grad := make([]float64, n), make([]float64, n), make([]float64, n)
	p.G.GradY(grad0, x, zero)
	hessian := make([][]float64, n) // columns, exact but for rounding: g is quadratic
	for j := range n {
		unit := make([]float64, n)
		unit[j] = 1
		p.G.GradY(grad, x, unit)
		hessian[j] = make([]float64, n)
		for i := range n {
			hessian[j][i] = grad[i] - grad0[i]
		}
	}
	var links, floors []int
	for i := range m {
		if p.Rows.Kind[i] == problem.Equal {
			links = append(links, i)
		} else {
			floors = append(floors, i)
		}
	}
	for set := range 1 << len(floors) {
		active := append([]int(nil), links...)
		for k, i := range floors {
			if set>>k&1 == 1 {
				active = append(active, i)
			}
		}
		// [H -B'; B 0] (y, lambda) = (-grad g(x, 0), A x - b)
		size := n + len(active)
		a := make([][]float64, size)
		for i := range a {
			a[i] = make([]float64, size+1)
		}
		for i := range n {
			for j := range n {
				a[i][j] = hessian[j][i]
			}
			a[i][size] = -grad0[i]
		}
		for k, i := range active {
			cols, vals := p.Rows.B.Row(i)
			for c, j := range cols {
				a[j][n+k] = -vals[c]
				a[n+k][j] = vals[c]
			}
			a[n+k][size] = p.Rows.A.RowDot(i, x) - p.Rows.Rhs[i]
		}
		z, ok := gauss(a)
		if !ok {
			continue
		}
		y, lambda = z[:n], make([]float64, m)
		for k, i := range active {
			lambda[i] = z[n+k]
		}
		h := make([]float64, m)
		p.Rows.Residual(h, x, y)
		for _, i := range floors {
			ok = ok && h[i] <= 1e-9 && lambda[i] >= -1e-9
			lambda[i] = math.Max(lambda[i], 0)
		}
		if ok {
			return y, lambda
		}
	}
	t.Fatal("no active set solves the lower level")
	return nil, nil
}

// gauss solves the augmented system a by elimination with row pivoting; false
// where it is singular.
func gauss(a [][]float64) ([]float64, bool) {
	n := len(a)
	for k := range n {
		pivot := k
		for i := k; i < n; i++ {
			if math.Abs(a[i][k]) > math.Abs(a[pivot][k]) {
				pivot = i
			}
		}
		if math.Abs(a[pivot][k]) < 1e-9 {
			return nil, false
		}
		a[k], a[pivot] = a[pivot], a[k]
		for i := k + 1; i < n; i++ {
			factor := a[i][k] / a[k][k]
			for j := k; j <= n; j++ {
				a[i][j] -= factor * a[k][j]
			}
		}
	}
	x := make([]float64, n)
	for k := n - 1; k >= 0; k-- {
		x[k] = a[k][n]
		for j := k + 1; j < n; j++ {
			x[k] -= a[k][j] * x[j]
		}
		x[k] /= a[k][k]
	}
	return x, true
}
