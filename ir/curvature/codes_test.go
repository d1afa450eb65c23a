package curvature

import (
	"testing"

	"bilevelc/ir/bind"
	"bilevelc/lang/diag"
)

// TestCodes proves about the example of every code of this stage: it must
// bind, and give its own code and no other, located in the model.
func TestCodes(t *testing.T) {
	seen := 0
	for _, entry := range diag.Codes() {
		if entry.Stage != diag.ProofStage {
			continue
		}
		seen++
		p := bound(t, string(entry.Code)+".blv", entry.Example, nil, bind.Options{})
		list := Prove(p, Defaults()).Diagnostics(false)
		found := false
		for _, d := range list {
			if d.Code == entry.Code {
				found = true
			} else {
				t.Errorf("%s: its example also gives %v: %s", entry.Code, d, d.Detail)
			}
			if d.Subject.IsZero() || d.Summary == "" || d.Detail == "" {
				t.Errorf("%s: no place, summary or detail: %v", entry.Code, d)
			}
		}
		if !found {
			t.Errorf("%s: its example gives %v", entry.Code, list)
		}
		if strict := Prove(p, Defaults()).Diagnostics(true); found && !strict.HasErrors() {
			t.Errorf("%s: no error under strict", entry.Code)
		}
	}
	if seen < 8 {
		t.Errorf("only %d codes have an entry", seen)
	}
}
