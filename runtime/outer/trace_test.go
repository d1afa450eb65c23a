package outer

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"bilevelc/runtime/tolerance"
)

// TestTraceIsEvenAndBounded takes down runs of any length: the trace has the first and
// the last iteration and evenly spaced ones between, all where the run is short, and is
// the same after it was written down and read in the middle of the run.
func TestTraceIsEvenAndBounded(t *testing.T) {
	for _, n := range []int{0, 1, 2, 50, tolerance.MostPoints - 1, tolerance.MostPoints, tolerance.MostPoints + 1, 3*tolerance.MostPoints + 7, 10_000} {
		var whole, halves Trace
		for k := range n + 1 {
			p := TracePoint{Iteration: k, F: float64(-k), Best: float64(-k), Step: 1, Measure: 1 / float64(k+1), Calls: int64(3 * k), Seconds: float64(k)}
			if k == 0 {
				p.Measure = math.Inf(1)
			}
			whole.add(p)
			halves.add(p)
			if k == n/2 {
				text, err := json.Marshal(halves)
				if err != nil {
					t.Fatal(err)
				}
				halves = Trace{}
				if err := json.Unmarshal(text, &halves); err != nil {
					t.Fatal(err)
				}
			}
		}
		all := whole.All()
		if len(all) > tolerance.MostPoints+1 || all[0].Iteration != 0 || all[len(all)-1].Iteration != n {
			t.Fatalf("%d iterations: %d points, from %d to %d", n, len(all), all[0].Iteration, all[len(all)-1].Iteration)
		}
		for k, p := range whole.Points {
			if p.Iteration != k*whole.Every {
				t.Fatalf("%d iterations: point %d is of iteration %d", n, k, p.Iteration)
			}
		}
		if n < tolerance.MostPoints && len(all) != n+1 || n >= tolerance.MostPoints && len(all) < tolerance.MostPoints/2 {
			t.Errorf("%d iterations: %d points", n, len(all))
		}
		other := halves.All()
		if len(other) != len(all) || !reflect.DeepEqual(all[1:], other[1:]) {
			t.Errorf("%d iterations: the trace differs after it was read", n)
		}
	}
}

// TestTraceRefuses reads what no run writes.
func TestTraceRefuses(t *testing.T) {
	for _, text := range []string{
		`{"every":-1,"points":[]}`,
		`{"every":1,"points":[[1,0,0,0,0,5,1],[1,0,0,0,0,6,2]]}`,
		`{"every":1,"points":[[1,0,0,0,0,5,1],[2,0,0,0,0,4,2]]}`,
		`{"every":1,"points":[[1,0,0,0,0,5,-1]]}`,
		`{"every":1,"points":[[1,0,0,0,0,5,null]]}`,
		`{"every":1,"points":"x"}`,
	} {
		var trace Trace
		if err := json.Unmarshal([]byte(text), &trace); err == nil {
			t.Errorf("%s is read as %+v", text, trace)
		}
	}
}
