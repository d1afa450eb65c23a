package runtime_test

import (
	"errors"
	gort "runtime"
	"testing"

	"bilevelc/ir/data"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
)

// What is too large is so without data too: it is not bound a second time, with what it makes up once more.
func TestTooLargeIsCheckedOnce(t *testing.T) {
	model, err := runtime.Compile("large", "model large\ndata a: matrix[2100, 2100] = ones(2100, 2100)\nupper {\n var x: real in box(0, 1)\n minimize x * sum(a * a)\n}\nlower {\n var y: real\n minimize (y - x)^2\n}\n")
	if err != nil {
		t.Fatal(err)
	}
	var before, after gort.MemStats
	gort.ReadMemStats(&before)
	_, err = model.Check(&data.Set{}, runtime.BindOptions{})
	gort.ReadMemStats(&after)
	var list diag.List
	if !errors.As(err, &list) || !list.Has(diag.BindTooLarge) {
		t.Fatal(err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 3*8*2100*2100/2 {
		t.Errorf("%d bytes", got)
	}
}
