package await

import (
	"context"
	"errors"
	"testing"
)

func TestWithin(t *testing.T) {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	steps := 0
	err := Within(ctx, func(m *Meter) {
		for ; ; steps++ {
			if steps == 1000 {
				cancel(why)
			}
			m.Step()
		}
	})
	if err != why || steps < 1000 || steps > 1000+stride {
		t.Errorf("%v after %d steps", err, steps)
	}
	began := false
	if err := Within(ctx, func(*Meter) { began = true }); err != why || began {
		t.Errorf("%v; begun: %t", err, began)
	}
	(*Meter)(nil).Step()
	defer func() {
		if v := recover(); v != "bad" {
			t.Errorf("%v", v)
		}
	}()
	Within(context.Background(), func(*Meter) { panic("bad") })
}
