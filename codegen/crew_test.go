package codegen

import (
	"fmt"
	"testing"
)

// A panic of one piece, on whichever thread, is the evaluation's, after all threads have
// left it; the helpers go on serving.
func TestPanicsOfPieces(t *testing.T) {
	e := &Evaluator{program: &Program{threads: 4}}
	for bad := range 16 {
		func() {
			defer func() {
				if v := fmt.Sprint(recover()); v != "broken" {
					t.Errorf("piece %d: %s", bad, v)
				}
			}()
			e.pieces(nil, func(_ *Frame, piece, _ int) {
				if piece == bad {
					panic("broken")
				}
			}, 16)
		}()
	}
	done := make([]bool, 16)
	e.pieces(nil, func(_ *Frame, piece, _ int) { done[piece] = true }, 16)
	for k, d := range done {
		if !d {
			t.Errorf("piece %d was not run", k)
		}
	}
}
