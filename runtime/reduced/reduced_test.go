package reduced_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/reduced"
	"bilevelc/runtime/tolerance"
)

// On planted problems each entry ends at a local minimum of its own F, whose pieces are known, at kinks exactly, and no solve ends above what the
// local minima allow.
func TestPlanted(t *testing.T) {
	rng := members.Rand(t, 1)
	best, kinks, long := 0, 0, 0
	const draws = 8
	sizes := []int{1, 2, 3, 5, 8, 13, 21, 34, 55}
	for draw := range draws * len(sizes) {
		c := draw % len(sizes)
		n := sizes[c]
		p := newPlanted(rng, n)
		sys, err := kkt.New(p.problem())
		if err != nil {
			t.Fatal(err)
		}
		r, err := reduced.Solve(t.Context(), sys, make([]float64, n), reduced.Options{NoPath: c%3 == 2})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != reduced.Stationary || r.Point.SecondOrder != kkt.Holds {
			t.Errorf("n %d: %v, left %g, least %g, second order %d", n, r.Status, r.Left, r.Least, r.Point.SecondOrder)
		}
		if res, size := sys.Residual(r.Point.Multipliers, r.Point.Z); res > 1e-9*size {
			t.Errorf("n %d: residual %g of %g", n, res, size)
		}
		value, atKinks := 0.0, 0
		for i, u := range rotate(p.u, n, sys.X(r.Point.Z)) {
			near := math.Inf(1)
			for _, m := range p.minima(i) {
				if d := math.Abs(u - m); d < math.Abs(u-near) {
					near = m
				}
			}
			if math.Abs(u-near) > 1e-8 {
				t.Errorf("n %d, entry %d: %v is none of %v", n, i, u, p.minima(i))
			}
			value += p.piece(i, near)
			if near == 0 || near == 1 {
				atKinks++
			}
		}
		if math.Abs(value-r.Point.F) > 1e-9*math.Abs(value) || len(r.Point.Biactive) != atKinks {
			t.Errorf("n %d: F %v, not %v; %d biactive rows, not %d", n, r.Point.F, value, len(r.Point.Biactive), atKinks)
		}
		kinks += atKinks
		if c%3 != 2 && r.Work.Rounds > 12 { // the path and the crossover leave little to the pieces
			long++
			t.Logf("n %d: %d rounds", n, r.Work.Rounds)
		}
		if r.Point.F <= p.optimum()*(1+1e-9) {
			best++
		}
		if r.Point.F < p.optimum()*(1-1e-9) {
			t.Errorf("n %d: F %v is below the optimum %v", n, r.Point.F, p.optimum())
		}
	}
	t.Logf("%d of %d at the optimum, %d kinks", best, draws*len(sizes), kinks)
	// Of 9 sizes 6.6 end at the optimum, with a standard deviation of 1.2 (400 draws); from the pieces alone 4.9. This is 4.3 deviations of the sum below.
	if best < 39 || kinks < 40*draws || long > 2 {
		t.Errorf("too few, or %d of many rounds", long)
	}
}

// gamma and nu are the slopes of F into the pieces next to a kink, along the moves that change one slack, or one multiplier, alone.
func TestMultipliersAreSlopes(t *testing.T) {
	rng := members.Rand(t, 2)
	slopes := 0
	for c := range 300 {
		p := random(rng, kind{equality: c%3 == 0, wave: c%2 == 0, sparse: c%4 < 2})
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		r, err := reduced.Solve(t.Context(), s, make([]float64, p.Dx), reduced.Options{Steps: 2000})
		if err != nil || r.Status != reduced.Stationary || len(r.Point.Biactive) == 0 {
			continue
		}
		x := s.X(r.Point.Z)
		inside := true
		for j, v := range x {
			inside = inside && v > p.X.Lo[j]+1e-3 && v < p.X.Hi[j]-1e-3
		}
		if !inside {
			continue
		}
		u := newTruth(t, s)
		biactive := map[int]bool{}
		for _, k := range r.Point.Biactive {
			biactive[s.Pairs[k].Row] = true
		}
		// By differences of exact answers: d F = gamma ds + nu dlambda over the biactive rows, to first order, in any direction, since the gradient along the manifold is 0.
		// off is what F grows by beyond what the multipliers say at the distance h along d, and the size of slacks and multipliers there.
		off := func(d []float64, h float64) (rest, size float64, ok bool) {
			w := append([]float64(nil), x...)
			linalg.Axpy(w, h, d)
			z, v, ok := u.at(w)
			if !ok {
				return 0, 0, false
			}
			slack := make([]float64, s.M)
			s.Slack(slack, nil, z)
			rest = v - r.Point.F
			for i := range s.M {
				if biactive[i] {
					rest -= r.Point.Multipliers.Slack[i]*slack[i] + r.Point.Multipliers.Lambda[i]*s.Lambda(z)[i]
					size += slack[i] + s.Lambda(z)[i]
				}
			}
			return rest, size, sameButFor(s, r.Point, z) && size >= h/10
		}
		for range 5 {
			const h = 1e-5
			d := make([]float64, len(x))
			for j := range d {
				d[j] = rng.NormFloat64()
			}
			rest, size, ok := off(d, h)
			if !ok || size > 100*h { // as steep as that it curves
				continue
			}
			slopes++
			if math.Abs(rest) <= 2e-2*size+1e3*h*h { // F curves over h, by what the size of s and lambda makes of it
				continue
			}
			if less, size, ok := off(d, h/10); !ok || math.Abs(less) > 2e-2*size && math.Abs(less) > math.Abs(rest)/50 { // of second order, a hundredth
				t.Errorf("case %d: F grows by %g more than the multipliers say, and by %g at a tenth of the distance", c, rest, less)
			}
		}
	}
	t.Logf("%d slopes", slopes)
	if slopes < 20 {
		t.Errorf("only %d slopes", slopes)
	}
}

// F never grows from step to step on the pieces, and a run that begins near the end of another, with its biactive rows, ends where that did over fewer kinks than one without them.
func TestFalls(t *testing.T) {
	rng := members.Rand(t, 4)
	warm, same, with, without := 0, 0, int64(0), int64(0)
	for c := range 36 {
		var p *problem.Problem
		if c%3 == 0 {
			p = newPlanted(rng, 12).problem()
		} else {
			p = random(rng, kind{wave: c%2 == 0, rows: c%4 == 1, equality: c%4 == 2, sparse: c%5 < 2})
		}
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		u := newTruth(t, s)
		if _, _, ok := u.at(make([]float64, p.Dx)); !ok {
			continue
		}
		last := math.Inf(1)
		first, err := reduced.Solve(t.Context(), s, make([]float64, p.Dx), reduced.Options{Observe: func(st reduced.Step) {
			if st.Phase != reduced.OnPieces {
				return
			}
			if st.F > last+1e-9*(1+math.Abs(last)) {
				t.Errorf("case %d: F grows from %v to %v", c, last, st.F)
			}
			last = st.F
		}})
		if err != nil {
			t.Fatal(err)
		}
		if first.Status != reduced.Stationary || len(first.Point.Biactive) == 0 {
			continue
		}
		x := slices.Clone(s.X(first.Point.Z))
		for j := range x {
			x[j] += 0.1 * rng.NormFloat64()
			if p.X.Lo != nil { // where the run begins
				x[j] = math.Max(p.X.Lo[j], math.Min(p.X.Hi[j], x[j]))
			}
		}
		if _, _, ok := u.at(x); !ok { // rows may leave no y there
			continue
		}
		again, err := reduced.Solve(t.Context(), s, x, reduced.Options{NoPath: true, Near: true, Warm: first.End})
		if err != nil {
			t.Fatal(err)
		}
		cold, err := reduced.Solve(t.Context(), s, x, reduced.Options{NoPath: true, Near: true})
		if err != nil {
			t.Fatal(err)
		}
		warm++
		if again.Status == reduced.Stationary && slices.Equal(again.Point.Biactive, first.Point.Biactive) {
			same++
		}
		with += again.Work.Crossings
		without += cold.Work.Crossings
	}
	if same < warm-members.Misses(warm, 0.1) || 2*with > without {
		t.Errorf("%d of %d warm starts lead back to the same biactive rows, over %d kinks; cold ones over %d", same, warm, with, without)
	}
	if warm < 8 {
		t.Errorf("only %d ends with biactive rows", warm)
	}
}

// A run that is stopped returns the feasible point that it has.
func TestStopped(t *testing.T) {
	p := newPlanted(rand.New(rand.NewPCG(5, 5)), 20)
	s, err := kkt.New(p.problem())
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range []int{1, 5, 12} {
		ctx, cancel := context.WithCancel(t.Context())
		steps := 0
		r, err := reduced.Solve(ctx, s, make([]float64, 20), reduced.Options{Observe: func(reduced.Step) {
			if steps++; steps == after {
				cancel()
			}
		}})
		if err != nil || r.Status != reduced.Interrupted {
			t.Fatalf("%v, %v", r, err)
		}
		_, value, ok := newTruth(t, s).at(s.X(r.Point.Z))
		if !ok || math.Abs(value-r.Point.F) > 1e-8*(1+math.Abs(value)) {
			t.Errorf("after %d steps F is %v, not %v", after, value, r.Point.F)
		}
		cancel()
		limited, err := reduced.Solve(t.Context(), s, make([]float64, 20), reduced.Options{Steps: after})
		if err != nil || limited.Status != reduced.OutOfSteps || limited.Point.F != r.Point.F {
			t.Errorf("%d steps: %v", after, err)
		}
	}
}

// What is outside the class, or has no solution, is told so, and a saddle is left along negative curvature.
func TestUnboundedAndSaddle(t *testing.T) {
	inf := math.Inf(1)
	make1 := func(m, c []float64) *problem.Problem {
		return &problem.Problem{Dx: 2, Dy: 1,
			F:     &smooth{nx: 2, n: 3, m: m, c: c},
			G:     &smooth{nx: 2, n: 3, m: []float64{0, 0, -1, 0, 0, 0, -1, 0, 1}, c: make([]float64, 3)}, // y = x_0, at least -1
			Rows:  &problem.Rows{Kind: make([]problem.Kind, 1), A: sparse.Empty(2), B: sparse.FromEntries(1, 1, []sparse.Entry{{Val: 1}}), Rhs: []float64{1}},
			X:     &problem.Set{Lo: []float64{-inf, -2}, Hi: []float64{inf, 3}, E: sparse.Empty(2)},
			Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 2}}
	}
	falls := make1(make([]float64, 9), []float64{0, 0, 1}) // y: down to -1, but -x_0 below
	falls.Rows.A.EndRow()
	falls.F.(*smooth).c[0] = 1
	s, err := kkt.New(falls)
	if err != nil {
		t.Fatal(err)
	}
	_, err = reduced.Solve(t.Context(), s, []float64{0, 0}, reduced.Options{})
	var ray *reduced.Unbounded
	if !errors.As(err, &ray) || !errors.Is(err, reduced.ErrUnbounded) {
		t.Fatalf("a problem without bound: %v", err)
	}
	for _, length := range []float64{1, 1e3} { // points of the ray are answers, and f falls along it
		z := append([]float64(nil), ray.Z...)
		for j, d := range ray.Ray {
			z[j] += length * d
		}
		at, value, ok := newTruth(t, s).at(s.X(z))
		if !ok || math.Abs(at[2]-z[2]) > 1e-9*length || math.Abs(at[3]-z[3]) > 1e-9*length || value > s.Value(ray.Z)-length/2*math.Hypot(ray.Ray[0], ray.Ray[1]) {
			t.Errorf("at %g of the ray: %v, not %v", length, at, z)
		}
	}
	falls.G.(*smooth).m[8] = 0 // a linear follower
	if s, err = kkt.New(falls); err != nil {
		t.Fatal(err)
	}
	if _, err := reduced.Solve(t.Context(), s, []float64{0, 0}, reduced.Options{}); !errors.Is(err, reduced.ErrClass) {
		t.Errorf("a linear follower: %v", err)
	}
	empty := make1([]float64{1, 0, 0, 0, 1, 0, 0, 0, 1}, make([]float64, 3)) // y >= -1 and y <= -2
	empty.Rows = &problem.Rows{Kind: make([]problem.Kind, 2), A: sparse.FromEntries(2, 2, nil),
		B: sparse.FromEntries(2, 1, []sparse.Entry{{Val: 1}, {Row: 1, Val: -1}}), Rhs: []float64{1, -2}}
	if s, err = kkt.New(empty); err != nil {
		t.Fatal(err)
	}
	if _, err := reduced.Solve(t.Context(), s, []float64{0, 0}, reduced.Options{}); !errors.Is(err, reduced.ErrInfeasible) {
		t.Errorf("a follower without a feasible y: %v", err)
	}
	// y^2 - x_1^2 at 0: a saddle. The best are (0, 3), at -9.
	saddle := make1([]float64{0, 0, 0, 0, -2, 0, 0, 0, 2}, make([]float64, 3))
	saddle.Rows.A.EndRow()
	if s, err = kkt.New(saddle); err != nil {
		t.Fatal(err)
	}
	r, err := reduced.Solve(t.Context(), s, []float64{0, 0}, reduced.Options{NoPath: true})
	if err != nil || r.Point.F > -4+1e-9 || r.Status != reduced.Stationary {
		t.Errorf("from a saddle: F %v, %v, %v", r.Point.F, r.Status, err)
	}
}

// Constraints of the leader that read the follower are kept, with multipliers of the right signs, and nothing next to the point that keeps them has a smaller F.
func TestCoupled(t *testing.T) {
	rng := members.Rand(t, 6)
	stationary, active, moved := 0, 0, 0
	for c := range 200 {
		p := random(rng, kind{equality: c%3 == 0, wave: c%5 == 0, dual: c%4 == 0, sparse: c%7 < 3, tall: c%7 == 5})
		f := p.F.(*smooth)
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		z, _, ok := newTruth(t, s).at(make([]float64, p.Dx))
		if !ok {
			continue
		}
		coupled, unit := &problem.Coupled{}, []float64{1, 1e6, 1e-6}[c%3]
		value := func(r int, z []float64) float64 {
			v := append(append([]float64{}, s.X(z)...), s.Y(z)...)
			for _, i := range p.Duals {
				v = append(v, s.Lambda(z)[i])
			}
			sum := -f.rhs[r]
			for i, u := range v {
				sum += f.rows[r][i] * u
			}
			return sum
		}
		for r := range 2 {
			row := make([]float64, f.n)
			for i := range p.Dx + p.Dy {
				row[i] = unit * rng.NormFloat64()
			}
			f.rows, f.rhs = append(f.rows, row), append(f.rhs, 0)
			f.rhs[r] = value(r, z) + 0.05*unit
			if c%2 == 0 {
				f.rhs[r] -= 0.15 * unit // broken at the start
			}
			coupled.Kind, coupled.Name, coupled.Weight = append(coupled.Kind, problem.AtMost), append(coupled.Name, ""), append(coupled.Weight, 1)
		}
		p.Coupled, p.Facts.AffineCoupled = coupled, true
		if s, err = kkt.New(p); err != nil {
			t.Fatal(err)
		}
		u := newTruth(t, s)
		r, err := reduced.Solve(t.Context(), s, make([]float64, p.Dx), reduced.Options{Steps: 2000})
		if c%2 == 0 && errors.Is(err, reduced.ErrInfeasible) || c%7 < 3 && errors.Is(err, reduced.ErrFactors) {
			continue // there may be no such point; sparse factors are bounded: counted below
		}
		if err != nil {
			t.Errorf("case %d: %v", c, err)
			continue
		}
		x, m := s.X(r.Point.Z), r.Point.Multipliers
		for i := range 2 {
			if v, push := value(i, r.Point.Z)/unit, m.Coupled[i]*unit; v > 1e-8 || push < -1e-7 && r.Status == reduced.Stationary || v < -1e-7 && push != 0 {
				t.Errorf("case %d: a constraint at %g has the multiplier %g", c, v, push)
			} else if push > 1e-7 {
				active++
			}
		}
		if r.Status != reduced.Stationary {
			continue
		}
		stationary++
		signs(t, s, r)
		still, err := reduced.Solve(t.Context(), s, x, reduced.Options{Still: true})
		if err == nil && len(p.Duals) > 0 && math.Abs(still.Point.F-r.Point.F) > 1e-6*(1+math.Abs(r.Point.F)) {
			continue // f reads multipliers, which x does not determine here
		}
		if err != nil || math.Max(still.Left, -still.Least) > 1e-6 {
			moved++ // rows that are dependent nearly to rounding
			t.Logf("case %d: where it stands: %+v, %v", c, still, err)
		} else {
			for i := range 2 {
				if math.Abs(still.Point.Multipliers.Coupled[i]-m.Coupled[i])*unit > 1e-5 {
					t.Errorf("case %d: a constraint has the multiplier %g, and %g where the point stands", c, m.Coupled[i], still.Point.Multipliers.Coupled[i])
				}
			}
		}
		for range 40 {
			d := 1e-5
			w := append([]float64(nil), x...)
			for j := range w {
				w[j] = math.Max(p.X.Lo[j], math.Min(p.X.Hi[j], w[j]+d*rng.NormFloat64()))
			}
			z, v, ok := u.at(w)
			if !ok || len(p.Duals) > 0 || value(0, z) > 0 || value(1, z) > 0 || !sameButFor(s, r.Point, z) {
				continue
			}
			if v < r.Point.F-100*d*d-10*tolerance.Sign*(1+math.Abs(v)) {
				t.Errorf("case %d: F falls by %g", c, r.Point.F-v)
			}
		}
	}
	t.Logf("%d stationary, %d constraints with multipliers", stationary, active)
	if stationary < 150 || active < 50 || moved > members.Misses(stationary, 0.005) {
		t.Errorf("too few, or %d multipliers are others where the point stands", moved)
	}
}

// Where a point stands its x stays, to the last digit, though rows that count as biactive are off by rounding and more: the multipliers of another x, to which they would have to go, are not its own.
func TestStandingPointsStay(t *testing.T) {
	rng := members.Rand(t, 33)
	biactive := 0
	for c := range 100 {
		p := random(rng, kind{nonconvex: c%2 == 0, equality: c%3 == 0, corner: true})
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		r, err := reduced.Solve(t.Context(), s, make([]float64, p.Dx), reduced.Options{Steps: 3000})
		if err != nil || r.Status != reduced.Stationary {
			continue
		}
		x := append([]float64(nil), s.X(r.Point.Z)...)
		for j := range x {
			if p.X.Lo[j]+1e-6 < x[j] && x[j] < p.X.Hi[j]-1e-6 {
				x[j] += 1e-11 * rng.NormFloat64()
			}
		}
		still, err := reduced.Solve(t.Context(), s, x, reduced.Options{Still: true})
		if err != nil {
			continue // beyond the edge of where the follower has an answer
		}
		biactive += len(still.Point.Biactive)
		for j, at := range s.X(still.Point.Z) {
			if at != x[j] {
				t.Errorf("case %d: x[%d] is %v, not %v", c, j, at, x[j])
			}
		}
	}
	if biactive < 50 {
		t.Errorf("%d biactive rows", biactive)
	}
}

// The derivatives of F_mu are those of differences, also of multipliers that the leader reads and of f that is not quadratic.
func TestSmoothed(t *testing.T) {
	rng := members.Rand(t, 7)
	checked, apart, bent := 0, 0, 0
	for c := range 200 {
		p := random(rng, kind{wave: c%2 == 0, dual: c%3 > 0, equality: c%5 < 2, tall: c%7 == 4})
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		const mu, h = 0.1, 1e-4
		x, d := make([]float64, p.Dx), make([]float64, p.Dx)
		for j := range x {
			x[j], d[j] = 0.3*rng.NormFloat64(), rng.NormFloat64()
		}
		along := func(t float64) []float64 {
			w := append([]float64(nil), x...)
			for j := range w {
				w[j] += t * d[j]
			}
			return w
		}
		_, grad, product := reduced.Smoothed(s, x, mu)
		ahead, up, _ := reduced.Smoothed(s, along(h), mu)
		behind, down, _ := reduced.Smoothed(s, along(-h), mu)
		farAhead, further, _ := reduced.Smoothed(s, along(2*h), mu)
		farBehind, back, _ := reduced.Smoothed(s, along(-2*h), mu)
		if grad == nil || up == nil || down == nil || further == nil || back == nil {
			continue
		}
		checked++
		slope, size := 0.0, 1.0
		for j, v := range grad {
			slope += v * d[j]
			size += math.Abs(v)
		}
		// Points of the path are found to parts of mu; differences divide them by their step, so that the longest that F_mu is straight over tells most.
		wideAhead, _, _ := reduced.Smoothed(s, along(8*h), mu)
		wideBehind, _, _ := reduced.Smoothed(s, along(-8*h), mu)
		off, growth := math.Inf(1), 0.0
		for _, v := range []float64{(ahead - behind) / (2 * h), (farAhead - farBehind) / (4 * h), (wideAhead - wideBehind) / (16 * h)} {
			if math.Abs(v-slope) < off {
				off, growth = math.Abs(v-slope), v
			}
		}
		if off > 1e-2*size {
			apart++
			t.Logf("case %d: F_mu grows by %g, the gradient says %g", c, growth, slope)
		}
		got := make([]float64, p.Dx)
		product(got, d)
		off = 0
		length, noise := 1.0, 0.0
		for j := range got {
			v := (up[j] - down[j]) / (2 * h)
			off, length = math.Max(off, math.Abs(v-got[j])), math.Max(length, math.Abs(v))
			noise = math.Max(noise, math.Abs(v-(further[j]-back[j])/(4*h))) // of the points of the path, which is halved with twice the step
		}
		if off > 2e-2*length+2*noise {
			bent++
			t.Logf("case %d: the product is off by %g of %g", c, off, length)
		}
	}
	if checked < 100 {
		t.Errorf("only %d points", checked)
	}
	// F_mu bends within a step here and there, at one point in some thousands. Wrong derivatives are so at most of them.
	if apart > checked/50 || bent > checked/50 {
		t.Errorf("%d gradients and %d products of %d are not those of differences", apart, bent, checked)
	}
}

// A row with neither a slack nor a multiplier is not taken for strong or inactive: F = x - y + y^2/2 with y = max(x, 0) has a slope of 0 at 0 on the side where y = x, and
// falls on the other.
func TestWeakRow(t *testing.T) {
	p := &problem.Problem{Dx: 1, Dy: 1,
		F:    &smooth{nx: 1, n: 2, m: []float64{0, 0, 0, 1}, c: []float64{1, -1}},
		G:    &smooth{nx: 1, n: 2, m: []float64{0, -1, -1, 1}, c: make([]float64, 2)},
		Rows: &problem.Rows{Kind: make([]problem.Kind, 1), A: sparse.FromEntries(1, 1, nil), B: sparse.FromEntries(1, 1, []sparse.Entry{{Val: 1}}), Rhs: make([]float64, 1)},
		X:    &problem.Set{Lo: []float64{-1}, Hi: []float64{1}, E: sparse.Empty(1)}, Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 2}}
	s, err := kkt.New(p)
	if err != nil {
		t.Fatal(err)
	}
	r, err := reduced.Solve(t.Context(), s, []float64{0}, reduced.Options{NoPath: true})
	if err != nil || r.Status != reduced.Stationary || math.Abs(r.Point.F+1) > 1e-12 {
		t.Errorf("F %v, %v, %v", r.Point.F, r.Status, err)
	}
}

// Where slacks times multipliers are beyond the range of numbers there is no mu to begin a path with, and none to shrink: F = y/2 - x with y = max(x, 0) falls to the upper end of X.
func TestNoPathFromFarPoints(t *testing.T) {
	p := &problem.Problem{Dx: 1, Dy: 1,
		F:    &smooth{nx: 1, n: 2, m: make([]float64, 4), c: []float64{-1, 0.5}},
		G:    &smooth{nx: 1, n: 2, m: []float64{0, -1, -1, 1}, c: make([]float64, 2)},
		Rows: &problem.Rows{Kind: make([]problem.Kind, 1), A: sparse.FromEntries(1, 1, nil), B: sparse.FromEntries(1, 1, []sparse.Entry{{Val: 1}}), Rhs: make([]float64, 1)},
		X:    &problem.Set{Lo: []float64{-1e200}, Hi: []float64{1e200}, E: sparse.Empty(1)}, Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 2}}
	s, err := kkt.New(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, x0 := range []float64{0.5e200, 1e-200} {
		r, err := reduced.Solve(t.Context(), s, []float64{x0}, reduced.Options{})
		if err != nil || r.Status != reduced.Stationary || r.Point.F != -0.5e200 {
			t.Errorf("from %g: F %v, %v, %v", x0, r.Point.F, r.Status, err)
		}
	}
}

// From a point at which all rows are biactive, whose slacks and multipliers say nothing of how long they are elsewhere, the path leads on, too: without it each bound of X takes a step of its own.
func TestPathFromBiactiveRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 1))
	const nx, ny, n = 120, 12, 132
	f := &smooth{nx: nx, n: n, m: make([]float64, n*n), c: make([]float64, n)}
	g := &smooth{nx: nx, n: n, m: make([]float64, n*n), c: make([]float64, n)}
	for j := range nx {
		f.m[j*n+j], f.c[j] = 1, rng.NormFloat64()
		for i := range ny {
			v := -rng.NormFloat64()
			g.m[(nx+i)*n+j], g.m[j*n+nx+i] = v, v
		}
	}
	rows := &problem.Rows{Kind: make([]problem.Kind, ny), A: sparse.FromEntries(ny, nx, nil), B: sparse.Empty(ny), Rhs: make([]float64, ny)}
	for i := range ny {
		f.c[nx+i], g.m[(nx+i)*n+nx+i] = 2, 1
		rows.B.Append(i, 1) // y_i >= 0
		rows.B.EndRow()
	}
	x := &problem.Set{E: sparse.Empty(nx)}
	for range nx {
		x.Lo, x.Hi = append(x.Lo, -1), append(x.Hi, 1)
	}
	s, err := kkt.New(&problem.Problem{Dx: nx, Dy: ny, F: f, G: g, Rows: rows, X: x, Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 2}})
	if err != nil {
		t.Fatal(err)
	}
	path, steps := 0, 0
	r, err := reduced.Solve(t.Context(), s, make([]float64, nx), reduced.Options{Observe: func(step reduced.Step) {
		if steps++; step.Phase == reduced.OnPath {
			path++
		}
	}})
	if err != nil || r.Status != reduced.Stationary {
		t.Fatalf("%v, %v", r.Status, err)
	}
	down, err := reduced.Solve(t.Context(), s, make([]float64, nx), reduced.Options{NoPath: true})
	if err != nil || math.Abs(down.Point.F-r.Point.F) > 1e-9*math.Abs(r.Point.F) {
		t.Errorf("F %v by the path, %v without, %v", r.Point.F, down.Point.F, err)
	}
	if path == 0 || steps > nx/2 {
		t.Errorf("%d steps, %d of them on the path", steps, path)
	}
}
