package outer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/status"
	"bilevelc/runtime/tolerance"
)

// radii are the sampling radii of an examination, as shares of the size of x (Run.radius). They
// shrink to the certificate's own.
func (m *bundle) radii() []float64 {
	return []float64{1e-2, 1e-4, m.Settings.Delta}
}

// examine looks at a point at which the model sees no descent. It samples
// gradients in balls of shrinking radius, each round giving the model another
// chance. Where nothing helps the run is done.
func (m *bundle) examine(ctx context.Context, run *Run) (string, error) {
	s := &m.State
	if !m.Settings.Search && s.Sampled == 0 {
		reason, err := m.certifyCenter(ctx, run, run.Radius(m.Settings.Delta, s.Center.X))
		if err == nil || !errors.As(err, new(Stuck)) {
			return reason, err
		}
		// No certificate as it is: what more steps bring, or the search finds, may give one.
		if s.WarmCurvature {
			s.WarmCurvature = false
			return "", nil
		}
	}
	if radii := m.radii(); s.Sampled < len(radii) {
		radius := run.Radius(radii[s.Sampled], s.Center.X)
		s.Sampled++
		s.Stagnated = 0
		near, err := rays(ctx, run, &s.Center, s.Bundle, radius, m.target(run), min(m.Settings.Samples, run.Dim()+1))
		if err != nil {
			return "", err
		}
		m.learn(run, near.Samples)
		return "", nil
	}
	reason, err := m.certifyCenter(ctx, run, run.Radius(m.Settings.Delta, s.Center.X))
	if err != nil && !errors.As(err, new(Stuck)) || err == nil && reason == "" {
		return reason, err
	}
	if m.Settings.Continuation && s.Continued == "" && run.limits.Gain == 0 {
		lower, failure := m.continuation(ctx, run)
		var limit *limitError
		if err == nil && (errors.As(failure, &limit) || errors.As(failure, new(status.Limit))) {
			return reason + "; a limit ended the continuation that looks for a lower one", nil
		}
		if failure != nil {
			return "", failure
		}
		s.Continued = "a continuation over followers that react less found no lower one"
		if lower != nil {
			s.Continued = "found by a continuation over followers that react less, from the start"
			m.restart(run, lower)
			return "", nil
		}
	}
	if s.Continued != "" && err == nil {
		reason += "; " + s.Continued
	}
	return reason, err
}

// arrive ends the run where the path has come to, if there is a certificate. Where there is none the search goes on from there.
func (m *bundle) arrive(ctx context.Context, run *Run) (string, error) {
	s := &m.State
	reason, err := m.certifyCenter(ctx, run, run.Radius(m.Settings.Delta, s.Center.X))
	if _, ok := errors.AsType[Stuck](err); ok {
		return "", nil
	}
	if err != nil || reason == "" {
		return "", err
	}
	return reason + "; " + s.Continued, nil
}

// restart goes on from a lower point that may be far away.
func (m *bundle) restart(run *Run, lower *Sample) {
	s := &m.State
	s.Sampled, s.Stagnated, s.Bundle = 0, 0, nil
	s.LastStep = linalg.Distance(lower.X, s.Center.X)
	s.Center = *lower
	m.rescale(run)
}

// certifyCenter ends the run at the center: with a certificate within its target,
// or because neither that nor a lower point is to be found. A lower point found on
// the way lets the run go on from there.
func (m *bundle) certifyCenter(ctx context.Context, run *Run, delta float64) (string, error) {
	s := &m.State
	c, err := CertifySample(ctx, run, &s.Center, s.Bundle, delta)
	if err != nil {
		return "", err
	}
	target := m.target(run)
	if c.epsilon() > target(c.Size()) {
		// A piece within delta may be missing, or known from further away only.
		// 10 is how many times the samples of a ball the last certificate may take: where it needs many, they are all that a run still
		// lacks.
		// 2 is how many more it may take for each entry of x, all of which may have kinks of their own.
		more, err := rays(ctx, run, &s.Center, s.Bundle, delta, target, 10*m.Settings.Samples+2*run.Dim())
		if err != nil {
			return "", err
		}
		s.Bundle = slices.Concat(s.Bundle, more.Samples)
		if more.Lower != nil {
			m.moveTo(more.Lower)
			s.Sampled, s.Stagnated = 0, 0 // what balls of the larger radii have shown is of another point
			return "", nil
		}
		if c, err = CertifySample(ctx, run, &s.Center, s.Bundle, delta); err != nil {
			return "", err
		}
	}
	s.Measure = c.epsilon()
	most := target(c.Size())
	if c.epsilon() <= most {
		if local, err := c.Local(ctx, run, s.Center.F); err != nil {
			return "", err
		} else if !local && delta > tolerance.Feasibility*run.Size(c.X) {
			return m.certifyCenter(ctx, run, delta/10)
		} else if !local {
			return "", Stuck(fmt.Sprintf("no descent found, but F changes by much of itself within the radius %.2g", delta))
		}
	}
	s.Within = delta
	why := ""
	switch {
	case c == nil:
		why = fmt.Sprintf("no descent found, and no point within %.2g at which strict complementarity holds: F has no gradient there that a certificate could use", delta)
	case c.Norm > most:
		why = fmt.Sprintf("no descent found, at a Goldstein measure of %.2g, above its target %.2g", c.Norm, most)
	case c.epsilon() > most:
		why = fmt.Sprintf("no descent found, at a Goldstein measure of %.2g; the gradients are known to %.2g, which is above the target %.2g", c.Norm, c.GradError, most)
	}
	if why != "" {
		return "", Stuck(why)
	}
	return fmt.Sprintf("Goldstein stationary within radius %.2g: measure %.2g", c.Delta, c.Norm), nil
}

// learn adds samples to the bundle; the lowest becomes the center where it is lower.
func (m *bundle) learn(run *Run, samples []Sample) {
	s := &m.State
	best := -1
	for i := range samples {
		if samples[i].F < s.Center.F-run.Noise(&s.Center) && (best < 0 || samples[i].F < samples[best].F) {
			best = i
		}
	}
	for i := range samples {
		if i != best {
			m.remember(&samples[i])
		}
	}
	if best >= 0 {
		m.moveTo(&samples[best])
	}
}

// Finish implements Method: the certificate of the best point.
func (m *bundle) Finish(ctx context.Context, run *Run, result *Result) error {
	PreferIterate(ctx, run, result, &m.State.Center)
	delta := run.Radius(m.Settings.Delta, result.Best.X)
	if m.State.Within > 0 {
		delta = m.State.Within
	}
	samples := m.State.Bundle
	if result.Status != status.Solved {
		best := sampleOf(result.Best)
		more, err := rays(ctx, run, best, samples, delta, m.target(run), min(m.Settings.Samples, run.Dim()+1))
		if err != nil {
			return err
		}
		samples = slices.Concat(samples, more.Samples)
	}
	samples = append(samples[:len(samples):len(samples)], m.State.Center)
	c, err := Certify(ctx, run, result.Best, samples, delta)
	if err != nil {
		return err
	}
	if c == nil {
		return ErrNoCertificate
	}
	result.Certificate = c
	result.Measure = Measure{Name: GoldsteinMeasure, Value: c.Norm, Delta: delta}
	return run.Align(ctx, result.Best, c)
}
