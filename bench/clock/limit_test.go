package clock

import (
	"context"
	"errors"
	"testing"
	"time"
)

// Only work uses a limit up: waiting does not, and the cause is the caller's.
func TestLimit(t *testing.T) {
	cause := errors.New("used up")
	ctx, end := Limit(100*time.Millisecond, cause)
	defer end()
	began := Process()
	time.Sleep(150 * time.Millisecond)
	if used := Process() - began; used < 90*time.Millisecond && ctx.Err() != nil {
		t.Errorf("ended after %v of processor time", used)
	}
	for ctx.Err() == nil {
		if Process()-began > 10*time.Second {
			t.Fatal("10 s of work, and no end")
		}
	}
	if context.Cause(ctx) != cause {
		t.Errorf("the cause is %v", context.Cause(ctx))
	}
	if used := Process() - began; used < 100*time.Millisecond {
		t.Errorf("ended after %v", used)
	}
	free, end := Limit(0, cause)
	if end(); context.Cause(free) == cause {
		t.Error("no limit, and ended by it")
	}
}
