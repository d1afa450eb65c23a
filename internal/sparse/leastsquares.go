package sparse

// LeastSquares moves x by the shortest step d with the least |r - A d|, and takes A d off r, by conjugate gradients on the normal equations (Bjorck 1996,
// section 7.4). forward sets dst to A d, back to A'r. It takes some steps at the most, and ends before where end says so of |A'r|^2 before the last step, 0 at first, and now.
func LeastSquares(x, r []float64, steps int, forward, back func(dst, v []float64), end func(before, now float64) bool) {
	force, d, image := make([]float64, len(x)), make([]float64, len(x)), make([]float64, len(r))
	square := func(v []float64) (sum float64) {
		for _, t := range v {
			sum += t * t
		}
		return sum
	}
	back(force, r)
	copy(d, force)
	before, now := 0.0, square(force)
	for range steps {
		if !(now > 0) || end(before, now) {
			return
		}
		forward(image, d)
		size := square(image)
		if !(size > 0) {
			return
		}
		for j, t := range d {
			x[j] += now / size * t
		}
		for i, t := range image {
			r[i] -= now / size * t
		}
		back(force, r)
		before, now = now, square(force)
		for j, t := range force {
			d[j] = t + now/before*d[j]
		}
	}
}
