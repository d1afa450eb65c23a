package datafile

import (
	"testing"

	"bilevelc/lang/diag"
)

// The example of every code of the data stage fails with it.
func TestExamplesOfCodes(t *testing.T) {
	tested := 0
	for _, e := range diag.Codes() {
		if e.Stage != diag.DataStage {
			continue
		}
		tested++
		var list diag.List
		switch e.Code {
		case diag.DataUnreadable:
			_, list = Load(e.DataFile, nil)
		case diag.DataSpec:
			_, list = ParseSet(e.Data)
		default:
			_, list = Read(Auto, e.DataFile, e.Data, "")
		}
		if len(list) == 0 || list[0].Code != e.Code {
			t.Errorf("%s (%s): %v", e.Code, e.Title, list)
		}
	}
	if tested == 0 {
		t.Error("no codes")
	}
}
