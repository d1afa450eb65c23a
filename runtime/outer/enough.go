package outer

import (
	"math"
	"math/rand/v2"
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/status"
	"bilevelc/runtime/tolerance"
)

// MostStarts is the most that an automatic number of starts comes to: what three
// different minima ask for.
func MostStarts() int { return asked(3) }

// PerCall is what one call of f or g costs however little it reads: what a method does between two calls, from half a microsecond to five.
const PerCall = 200

// rounds are the numbers of starts after which enough is asked. They do not depend on
// the number of threads, and so nor does what a run returns.
func (m *MultiStart) rounds(n int) []int {
	if !m.Automatic {
		return []int{n}
	}
	out := []int{1, 2, 4} // of starts that cost much there may be enough
	for minima := 1; asked(minima) < n; minima++ {
		out = append(out, asked(minima))
	}
	for len(out) > 0 && out[len(out)-1] >= n {
		out = out[:len(out)-1]
	}
	return append(out, n)
}

// Expected is the Bayesian estimate of the number of minima after n starts that found w different ones,
// w (n - 1)/(n - w - 2) (Boender and Rinnooy Kan 1987, Mathematical Programming 37, 59-80). It takes starts to be
// independent draws, of which each ends at the minimum of the region of attraction that it lies in, and all sizes of
// regions to be as likely before the first. NaN where the standard deviation of that number, by the same paper the root of
// w (w + 1)(n - 1)(n - 2)/((n - w - 2)^2 (n - w - 3)), is larger than the estimate, or none exists: nearly every start found
// another minimum, which says no more than that there are many.
func Expected(n, w int) float64 {
	rest := float64(n - w - 2)
	if rest <= 1 {
		return math.NaN()
	}
	wide, many := float64(w), float64(n)
	mean := wide * (many - 1) / rest
	if variance := wide * (wide + 1) * (many - 1) * (many - 2) / (rest * rest * (rest - 1)); variance > mean*mean {
		return math.NaN()
	}
	return mean
}

// AtMost is the number of minima that there are no more than with a probability of 95 %, by the posterior distribution that Expected is the mean of (the same paper):
//
//	P(w) = Gamma(n) Gamma(n - 1)/(Gamma(n + w) Gamma(n - w - 1)),   P(k + 1)/P(k) = k (k + 1)/((n + k)(k + 1 - w)).
//
// n - w - 2 > 0, as where Expected is a number.
func AtMost(n, w int) int {
	gamma := func(k int) float64 {
		v, _ := math.Lgamma(float64(k))
		return v
	}
	p := math.Exp(gamma(n) + gamma(n-1) - gamma(n+w) - gamma(n-w-1))
	k := w
	for sum := p; sum < 0.95; sum += p {
		p *= float64(k) / float64(n+k) * float64(k+1) / float64(k+1-w)
		k++
	}
	return k
}

// Missed is the largest share of all starts that may end at one more minimum, and none of n random ones have ended there with a probability of 5 %: (1 - share)^n = 0.05.
func Missed(n int) float64 { return 1 - math.Pow(0.05, 1/float64(n)) }

// Enough reports whether n starts that found w different minima, the lowest of them `lowest` times, are as many as the rule of Boender and
// Rinnooy Kan asks for: where Expected exceeds w by less than a half. What was found once may well not be the lowest that there is,
// so that a search does not end there.
func Enough(n, w, lowest int) bool { return n >= MostStarts() || n >= asked(w) && lowest > 1 }

// asked is the least number of starts after which that rule ends a search that has found so many different minima.
func asked(w int) int {
	// w (n - 1) < (w + 1/2)(n - w - 2), so n > 2 w^2 + 3 w + 2.
	return 2*w*w + 3*w + 3
}

// enough reports whether the starts so far are as many as the rule asks for and more than next to no work, or as many
// as their work allows. Minima are different where F is, by more than what targets leave
// of it; a start that came to none counts as a minimum of its own kind, once.
// Where none came to one, work ends nothing before the fourth start.
func (m *MultiStart) enough(results []StartResult) bool {
	var values []float64
	failed, solved, calls, noise := 0, 0, int64(0), 0.0
	for _, r := range results {
		if r.Result == nil {
			continue
		}
		c := r.Result.Calls
		calls += c.Total()
		if r.Result.Status != status.Solved || r.Result.Best == nil {
			failed = 1
			continue
		}
		values = append(values, r.Result.Best.F)
		noise = math.Max(noise, r.Result.noise)
		solved++
	}
	slices.Sort(values)
	minima, lowest := failed, 0
	for i, v := range values {
		if v-values[0] <= math.Max(tolerance.Target*math.Abs(v), 10*noise) {
			lowest++
		}
		if i == 0 || v-values[i-1] > math.Max(tolerance.Target*math.Abs(v), 10*noise) {
			minima++
		}
	}
	// tolerance.Second is the work at which no further starts are begun, in numbers that the functions have read: a second or two.
	work := float64(calls) * math.Max(PerCall, m.Options.Cost)
	if solved == 0 {
		lowest = len(results) // all have ended alike
	}
	// 4 is how many starts that came to nothing are enough where they cost much. Those that are a quarter of a second's work are all made, whatever the rule says: eight that ended at one value have missed another to which a tenth of all lead with a probability of 0.4.
	switch n := len(results); {
	case n >= MostStarts(), work >= tolerance.Second && (solved > 0 || n >= 4):
		return true
	default:
		return work >= tolerance.Second/4 && Enough(n, max(1, minima), lowest)
	}
}

// single reports that X and D have one point alone, so that all starts are the same. They
// have no other if steps both ways along a direction are projected back to it: the
// direction is then normal to all of the set, as one drawn at random is of a point alone.
func (m *MultiStart) single() bool {
	h, _, err := m.New()
	if err != nil {
		return false
	}
	x, z := slices.Clone(m.Options.Start), make([]float64, len(m.Options.Start))
	if h.Project(x, x) != nil {
		return false
	}
	draw := rand.New(rand.NewPCG(m.Seed, stream+2))
	step := make([]float64, len(x))
	size := Width(m.Set, x) + linalg.Norm(x)
	for j := range step {
		step[j] = size * draw.NormFloat64()
	}
	return !slices.ContainsFunc([]float64{1, -1}, func(way float64) bool {
		return h.Project(z, linalg.Plus(x, way, step)) != nil || linalg.Distance(z, x) > tolerance.Feasibility*size
	})
}
