package runtime_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestJumpsBesideAnUndecidedSearch: many users with blocks of demand pay the prices of two links, or both, and have room there for two fifths of what they would take. Each block is taken below the price that it is worth, and by the leader's choice
// at that price, so that the income is linear on the cells of an arrangement of lines, and greatest at one of its vertices, where tied blocks fill what room there is: all of them are looked at. The search decides nothing with so many pairs, and local solutions are the best of their cells.
func TestJumpsBesideAnUndecidedSearch(t *testing.T) {
	t.Parallel()
	const text = `model prices
param U: int
param B: int
data R: matrix[U, 2]
data value: matrix[U, B]
data size: matrix[U, B]
data room: vector[2]
upper {
  var price: vector[2] in box(0, 10)
  maximize sum(u in 1..U: (R[u, :] * price) * sum(take[u, :]))
  subject to
    load: forall l in 1..2: sum(u in 1..U: R[u, l] * sum(take[u, :])) <= room[l]
}
lower user[u in 1..U] {
  var take: vector[B] in box(0, size[u, :])
  maximize value[u, :] * take - (R[u, :] * price) * sum(take)
}
solve { ties = optimistic }
`
	missed, short, trials := 0, 0.0, 0
	for seed := range members.SeedsOf(t, 4, 20) {
		rng := rand.New(rand.NewPCG(seed, 0x31c2))
		users, blocks := 60+rng.IntN(30), 3
		paths := [][]int{{1, 0}, {0, 1}, {1, 1}}
		var reads, value, size [][]int
		type line struct{ a, b, c, amount int } // a p1 + b p2 = c
		lines := []line{{1, 0, 0, 0}, {0, 1, 0, 0}, {1, 0, 100, 0}, {0, 1, 100, 0}}
		for range users {
			r := paths[rng.IntN(3)]
			var v, s []int
			for range blocks {
				v, s = append(v, (1+rng.IntN(90))*(r[0]+r[1])), append(s, 1+rng.IntN(4))
				lines = append(lines, line{r[0], r[1], v[len(v)-1], s[len(s)-1]})
			}
			reads, value, size = append(reads, r), append(value, v), append(size, s)
		}
		room := [2]int{}
		for _, l := range lines {
			room[0], room[1] = room[0]+l.a*l.amount, room[1]+l.b*l.amount
		}
		room[0], room[1] = 2*room[0]/5, 2*room[1]/5
		income := func(p, q int) int {
			left, tied := room, map[[2]int]int{}
			for _, l := range lines {
				switch at := l.a*p + l.b*q; {
				case at < l.c:
					left[0], left[1] = left[0]-l.a*l.amount, left[1]-l.b*l.amount
				case at == l.c:
					tied[[2]int{l.a, l.b}] += l.amount
				}
			}
			if left[0] < 0 || left[1] < 0 {
				return 0
			}
			both := min(tied[[2]int{1, 1}], left[0], left[1]) // fills both links at once
			left[0], left[1] = left[0]-both, left[1]-both
			left[0], left[1] = left[0]-min(left[0], tied[[2]int{1, 0}]), left[1]-min(left[1], tied[[2]int{0, 1}])
			return p*(room[0]-left[0]) + q*(room[1]-left[1])
		}
		best := 0
		for i, l := range lines {
			for _, m := range lines[:i] {
				if det := l.a*m.b - l.b*m.a; det != 0 {
					p, q := (l.c*m.b-l.b*m.c)/det, (l.a*m.c-l.c*m.a)/det // det is 1 or -1
					if p >= 0 && q >= 0 && p <= 100 && q <= 100 {
						best = max(best, income(p, q))
					}
				}
			}
		}
		scaled := make([][]float64, users) // prices up to 10
		for u, row := range value {
			for _, v := range row {
				scaled[u] = append(scaled[u], float64(v)/10)
			}
		}
		p := bindData(t, text, runtime.Data{"U": users, "B": blocks, "R": reads, "value": scaled, "size": size, "room": room[:]})
		r, err := p.Solve(t.Context(), runtime.Options{Seed: 1})
		if err != nil {
			t.Fatalf("%d: %v", seed, err)
		}
		f, want := float64(r.Upper.Objective), float64(best)/10
		if f > want*(1+1e-9) {
			t.Errorf("%d: F = %v, and no vertex has more than %v", seed, f, want)
		}
		if trials++; f < want*(1-1e-6) {
			missed++
		}
		short += math.Max(0, 1-f/want)
	}
	// Measured over 20: 6 missed, by 0.2 % on average over all; without the jumps 15, by 1.1 %.
	if missed == trials || members.Full() && (2*missed > trials || short > 0.005*float64(trials)) {
		t.Errorf("%d of %d missed, by %.3g on average", missed, trials, short/float64(trials))
	}
}
