package runtime

import (
	"encoding/json"

	"bilevelc/runtime/method"
	"bilevelc/runtime/outer"
)

// following is the method that follows a known solution, and nearStep the length of
// its first step where no curvature is known, relative to the size of x: numbers that
// have changed in their third digit move a solution about so far.
const (
	following = "goldstein"
	nearStep  = 1e-3
)

// near makes the run one that follows the solution of opts.Near: it starts there,
// with the curvature of F that was learned there, and ends at the first point with a
// certificate, which is no worse than the start. It gives false where the run is one
// that this does not fit: a follower with ties, whose stages lead elsewhere, several
// starts, a resumed run, or a result without a point of this problem's shape.
func (p *Problem) near(opts Options) (Options, bool) {
	r := opts.Near
	if r == nil || !r.HasPoint() || p.ties != nil || opts.Resume != nil || opts.Starts > 1 {
		return opts, false
	}
	if _, err := p.upperPoint(r.Upper.Variables); err != nil {
		return opts, false
	}
	if opts.Start == nil {
		opts.Start = r.Upper.Variables
	}
	own := opts.Method
	for _, s := range p.IR.Settings {
		if own == "" && s.Name == "method" {
			own = s.Word
		}
		if s.Name == "starts" && opts.Starts == 0 && s.Value > 1 {
			return opts, false
		}
	}
	if own != "" && own != following {
		return opts, true
	}
	opts.Method = following
	settings := method.Values{"continuation": false, "search": false, "initial_step": nearStep}
	for name, value := range opts.Settings {
		settings[name] = value
	}
	opts.Settings = settings
	if c, err := r.Rewind(); err == nil && c != nil && r.Method == following {
		for _, s := range c.Starts {
			if s.Run != nil && s.Run.Method == following {
				opts.learned = s.Run.State
			}
		}
	}
	return opts, true
}

// learn tells a method what is known from a problem nearby.
func learn(m outer.Method, state json.RawMessage) {
	if l, ok := m.(outer.Learner); ok && state != nil {
		l.Learn(state)
	}
}

// followed is what a result of such a run says of itself.
const followed = "followed from an earlier solution to the nearest point with a certificate: not looked for elsewhere"
