package reduced

import "testing"

// A run cycles where it is back in a state that it had left, all of what the next round reads, unless F has fallen in between by more than its noise: one that stays in its state goes on.
func TestCycles(t *testing.T) {
	const noise = 1e-9
	state := func(st *State, f float64, biactive ...int) *State {
		st.F, st.Biactive = f, nil
		for _, r := range biactive {
			st.Biactive = append(st.Biactive, Held{Row: r})
		}
		return st
	}
	var st State
	for k, round := range []struct {
		f        float64
		biactive []int
		cycles   bool
	}{
		{0, []int{1}, false},
		{-1e-10, []int{1}, false}, // Newton's method in its branch
		{-2e-10, []int{1, 2}, false},
		{-3e-10, []int{1}, true},
		{-1e-8, []int{1}, false}, // F has fallen
		{-1e-8, []int{1, 2}, false},
		{-1e-8, []int{2}, false},
		{-1e-8, []int{1, 2}, true},
	} {
		if got := state(&st, round.f, round.biactive...).cycles(noise); got != round.cycles {
			t.Errorf("round %d: %v", k, got)
		}
	}
	// What else a round reads makes another state of the same branch.
	for k, change := range []func(*State){
		func(st *State) { st.Single = true },
		func(st *State) { st.Crossed = []int{3} },
		func(st *State) { st.Weakened = []int{3} },
		func(st *State) { st.Looked = 1 },
		func(st *State) { st.Fixed = []int8{1} },
		func(st *State) { st.Walls = []int{0} },
		func(st *State) { st.Coupled = []int{0} },
		func(st *State) { st.Strong = []Held{{Row: 3}} },
	} {
		var st State
		state(&st, 0, 1).cycles(noise)
		state(&st, 0, 2).cycles(noise)
		change(state(&st, 0, 1))
		if st.cycles(noise) {
			t.Errorf("change %d is no other state", k)
		}
	}
}
