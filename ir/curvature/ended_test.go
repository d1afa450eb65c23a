package curvature

import (
	"context"
	"math/rand/v2"
	"testing"

	"bilevelc/ir"
)

// countdown is a context that ends when it has been asked a number of times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestEndedProofs: a proof that is cut short at any place says nothing that is
// false: it claims what the whole proof claims, or less.
func TestEndedProofs(t *testing.T) {
	r := rand.New(rand.NewPCG(61, *seed))
	cut, asked := 0, 0
	for range *drawn / 8 {
		m := randomModel(r)
		opts := Defaults()
		opts.Samples = 2
		counter := &countdown{context.Background(), 1 << 30}
		opts.Context = counter
		whole := Prove(m.p, opts)
		calls := 1<<30 - counter.left
		asked += calls
		opts.Context = &countdown{context.Background(), r.IntN(calls)}
		part := Prove(m.p, opts)
		if part.Convexity.Outcome != whole.Convexity.Outcome {
			cut++
		}
		if c := part.Convexity; c.Outcome == proved && (whole.Convexity.Outcome != proved ||
			c.Scope == whole.Convexity.Scope && c.Modulus > whole.Convexity.Modulus*(1+1e-9)) {
			t.Fatalf("the part of a proof shows mu = %v %s, the whole one\n%s", c.Modulus, c.Scope, whole.Text(true))
		}
		if !m.holds(t, r, part) {
			t.Fatalf("cut short:\n%s", part.Text(true))
		}
	}
	if cut < *drawn/80 {
		t.Errorf("only %d proofs were cut short", cut)
	}
	opts := Defaults()
	opts.Context = &countdown{context.Background(), 0}
	m := randomModel(r)
	if Prove(m.p, opts); m.p.Facts != (ir.Facts{}) {
		t.Errorf("proved without any work: %+v", m.p.Facts)
	}
}
