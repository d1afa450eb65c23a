package certify

import "math"

// pairs are the products of pairs of vectors, by number, each made when it is asked for first.
type pairs [][]float64 // of k with those up to it; nil and NaN: not asked for yet

// of is the product of k and l, which make makes, the same both ways round.
func (p *pairs) of(k, l int, make func() float64) float64 {
	k, l = max(k, l), min(k, l)
	for len(*p) <= k {
		*p = append(*p, nil)
	}
	for len((*p)[k]) <= l {
		(*p)[k] = append((*p)[k], math.NaN())
	}
	v := &(*p)[k][l]
	if math.IsNaN(*v) {
		*v = make()
	}
	return *v
}
