package certify

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// residualRounding is by how much two computations of a residual may differ: by what either may be, since the run measures each entry in the units of the relaxation and the verification those of x and
// of y together, and a rounding for each entry of y, which an entry of grad_x is a sum over.
func (v *verification) residualRounding() float64 {
	return tolerance.Certified + float64(v.p.Dy)*0x1p-52
}

// pointOfSystem is the document's point with what its slacks and multipliers are relative to. Each is measured by what it is a sum of or is set against itself, whatever units other
// entries of y are in; what rounding of the others may make of it is 0.
type pointOfSystem struct {
	slack, mult []float64 // len m: s over the terms of its row, lambda over the largest that forces on its entries of y make it; 0 where negative, or rounding
	reach, push []float64 // len m: these sizes, of s and of lambda
	length      []float64 // len Dy: of y_j, or how far from 0 rows set it
	force       []float64 // len Dy: the largest term of the follower's stationarity in y_j
	far         []float64 // len Dy: how far from 0 y_j may be, of which it has the rounding: its size, and that of the terms of its rows
	brought     []float64 // len Dy: the rounding that multipliers of rows bring to it
	rounded     []bool    // len m: all that the row adds up is what elimination leaves of the longest entry of y, so that s is 0 to that
}

func (v *verification) pointOfSystem() *pointOfSystem {
	p, x, y, lambda := v.p, v.doc.X, v.doc.Y, v.doc.Lambda
	m := p.Rows.Len()
	at := &pointOfSystem{rounded: make([]bool, m)}
	length := v.length()
	for _, f := range []*[]float64{&at.slack, &at.mult, &at.reach, &at.push} {
		*f = make([]float64, m)
	}
	at.force = v.forces()
	for i, l := range lambda {
		for j, a := range p.Rows.B.Entries(i) {
			at.force[j] = math.Max(at.force[j], math.Abs(a*l))
		}
	}
	at.far, at.length, at.brought = each.Of(y, math.Abs), each.Of(y, math.Abs), make([]float64, p.Dy)
	for i := range m {
		at.reach[i] = p.Rows.A.AddTerms(math.Abs(p.Rows.Rhs[i]), i, x)
		for j, v := range p.Rows.B.Nonzeros(i) {
			at.length[j] = math.Max(at.length[j], at.reach[i]/math.Abs(v))
			at.push[i] = math.Max(at.push[i], at.force[j]/math.Abs(v))
		}
		at.reach[i] = p.Rows.B.AddTerms(at.reach[i], i, y)
		for j, v := range p.Rows.B.Nonzeros(i) {
			at.far[j] = math.Max(at.far[j], at.reach[i]/math.Abs(v))
			at.brought[j] = math.Max(at.brought[j], tolerance.Eliminated*math.Abs(v)*at.push[i])
		}
	}
	for i := range m { // an entry that its bound holds at 0 has no rounding of others
		if j, coef := p.Rows.Bound(i); j >= 0 && coef != 0 && y[j] == 0 && at.reach[i] == 0 {
			at.length[j] = 0
		}
	}
	var errors []float64
	for i := range m {
		noise, pushed, whole := 0.0, 0.0, 0.0
		for j, v := range p.Rows.B.Nonzeros(i) {
			whole = math.Max(whole, tolerance.Eliminated*math.Abs(v)*length)
			noise = math.Max(noise, tolerance.Eliminated*math.Abs(v)*at.far[j])
			pushed = math.Max(pushed, at.brought[j]/math.Abs(v))
		}
		slack := -v.d.residual(i, x, y)
		if mu := p.Facts.StrongConvexity; mu > 0 {
			for j, a := range p.Rows.B.Entries(i) { // what H makes of the rounding of forces that cancel
				if of := tolerance.Eliminated * math.Abs(a) * at.force[j]; slack > noise && slack <= of/mu {
					noise = math.Max(noise, share(of, v.curvature(j)))
				}
			}
		}
		at.rounded[i] = at.reach[i] <= 2*whole && slack <= whole
		at.slack[i] = share(math.Max(0, slack-noise), at.reach[i])
		push := at.push[i]
		if lambda[i] > 0 && lambda[i]-pushed <= tolerance.Weak*push { // in doubt
			if errors == nil {
				errors = v.multiplierErrors(at.force)
			}
			if e := errors[i]; e < pushed { // entries in which the row is small say little of its multiplier, beside those in which it is large
				pushed, push = e, min(push, e/tolerance.Eliminated)
			}
		}
		at.mult[i] = share(math.Max(0, lambda[i]-pushed), push)
	}
	return at
}

// curvature is the second derivative of g in entry j of y; +Inf where it is not known.
func (v *verification) curvature(j int) float64 {
	e := make([]float64, v.p.Dy)
	e[j] = 1
	_, hy, _, err := v.d.products(v.doc.X, v.doc.Y, e)
	if err != nil || !(hy[j] > 0) {
		return math.Inf(1)
	}
	return hy[j]
}

// sizesOfF are sizes of the terms of grad f at a point: of entries in x and in y, and of what they make of f; sum is that of what each makes of f on its own, which is the
// same in all units of x and y, and most what of a large number that is carried to x counts.
type sizesOfF struct {
	x, y, sum, most float64
	lostX, lostY    float64 // by how much grad f changes where entries of x and of the answer move by their rounding
}

// gradientOfSystem is the gradient of f + Coupled'c in x and in the answer, with the sizes of its terms. These are told from f at the point itself and where entries are half way to 0:
// they do not depend on how wide X is.
func (v *verification) gradientOfSystem(m *Multipliers, lengths []float64) (gx, ga []float64, terms sizesOfF) {
	q := v.p.Signed(m.Coupled)
	x, y := v.doc.X, v.doc.Y
	gx, ga = gradXY(v.d.f, x, q.Answer(y, v.doc.Lambda))
	eachX, eachY := make([]float64, q.Dx), make([]float64, q.Dy)
	raise(eachX, gx, make([]float64, q.Dx), 1)
	raise(eachY, ga[:q.Dy], make([]float64, q.Dy), 1)
	terms = v.termsNear(q, gx, ga, eachX, eachY)
	own, sum := absolute(eachX, x)+absolute(eachY, y), absolute(eachX, x)+absolute(eachY, lengths) // each entry in its own unit
	// The adjoint and the multipliers of slacks carry what f feels of y to x. Those that are large and cancel are no terms of f: what counts of them is limited by what f's own make of it,
	// and where x and y vanish by what grad_y f itself carries to x, which alone tells there: H^-1 of it is about its length over how long H makes it, or found where g has no term of x and of entries that f feels; and a row
	// with a'x and b y_j has a/b of entry j.
	px, py, _, err := v.d.products(x, y, ga[:q.Dy])
	through := 0.0
	if err == nil && maxAbs(py) > 0 {
		through = terms.y / maxAbs(py) * maxAbs(px)
	}
	for i := range q.Rows.Len() {
		a := largest(q.Rows.A, i)
		for j, c := range q.Rows.B.Entries(i) {
			through = math.Max(through, share(a*math.Abs(ga[j]), math.Abs(c)))
		}
	}
	if terms.most = tolerance.Hiding * share(own, maxAbs(x)); terms.most == 0 {
		if through == 0 {
			_, inX, _ := v.solved(ga[:q.Dy])
			through = maxAbs(inX)
		}
		terms.most = tolerance.Hiding * through
	}
	count := func(px, py []float64, by float64) {
		terms.x = math.Max(terms.x, math.Min(by*maxAbs(px), terms.most))
		terms.y = math.Max(terms.y, math.Min(by*maxAbs(py), tolerance.Hiding*share(own, maxAbs(y))))
		carried := by * (absolute(px, x) + absolute(py, lengths))
		terms.sum = math.Max(terms.sum, math.Min(sum+carried, tolerance.Hiding*sum))
	}
	for k := range signings {
		if px, py, _, err := v.d.products(x, y, turned(m.Adjoint, k)); err == nil {
			count(px, py, 1)
		}
	}
	if err == nil && maxAbs(py) > 0 {
		count(px, nil, terms.y/maxAbs(py))
	}
	px = make([]float64, q.Dx)
	q.Rows.A.AddMulVecT(px, 1, m.Slack)
	count(px, nil, 1)
	terms.sum = math.Max(terms.sum, sum)
	// Where f hardly feels x the rounding of adjoints is all there is: slopes count beside those that change f by its terms from one end of X to the other.
	if wide := v.wide(); wide > 0 {
		terms.x = math.Max(terms.x, terms.sum/wide)
	}
	return gx, ga, terms
}

// termsNear are the sizes of the terms of grad f of q at the document's point, where it is (gx, ga), and by how much it changes by rounding; of each entry in eachX and eachY.
func (v *verification) termsNear(q *problem.Problem, gx, ga, eachX, eachY []float64) (terms sizesOfF) {
	at := slices.Concat(v.doc.X, q.Answer(v.doc.Y, v.doc.Lambda))
	for k := range signings {
		half := halfWay(at, k)
		hx, ha := gradXY(v.d.f, half[:q.Dx], half[q.Dx:])
		if !isFinite(hx) { // f has no value there, off X: half way to the bound tells
			for j, t := range v.doc.X {
				half[j] = math.Min(math.Max(half[j], (t+q.X.Lo[j])/2), (t+q.X.Hi[j])/2)
			}
			hx, ha = gradXY(v.d.f, half[:q.Dx], half[q.Dx:])
		}
		terms.x = math.Max(terms.x, maxAbs(gx)+raise(eachX, gx, hx, 2))
		terms.y = math.Max(terms.y, maxAbs(ga[:q.Dy])+raise(eachY, ga, ha, 2))
		near := turned(at, k)
		for j, t := range at {
			near[j] = t + 0x1p-52*near[j]
		}
		hx, ha = gradXY(v.d.f, near[:q.Dx], near[q.Dx:])
		terms.lostX, terms.lostY = math.Max(terms.lostX, raise(make([]float64, q.Dx), gx, hx, 1)), math.Max(terms.lostY, raise(make([]float64, q.Dy), ga, ha, 1))
	}
	return terms
}

// lost is by how much the gradient of f changes at the document's point where entries of x and of the answer move by their rounding, by its terms.
func (v *verification) lost() float64 {
	q := v.p.Signed(nil)
	gx, ga := gradXY(v.d.f, v.doc.X, q.Answer(v.doc.Y, v.doc.Lambda))
	terms := v.termsNear(q, gx, ga, make([]float64, q.Dx), make([]float64, q.Dy))
	return math.Max(share(terms.lostX, terms.x), share(terms.lostY, terms.y))
}

// wide is the largest entry of x, or width of X where that is more; +Inf of an X without end.
func (v *verification) wide() float64 {
	return slices.Max(append(minus(v.p.X.Hi, v.p.X.Lo), maxAbs(v.doc.X)))
}

// signings are how many times the terms of a product are looked at with other signs. In a sum of terms that cancel a random half of the signs turned leaves at least the
// largest term with probability 1/2.
const signings = 8

// turned is a with the signs of about half of its entries turned, which ones by k; a itself for k = 0. Its product with a matrix is no larger than the terms of a's.
func turned(a []float64, k int) []float64 {
	out := append([]float64(nil), a...)
	rng := rand.New(rand.NewPCG(uint64(k), 0))
	for j := range out {
		if k > 0 && rng.Uint64()&1 == 1 {
			out[j] = -out[j]
		}
	}
	return out
}

// halfWay is z with entries half way to 0: all of them for k = 0, else about half of them, which ones by k, as terms that cancel together do not in part.
func halfWay(z []float64, k int) []float64 {
	half := turned(z, k)
	for j, t := range z {
		half[j] = t - (t+half[j])/4
	}
	return half
}

// raise makes sizes no less than what a and b differ by, times by, where that is a number, and returns the largest of these.
func raise(sizes, a, b []float64, by float64) (most float64) {
	for j := range sizes {
		if t := by * math.Abs(a[j]-b[j]); isNumber(t) {
			most, sizes[j] = math.Max(most, t), math.Max(sizes[j], t)
		}
	}
	return most
}

// largest is the largest coefficient of a row.
func largest(m *sparse.CSR, i int) float64 {
	_, vals := m.Row(i)
	return maxAbs(vals)
}

// known is how well products are: by what they may be off at most, and of what size that in x is where its terms vary on the length on which g does, which has digits where what is found vanishes.
type known struct{ x, y, sizeX float64 }

// products are G'a and H a, the derivatives of grad g in x and in y along a, with bounds of their errors: by one difference of gradients where g is quadratic in x
// and y, or in y, which is exact but for rounding; else by central differences with two steps, of which one is half the other, extrapolated (Richardson): what they differ by
// bounds the term that is taken out, and the rounding of gradients is that of their sizes.
func (d *deriver) products(x, y, a []float64) (gx, gy []float64, off known, err error) {
	gx, gy = make([]float64, d.p.Dx), make([]float64, d.p.Dy)
	size := maxAbs(a)
	if size == 0 {
		return gx, gy, off, nil
	}
	if d.p.Facts.QuadraticInY {
		near := math.Max(1, maxAbs(y)) / size
		far := near // no entry of y is more than what is added to it: its rounding would be, too
		for j, v := range a {
			if v != 0 {
				far = math.Max(far, math.Abs(y[j]/v))
			}
		}
		power := func(t float64) float64 {
			_, e := math.Frexp(math.Min(t, 0x1p400/size))
			return math.Ldexp(1, e)
		}
		t := power(far)
		if !d.p.Facts.JointlyQuadratic { // exact of grad_x g, too, which is quadratic along a: its terms grow with the square of the step, and so has one that is no longer than y
			nearX := power(near)
			gx, _, terms, ok := d.central(x, y, a, nearX)
			_, gy, long, finite := d.central(x, y, a, t)
			if !ok || !finite {
				return nil, nil, off, fmt.Errorf("the gradient of g is not finite on both sides of y")
			}
			off.sizeX = math.Max(terms[0], d.variesX(x, y)) / nearX
			off.x, off.y = 0x1p-52*off.sizeX, 0x1p-52*long[1]/t
			return gx, gy, off, nil
		}
		bx, by := gradXY(d.g, x, y)
		gx, gy := gradXY(d.g, x, moved(y, t, a))
		return quotient(gx, bx, t), quotient(gy, by, t), off, nil
	}
	// The longest step that no entry of y takes further than its own size, or a thousandth of the largest: then shorter ones, by the cube root of rounding at first.
	reach, top := math.Inf(1), math.Max(maxAbs(y), d.s.y)
	for j, t := range a {
		if t != 0 {
			reach = math.Min(reach, math.Max(math.Abs(y[j]), 1e-3*top)/math.Abs(t))
		}
	}
	// Each part has the step that is best for it, by its own size: of what was found, and of what it would be if its terms varied on that length alone. What vanishes has no digits of its own.
	bestX, bestY, sizeY, varies := math.Inf(1), math.Inf(1), 0.0, d.variesX(x, y)
	for t := math.Min(reach*extrapolated, math.MaxFloat64); t > 0; t /= 4 {
		longX, longY, _, ok := d.central(x, y, a, t)
		halfX, halfY, terms, also := d.central(x, y, a, t/2)
		if !ok || !also {
			continue
		}
		roundX, roundY := 0x1p-52*math.Max(terms[0], varies)/(t/2), 0x1p-52*terms[1]/(t/2)
		off.sizeX = math.Max(off.sizeX, math.Max(maxAbs(halfX), math.Max(terms[0], varies)/reach))
		sizeY = math.Max(sizeY, math.Max(maxAbs(halfY), terms[1]/reach))
		if e := apart(longX, halfX)/3 + roundX; share(e, off.sizeX) < bestX {
			bestX, off.x, gx = share(e, off.sizeX), e, richardson(longX, halfX)
		}
		if e := apart(longY, halfY)/3 + roundY; share(e, sizeY) < bestY {
			bestY, off.y, gy = share(e, sizeY), e, richardson(longY, halfY)
		}
		if share(roundX, off.sizeX) >= bestX && share(roundY, sizeY) >= bestY {
			break // shorter steps have more of it
		}
	}
	if math.IsInf(math.Max(bestX, bestY), 1) {
		return nil, nil, off, fmt.Errorf("the gradient of g is not finite on both sides of y")
	}
	return gx, gy, off, nil
}

// richardson takes the leading error out of central differences with a step and with half of it.
func richardson(long, half []float64) []float64 {
	return moved(half, 1, quotient(half, long, 3))
}

// extrapolated is the step at which rounding and what an extrapolated central difference leaves are in balance, relative to the length on which g varies: the fifth root of rounding.
var extrapolated = math.Pow(0x1p-52, 0.2)

// variesX is the size of the terms of grad_x g in y: by what it changes where entries of y are half way to 0, or, those that are next to 0, a thousandth of the largest away: there terms may cancel.
func (d *deriver) variesX(x, y []float64) (most float64) {
	sizes := make([]float64, d.p.Dx)
	gx, _ := gradXY(d.g, x, y)
	least := 1e-3 * math.Max(maxAbs(y), d.s.y)
	ways := slices.Repeat([]float64{least}, d.p.Dy)
	for k := range signings {
		at, way := halfWay(y, k), turned(ways, k)
		for j, t := range y {
			if math.Abs(t) < least {
				at[j] = t + way[j]
			}
		}
		hx, _ := gradXY(d.g, x, at)
		most = math.Max(most, raise(sizes, gx, hx, 2))
	}
	return most
}

// central is the central difference of grad g along t a, with the sizes of the terms of both parts, in x and in y, of which it has the rounding.
func (d *deriver) central(x, y, a []float64, t float64) (gx, gy []float64, terms [2]float64, ok bool) {
	gx, gy = gradXY(d.g, x, moved(y, t, a))
	bx, by := gradXY(d.g, x, moved(y, -t, a))
	if !isFinite(gx) || !isFinite(gy) || !isFinite(bx) || !isFinite(by) {
		return nil, nil, terms, false
	}
	terms = [2]float64{math.Max(maxAbs(gx), maxAbs(bx)), math.Max(d.s.force, math.Max(maxAbs(gy), maxAbs(by)))}
	return quotient(gx, bx, 2*t), quotient(gy, by, 2*t), terms, true
}

// apart is the largest difference of two vectors.
func apart(a, b []float64) float64 { return maxAbs(minus(a, b)) }

// length is how long y is: where it vanishes, the row that is nearest to 0 and not there tells.
func (v *verification) length() float64 {
	length := math.Inf(1)
	for i := range v.p.Rows.Kind {
		// How far from 0 the row is in y at the document's x, by the size of its other terms; 0 where it goes through 0, or does not read y.
		if reach := share(v.p.Rows.A.AddTerms(math.Abs(v.p.Rows.Rhs[i]), i, v.doc.X), largest(v.p.Rows.B, i)); reach > 0 {
			length = math.Min(length, reach)
		}
	}
	if math.IsInf(length, 1) {
		length = 0
	}
	return math.Max(maxAbs(v.doc.Y), length)
}

// forces are the sizes of the terms of each entry of grad_y g, which may cancel. Those of x and y together are told from the gradient half way to 0, those of entries of y from
// gradients at y with the signs of some turned around: for any two entries there is one where the one is turned and the other is not, and for each there is one where it is turned and
// x is not. (Entry j is turned where the number j + 1 has the bit; x, of number 0, never is.)
func (v *verification) forces() []float64 {
	x, y := v.doc.X, v.doc.Y
	sizes, grad := make([]float64, len(y)), gradY(v.d.g, x, y)
	look := func(x, y []float64, by float64) { raise(sizes, grad, gradY(v.d.g, x, y), by) }
	raise(sizes, grad, make([]float64, len(y)), 1)
	at := slices.Clone(y)
	for bit := 1; bit <= len(y); bit *= 2 {
		for j := range at {
			if at[j] = y[j]; (j+1)&bit != 0 {
				at[j] = -y[j]
			}
		}
		look(x, at, 0.5)
	}
	look(halfWay(x, 0), halfWay(y, 0), 2)
	for k := 1; k < signings; k++ { // terms of x that cancel do not in part
		look(turned(x, k), y, 0.5)
	}
	return sizes
}
