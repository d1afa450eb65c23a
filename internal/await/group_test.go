package await

import "testing"

func TestGroup(t *testing.T) {
	var g Group
	done := make([]bool, 8)
	for k := range done {
		g.Go(func() { done[k] = true })
	}
	g.Wait()
	for k, d := range done {
		if !d {
			t.Errorf("%d was not run", k)
		}
	}
	defer func() {
		f, ok := recover().(*Fault)
		if !ok || f.Value != "bad" || len(f.Stack) == 0 {
			t.Errorf("%v", f)
		}
		g.Wait() // the fault has been told
	}()
	g.Go(func() {})
	g.Go(func() {
		var inner Group
		inner.Go(func() { panic("bad") })
		inner.Wait()
	})
	g.Wait()
	t.Error("no panic")
}
