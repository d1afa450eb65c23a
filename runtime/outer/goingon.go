package outer

import (
	"context"
	"encoding/json"
)

// At a kink of F gradient steps end, and no gradient mapping is small: inequality rows of the
// follower make kinks, and a minimum is often at one. Where F is smooth they end where its
// values no longer show what they gain. The method goldstein goes on from such a point, and
// its certificate is the run's; the paper's algorithm, with its own C_F and plain steps, is
// left as it is.

// goOn hands the run over at the center, where steps ended for the reason given.
func (m *pgd) goOn(ctx context.Context, run *Run, why string) (string, error) {
	if m.Settings.Smoothness > 0 && !m.Settings.Accelerate {
		return "", stuck(why + m.kink())
	}
	run.Start = m.state.Center.X
	m.rest = m.successor()
	if err := m.rest.Begin(ctx, run); err != nil {
		return "", err
	}
	return "", nil
}

// successor is the method that goes on, to the accuracy that was asked for where one was.
func (m *pgd) successor() *goldstein {
	s := *defaultGoldstein()
	s.Continuation = false
	if m.known != knownByDefault {
		s.Epsilon = m.known
	}
	return &goldstein{Settings: s}
}

// Snapshot implements Method.
func (m *pgd) Snapshot() any {
	s := m.state
	if m.rest != nil {
		rest := m.rest.state
		s.Rest = &rest
	}
	return s
}

// Restore implements Method.
func (m *pgd) Restore(state json.RawMessage) error {
	if err := m.keeps.Restore(state); err != nil {
		return err
	}
	if rest := m.state.Rest; rest != nil {
		m.rest = m.successor()
		m.rest.state, m.state.Rest = *rest, nil
	}
	return nil
}
