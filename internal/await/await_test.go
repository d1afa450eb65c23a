package await

import (
	"context"
	"errors"
	"testing"
)

func TestDo(t *testing.T) {
	if v, err := Do(context.Background(), func() (int, error) { return 3, nil }); v != 3 || err != nil {
		t.Errorf("%d (%v)", v, err)
	}
	broken := errors.New("broken")
	if _, err := Do(context.Background(), func() (int, error) { return 0, broken }); err != broken {
		t.Error(err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	forever := make(chan int)
	if _, err := Do(ctx, func() (int, error) { return <-forever, nil }); err != why {
		t.Error(err)
	}
	defer func() {
		if f, ok := recover().(*Fault); !ok || f.Error() != "bad" || len(f.Stack) == 0 {
			t.Errorf("%v", f)
		}
	}()
	Do(context.Background(), func() (int, error) { panic("bad") })
}
