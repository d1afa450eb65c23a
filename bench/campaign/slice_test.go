package main

import (
	"fmt"
	"slices"
	"testing"

	"bilevelc/internal/members"
)

// TestSlice asks about the programs of every cause that the campaign has found so far, some of them
// in a plain run: nothing false. The findings that it may have are those that say nothing false.
func TestSlice(t *testing.T) {
	t.Parallel()
	seeds := []uint64{
		901917, 902393, 902931, // differences in units that are not those of g
		900853, 902258, 902313, 903054, // residuals and moduli that are rounding of cancelling terms
		901294, 902882, 903088, 1000521, // dependent equalities that tie x
		900238, 901183, 901869, 903225, 900869, 902096, // strict where terms cancel, and dependent rows by units
		900489, 901859, // dependent equalities in other units
		902750, 902820, 901300, 1004702,
		1000935, 1000975, // more rows hold y than it has directions
		1002045, 1003308, // an entropy from far away
		1001823, 1004536, // adjoints of which the rows leave nothing, and sizes that are rounding
		6000125, 6001025, 6002249, // strict by less than x is known to, or than a verification tells
		7009924,          // a step among multipliers that are not unique, whose rounding moves y
		6001683, 6002106, // at the edge of a domain, and where nothing has a length
		7003751, 7012191, // sizes at a vertex of X, and where X has no interior
		7004518, 7008074, // lower levels judged by curvature of where they began
		7000004, 7000157, 7000239, // evaluations where several kinks meet
		10004859, 10007127, 14012078, // gradients from solves that left more than they said
		10001165, 12002181, 13011857, // X of one point, and X that holds an entry at one value
		14006923, 13010761, // rows of which one gives way by little, and D of one point
		14012192,           // an entry beside the edge of a domain that hides the curvature of others
		13000894, 13003342, // rows that hold by little, and at a vertex
		14011723, 14013715, // a free x that is rounding, and an equality among inequalities
		21074707, 21066302, 21062901, // ends of a difference off their face, a start at a maximum, a gradient of 1e-166
		21033856,           // a far end, where curvature is not found again
		21078328, 22028809, // rows that are copies where others tie x
		21055742, 21051690, // entries of x that rows of X hold at one value
		22032898,                     // an evaluation outside of an X of one point
		32013352, 32047750, 32096298, // small forces beside large ones: entries of y off, a multiplier of a row with slack
		34016569,           // an inequality at a small angle to the equations, violated by 1e-13
		34003904,           // 2 x beside e^301
		38010012,           // a modulus of a y in other units, which the campaign took for that of y
		33015462, 33018100, // and rounding beside large ones, which is no force
		23008370, 21081231, // an entropy at its end: a failed run's y, and the truth's own Newton steps
		23008876, 23027306, // rows that are implied where X holds an entry
		23024580, 23021130, // units of 1e-7 that nothing tells, a modulus along rows that leave no direction
		21064853, 24041728, // a start of 1e-188, terms of 1e11 that cancel
		24078816, 24080516, // x off a tie by rounding, gradients that are rounding
		40025263, 41072373, 41072896, // x that is rounding, multipliers of the solve before, rows on x alone that hold an entry
		43020245, 44013755, // the truth's own rounding: of a margin, and of y at x = 1e14
		12049806, 12060842, 12040116, 12054107, // points of a relaxation outside X, terms that cancel at 0, and the truth beside the end of an entropy
		5202,               // the truth's own rounding of y, where f's gradient in y is 0
		19007885, 21011913, // an end before the verification, and a y of 0 that is rounding
	}
	nothingFalse(t, members.Some(t, seeds, members.Few))
}

// TestMinute is a minute of the campaign on an idle core, several blocks of programs at a time: 1000
// programs in full, 100 in a plain run. Limits of time are those of the programs' own runs, of 10 s
// where nearly all take milliseconds.
func TestMinute(t *testing.T) {
	const first = 3000
	for block := range 5 {
		t.Run(fmt.Sprint(block), func(t *testing.T) {
			t.Parallel()
			seeds := slices.Collect(members.Seeds(t, 200))
			for k := range seeds {
				seeds[k] += first + uint64(block*len(seeds))
			}
			nothingFalse(t, seeds)
		})
	}
}

// nothingFalse asks about the programs of some seeds.
func nothingFalse(t *testing.T, seeds []uint64) {
	t.Helper()
	said := 0
	for _, seed := range seeds {
		r := examine(seed)
		said += len(r.Outcomes)
		for _, f := range r.Findings {
			if !f.Soft {
				t.Errorf("seed %d: %s: %s", seed, f.Kind, f.Detail)
			}
		}
	}
	if said < 2*len(seeds) {
		t.Errorf("%d outcomes of %d programs", said, len(seeds))
	}
}
