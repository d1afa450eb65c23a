package main

import "testing"

// TestSlice is a bounded part of the campaign: nothing false on fixed seeds, among
// them those of every cause that the campaign has found so far. The findings that it may
// have are those that say nothing false.
func TestSlice(t *testing.T) {
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
		6001683, 6002106, // at the edge of a domain, and where nothing has a length
	}
	if testing.Short() {
		seeds = seeds[:8]
	} else {
		for k := range uint64(60) {
			seeds = append(seeds, 3000+k)
		}
	}
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
