package outer

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/oracle/oracletest"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/qp"
)

// A certificate supports its epsilon for every F whose gradients at the samples are the
// given ones up to their errors: in the worst case the errors point one way, and then it
// is attained. It takes open samples within delta alone, each with its own point, rows
// and error, and its normal is one of X at the bounds that the ball meets.
func TestCertificatesCoverTheErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(44, 3))
	several := 0
	for trial := range 400 {
		dx := 1 + rng.IntN(4)
		delta := math.Pow(10, float64(rng.IntN(7)-6))
		x := make([]float64, dx)
		for j := range x {
			x[j] = 10 * rng.NormFloat64()
		}
		set := oracletest.Box(dx, -100, 100)
		for j := range x {
			if rng.IntN(4) == 0 {
				set.Lo[j] = x[j] // at its bound
			}
		}
		rows := &problem.Rows{A: sparse.FromEntries(0, dx, nil), B: sparse.FromEntries(0, 1, nil)}
		run := &Run{projector: qp.NewProjector(set, rows, dx, 1)}
		sample := func(far float64) Sample {
			s := Sample{X: slices.Clone(x), G: make([]float64, dx), GError: math.Pow(10, 2*rng.Float64()-3), Open: rng.IntN(5) > 0, Active: []int{rng.IntN(9)}}
			way := make([]float64, dx)
			for j := range way {
				way[j], s.G[j] = rng.NormFloat64(), rng.NormFloat64()+0.3
			}
			for j := range way {
				s.X[j] = math.Max(set.Lo[j], x[j]+far*way[j]/linalg.Norm(way))
			}
			return s
		}
		at := sample(0)
		var samples []Sample
		for range 1 + rng.IntN(6) {
			samples = append(samples, sample(delta*2*rng.Float64()))
		}
		c, err := CertifySample(context.Background(), run, &at, samples, delta)
		if err != nil {
			t.Fatal(err)
		}
		open := slices.ContainsFunc(append(slices.Clone(samples), at), func(s Sample) bool { return s.Open && linalg.Distance(s.X, x) <= delta })
		if (c != nil) != open {
			t.Errorf("trial %d: an open sample is near: %v, a certificate: %v", trial, open, c != nil)
		}
		if c == nil {
			continue
		}
		sum, total, errors := slices.Clone(c.Normal), 0.0, 0.0
		if sum == nil {
			sum = make([]float64, dx)
		}
		for j, n := range sum {
			if n > 1e-9 || math.Abs(n) > 1e-9 && x[j]-set.Lo[j] > delta {
				t.Errorf("trial %d: %v is not normal at %v", trial, c.Normal, x)
			}
		}
		for i, w := range c.Weights {
			k := slices.IndexFunc(append(slices.Clone(samples), at), func(s Sample) bool { return slices.Equal(s.G, c.Gradients[i]) })
			s := append(slices.Clone(samples), at)[k]
			if !s.Open || linalg.Distance(s.X, x) > delta || !slices.Equal(s.X, c.Points[i]) || !slices.Equal(s.Active, c.Faces[i]) || w <= 0 {
				t.Errorf("trial %d: sample %d of weight %v", trial, k, w)
			}
			total += w
			errors += w * s.GError
			for j, g := range s.G {
				sum[j] += w * g
			}
		}
		several += min(1, len(c.Weights)-1)
		if math.Abs(total-1) > 1e-9 || math.Abs(linalg.Norm(sum)-c.Norm) > 1e-9 {
			t.Errorf("trial %d: weights of %v, norm %v for %v", trial, total, c.Norm, linalg.Norm(sum))
		}
		// The gradients' errors, all along the combination.
		if worst := linalg.Norm(sum) + errors; worst > c.Epsilon()*(1+1e-9)+1e-12 || worst < c.Epsilon()*(1-1e-9)-1e-9 {
			t.Errorf("trial %d: the measure may be %v, the certificate supports %v", trial, worst, c.Epsilon())
		}
	}
	if several < 100 {
		t.Errorf("only %d certificates are of several gradients", several)
	}
}
