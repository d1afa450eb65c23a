package certify

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/extended"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// jointCase is a random solved document with a certificate over both levels' rows, and its
// problem, in units of x, y and f of its own. What the multipliers and the normal leave of
// grad f is leftX and leftY, in parts of the size of grad f in x and in y. Rows of the lower
// level move y by as much as g does, or, faint, by next to nothing.
func jointCase(rng *rand.Rand, leftX, leftY float64, faint bool) (*Document, *problem.Problem, float64) {
	unit := func() float64 { return math.Pow(10, float64(rng.IntN(13)-6)) }
	ux, uy, uf, ug := unit(), unit(), unit(), unit()
	dx, dy, m := 1+rng.IntN(3), 1+rng.IntN(3), 1+rng.IntN(4)
	weak := 1.0
	if faint { // and leave y room to move
		weak, dy, m = 1e-6, 2+rng.IntN(3), 1
	}
	x, y, lambda := make([]float64, dx), make([]float64, dy), make([]float64, m)
	set := &problem.Set{E: sparse.FromEntries(0, dx, nil)}
	joint := &Joint{Multipliers: make([]float64, m), Normal: make([]float64, dx)}
	gx, gy := make([]float64, dx), make([]float64, dy)
	width := 0.0
	for j := range x {
		half := ux * (1 + rng.Float64())
		width = math.Max(width, half)
		x[j] = ux * rng.NormFloat64()
		lo, hi := x[j]-half, x[j]+half
		switch rng.IntN(3) { // at a bound the normal points out
		case 0:
			lo, hi = x[j], x[j]+2*half
			joint.Normal[j] = -uf / ux * rng.Float64()
		case 1:
			lo, hi = x[j]-2*half, x[j]
			joint.Normal[j] = uf / ux * rng.Float64()
		}
		set.Lo, set.Hi = append(set.Lo, lo), append(set.Hi, hi)
		gx[j] -= joint.Normal[j]
	}
	rows := &problem.Rows{Kind: make([]problem.Kind, m), Rhs: make([]float64, m)}
	a, b := make([]float64, m*dx), make([]float64, m*dy)
	pull := make([]float64, dy)
	for j := range y {
		y[j] = uy * rng.NormFloat64()
	}
	for i := range m {
		active := i == 0
		if !active && rng.IntN(2) == 0 {
			rows.Rhs[i] = 0.1 + rng.Float64() // slack
		} else if rng.IntN(2) == 0 || active {
			lambda[i] = ug / uy * (0.1 + rng.Float64())
		}
		if rows.Rhs[i] == 0 {
			joint.Multipliers[i] = uf * (0.1 + rng.Float64())
		}
		for j := range x {
			a[i*dx+j] = weak * rng.NormFloat64() / ux
			rows.Rhs[i] += a[i*dx+j] * x[j]
			gx[j] -= joint.Multipliers[i] * a[i*dx+j]
		}
		for j := range y {
			b[i*dy+j] = rng.NormFloat64() / uy
			rows.Rhs[i] -= b[i*dy+j] * y[j]
			gy[j] += joint.Multipliers[i] * b[i*dy+j]
			pull[j] += lambda[i] * b[i*dy+j]
		}
	}
	rows.A, rows.B = sparse.FromDense(m, dx, a), sparse.FromDense(m, dy, b)
	along := func(v []float64, part, size float64) {
		way := make([]float64, len(v))
		for j := range way {
			way[j] = rng.NormFloat64()
		}
		for j := range v {
			v[j] += part * size * way[j] / norm(way)
		}
	}
	along(gx, leftX, norm(gx)+norm(gy)*uy/ux)
	along(gy, leftY, norm(gy))
	// g = |s (y/uy - x/ux)|^2 / 2 with a tilt that makes the rows' multipliers lambda.
	stiff, slope := make([]float64, dy), make([]float64, dy)
	for j := range y {
		stiff[j] = math.Sqrt(ug) / uy
		if j < dx {
			slope[j] = math.Sqrt(ug) / ux
		}
	}
	tilt := make([]float64, dy)
	quadratic{a: stiff, b: slope}.GradY(tilt, x, y)
	for j := range tilt {
		tilt[j] = pull[j] - tilt[j]
	}
	p := &problem.Problem{Name: "joint", Dx: dx, Dy: dy, F: quadratic{c: gx, d: gy}, G: quadratic{a: stiff, b: slope, d: tilt},
		Rows: rows, X: set, Start: slices.Clone(x), Facts: problem.Facts{StrongConvexity: ug / (uy * uy), QuadraticInY: true, FixedHessian: true}}
	var held []int
	for i, l := range lambda {
		if l > 0 {
			held = append(held, i)
		}
	}
	doc := &Document{X: x, Y: y, Lambda: lambda, Solved: true, Stationary: true, Upper: p.F.Value(x, y), Lower: p.G.Value(x, y),
		Certificate: &Certificate{Lower: lowerOf(p, x, y, lambda, held), Joint: joint}}
	v := &verification{doc: doc, p: p, tol: defaultTolerances()}
	v.d = newDeriver(p, v.tol, x, y, lambda)
	rx, ry, _ := v.pulls(joint)
	joint.Norm = math.Hypot(norm(rx), unitOfY(p)*norm(ry))
	return doc, p, width
}

// What a document that is solved may claim over both levels' rows: a radius and a measure
// within the limits, and within the accuracy that was asked for; each forged number is
// refused, and named.
func TestJointCertificates(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 14))
	unneeded := 0
	for trial := range 200 {
		seed := rng.Uint64()
		again := func(leftX, leftY float64, faint bool, change func(doc *Document, width float64)) *Report {
			doc, p, width := jointCase(rand.New(rand.NewPCG(seed, 0)), leftX, leftY, faint)
			if change != nil {
				change(doc, width)
			}
			return Verify(doc, p)
		}
		refused := func(what string, r *Report, claim string) {
			t.Helper()
			if !slices.ContainsFunc(r.Failures(), func(c Check) bool { return strings.Contains(c.Claim, claim) }) {
				t.Errorf("trial %d: %s: no failure of %q: %v", trial, what, claim, r.Failures())
			}
		}
		accepted := func(what string, r *Report) {
			t.Helper()
			if !slices.ContainsFunc(r.Checks, func(c Check) bool { return strings.Contains(c.Claim, "measure over both") }) || len(r.Failures()) > 0 {
				t.Errorf("trial %d: %s: %v", trial, what, r.Failures())
			}
		}
		faint := trial%2 == 1
		accepted("the honest document", again(0, 0, faint, nil))
		accepted("a small measure", again(1e-4, 1e-4, faint, nil))
		// The width is the largest half interval of x.
		accepted("a radius within a hundredth", again(0, 0, faint, func(d *Document, w float64) { d.Certificate.Joint.Delta = 0.99e-2 * w }))
		refused("a radius beyond a hundredth", again(0, 0, faint, func(d *Document, w float64) { d.Certificate.Joint.Delta = 1.01e-2 * w }), "radius delta")
		refused("a measure in x", again(0.5, 0, faint, nil), "measure over both")
		refused("a measure beyond what was asked", again(1e-3, 0, faint, func(d *Document, _ float64) { d.Epsilon = 1e-6 }), "measure over both")
		if faint { // x moves y by g alone, so that the rows' unit says little
			refused("a measure in y", again(0, 0.5, true, nil), "measure over both")
		}
		refused("a false norm", again(1e-4, 0, faint, func(d *Document, _ float64) { d.Certificate.Joint.Norm /= 2 }), "norm")
		if !faint { // faint rows are worth next to nothing in x; what they leave of y is measured
			// lambda itself goes without a row at which it is 0, and needs an independent one
			// at which it is not: that row is an equation, and what is false then is the norm.
			claim := "norm"
			negative := again(0, 0, false, func(d *Document, _ float64) {
				row := 0
				for i, l := range d.Lambda {
					if l == 0 && d.Certificate.Joint.Multipliers[i] > 0 {
						row, claim = i, "are not negative"
						unneeded++
						break
					}
				}
				d.Certificate.Joint.Multipliers[row] *= -1
			})
			refused("a negative multiplier", negative, claim)
		}
		refused("a multiplier left out", again(0, 0, faint, func(d *Document, _ float64) { d.Certificate.Joint.Multipliers[0] = 0 }), "norm")
		// Where the rows outnumber y they hold x as well, and their normals count.
		_, p, _ := jointCase(rand.New(rand.NewPCG(seed, 0)), 0, 0, faint)
		turned, edge := false, p.Rows.Len() > p.Dy
		inward := again(0, 0, faint, func(d *Document, _ float64) {
			for j, n := range d.Certificate.Joint.Normal {
				d.Certificate.Joint.Normal[j], turned = -n, turned || n != 0
			}
		})
		if turned && !edge {
			refused("a normal that points in", inward, "normal cone")
		}
	}
	if unneeded < 20 {
		t.Errorf("%d rows that lambda goes without were given a negative multiplier", unneeded)
	}
}

// What takes no part in such a certificate keeps it from being one: rows of the upper level that read y, multipliers
// that f reads, balls, and further variables of X.
func TestJointCertificatesLeaveNothingOut(t *testing.T) {
	doc, p, _ := jointCase(rand.New(rand.NewPCG(3, 15)), 0, 0, false)
	for name, change := range map[string]func(p *problem.Problem){
		"rows that read y":  func(p *problem.Problem) { p.Coupled = &problem.Coupled{} },
		"multipliers":       func(p *problem.Problem) { p.Duals = []int{0} },
		"balls":             func(p *problem.Problem) { p.X = &problem.Set{Balls: []problem.Ball{{}}} },
		"further variables": func(p *problem.Problem) { p.X = &problem.Set{Extended: &extended.Rows{}} },
	} {
		other := *p
		change(&other)
		v := &verification{doc: doc, p: &other, tol: defaultTolerances()}
		v.joint(doc.Certificate.Joint)
		if len(v.Checks) != 1 || v.Checks[0].OK {
			t.Errorf("%s: %v", name, v.Checks)
		}
	}
}
