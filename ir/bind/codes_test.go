package bind

import (
	"testing"

	"bilevelc/ir/data"
	"bilevelc/ir/datafile"
	"bilevelc/lang/diag"
)

// TestCodes binds the example of every code of this stage: it must pass the
// checker and fail, or warn, with its own code, located in the model.
func TestCodes(t *testing.T) {
	seen := 0
	for _, entry := range diag.Codes() {
		if entry.Stage != diag.BindStage {
			continue
		}
		seen++
		p := compile(t, string(entry.Code)+".blv", entry.Example)
		set := &data.Set{}
		if entry.DataFile != "" {
			var list diag.List
			if set, list = datafile.Read(datafile.Auto, entry.DataFile, entry.Data, ""); list.HasErrors() {
				t.Fatal(list)
			}
		}
		prob, list := Bind(p, set, Options{})
		found := false
		for _, d := range list {
			if d.Code == entry.Code {
				found = true
			} else {
				t.Errorf("%s: its example also gives %v", entry.Code, d)
			}
			if d.Subject.IsZero() || d.Summary == "" {
				t.Errorf("%s: no place or no summary: %v", entry.Code, d)
			}
		}
		if !found {
			t.Errorf("%s: its example gives %v", entry.Code, list)
		}
		if (prob == nil) != list.HasErrors() {
			t.Errorf("%s: a problem is returned exactly where there is no error", entry.Code)
		}
	}
	if seen < 17 {
		t.Errorf("only %d codes have an entry", seen)
	}
}
