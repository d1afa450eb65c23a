package tree

// costs are pseudo-costs (Benichou et al. 1971): for each candidate and side, by how much the bound rises a unit of the distance that
// the branch moves.
type costs struct {
	Sum   [2][]float64 `json:"sum"`
	Count [2][]int32   `json:"count"`
}

func newCosts(n int) costs {
	var c costs
	for side := range 2 {
		c.Sum[side], c.Count[side] = make([]float64, n), make([]int32, n)
	}
	return c
}

func (c *costs) clone() costs {
	var d costs
	for side := range 2 {
		d.Sum[side] = append([]float64(nil), c.Sum[side]...)
		d.Count[side] = append([]int32(nil), c.Count[side]...)
	}
	return d
}

// gain is what a branch of a node gave.
type gain struct {
	branch, side int
	unit         float64 // a unit of distance
}

func (c *costs) note(g gain) {
	c.Sum[g.side][g.branch] += g.unit
	c.Count[g.side][g.branch]++
}

// mean is the average over all candidates of a side that have a cost; 1 where none has.
func (c *costs) mean(side int) float64 {
	sum, n := 0.0, 0
	for k, count := range c.Count[side] {
		if count > 0 {
			sum += c.Sum[side][k] / float64(count)
			n++
		}
	}
	if n == 0 {
		return 1
	}
	return sum / float64(n)
}

// of is the cost of a candidate's side, mean where it has none.
func (c *costs) of(branch, side int, mean float64) float64 {
	if n := c.Count[side][branch]; n > 0 {
		return c.Sum[side][branch] / float64(n)
	}
	return mean
}
