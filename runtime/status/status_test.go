package status

import (
	"testing"

	"bilevelc/lang/diag"
)

// The words and exit codes are what other programs rely on.
func TestWordsAndCodes(t *testing.T) {
	want := map[Status]struct {
		word        string
		with, empty int
	}{
		Solved:           {"solved", 0, 1},
		LimitReached:     {"limit reached", 12, 13},
		BudgetSpent:      {"budget spent", 12, 13},
		Infeasible:       {"infeasible", 10, 10},
		Unbounded:        {"unbounded", 11, 11},
		NumericalFailure: {"numerical failure", 14, 14},
		Interrupted:      {"interrupted", 130, 130},
	}
	if len(All()) != len(want) {
		t.Fatalf("%d statuses, %d are listed here", len(All()), len(want))
	}
	for _, s := range All() {
		w := want[s]
		if s.String() != w.word || s.Exit(true) != w.with || s.Exit(false) != w.empty {
			t.Errorf("%d: %q, exit codes %d and %d; want %+v", s, s, s.Exit(true), s.Exit(false), w)
		}
		text, err := s.MarshalText()
		var back Status
		if err != nil || back.UnmarshalText(text) != nil || back != s {
			t.Errorf("%v: %q reads back as %v (%v)", s, text, back, err)
		}
	}
}

func TestClasses(t *testing.T) {
	for class, want := range map[diag.Class]int{diag.ModelClass: 3, diag.DataClass: 4, diag.InfeasibleClass: 10, diag.UnboundedClass: 11,
		diag.NumericalClass: 14} {
		if OfClass(class) != want {
			t.Errorf("%v: exit code %d, want %d", class, OfClass(class), want)
		}
	}
}

// A status that nobody set is never taken for an end, least of all a good one.
func TestUnset(t *testing.T) {
	var s Status
	if _, err := s.MarshalText(); err == nil || s == Solved || s.Exit(true) == 0 {
		t.Errorf("the zero status is %v, exit code %d, error %v", s, s.Exit(true), err)
	}
	for _, word := range []string{"", "running", "Solved", "status 9"} {
		if err := s.UnmarshalText([]byte(word)); err == nil {
			t.Errorf("%q was read as %v", word, s)
		}
	}
	if s := Status(200); s.String() != "status 200" || s.Exit(true) != ExitInternal {
		t.Errorf("%v, exit code %d", s, s.Exit(true))
	}
}
