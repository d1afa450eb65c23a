package lang

import "testing"

// A set may list 500,000 labels: to read or write one takes no more than its texts.
func TestLabelsAreReadCheaply(t *testing.T) {
	for _, label := range []string{"Oslo", `a "b" \ c`} {
		if Unquote(Quote(label)) != label {
			t.Errorf("%s became %s", label, Unquote(Quote(label)))
		}
		if n := testing.AllocsPerRun(100, func() { Unquote(Quote(label)) }); n > 6 {
			t.Errorf("%v allocations for %s", n, label)
		}
	}
}
