package lower

import (
	"fmt"
	"math"
	"sort"
)

// consistent reports whether the rows that do not involve y and the equalities
// leave anything to solve; if not it says so in s. f is used as workspace.
func (q *polyhedron) consistent(x []float64, f *face, s *Solution) bool {
	if i := q.emptyRow(x); i >= 0 {
		s.Status = Infeasible
		s.Reason = fmt.Sprintf("%s does not involve y and does not hold at this x", q.rows.RowName(i))
		s.Witness = make([]float64, q.m)
		s.Witness[i] = math.Copysign(1, q.rhs[i])
		return false
	}
	f.reset(q)
	for i := 0; i < q.m; i++ {
		if !q.equal(i) || q.norm[i] == 0 || f.add(i) {
			continue
		}
		combination := make([]float64, q.m)
		f.combination(combination, i)
		if q.disagreement(combination, i) <= inconsistency {
			continue
		}
		for t := range combination {
			combination[t] = -combination[t]
		}
		combination[i]++
		s.Status, s.Witness = Dependent, combination
		s.Reason = fmt.Sprintf("equality %s depends on %s and contradicts them", q.rows.RowName(i), q.names(combination, i))
		return false
	}
	return true
}

// explain names the rows of a Farkas vector.
func (q *polyhedron) explain(witness []float64) string {
	return fmt.Sprintf("no y satisfies %s together", q.names(witness, -1))
}

// names lists the rows with a nonzero coefficient, but for one, those with
// the largest share first.
func (q *polyhedron) names(combination []float64, but int) string {
	var rows []int
	for i, c := range combination {
		if c != 0 && i != but {
			rows = append(rows, i)
		}
	}
	share := func(i int) float64 { return math.Abs(combination[i]) * q.norm[i] }
	sort.SliceStable(rows, func(i, j int) bool { return share(rows[i]) > share(rows[j]) })
	const shown = 6
	text := ""
	for k, i := range rows {
		if k == shown {
			return fmt.Sprintf("%s and %d more", text, len(rows)-shown)
		}
		if k > 0 {
			text += ", "
		}
		text += q.rows.RowName(i)
	}
	return text
}

// emptyRow returns a row that does not involve y and does not hold at x, or
// -1.
func (q *polyhedron) emptyRow(x []float64) int {
	for i := 0; i < q.m; i++ {
		if q.norm[i] > 0 {
			continue
		}
		size := math.Abs(q.rows.Rhs[i])
		cols, vals := q.rows.A.Row(i)
		for t, j := range cols {
			size += math.Abs(vals[t] * x[j])
		}
		violation := q.rhs[i]
		if q.equal(i) {
			violation = math.Abs(violation)
		}
		if violation > inconsistency*size {
			return i
		}
	}
	return -1
}

// inconsistency is the disagreement of dependent rows, relative to the size
// of their right-hand sides, from which they contradict each other. Below it
// the data, which carry rounding, do not decide.
const inconsistency = 1e-9

// disagreement is |r_i - c'r| relative to the size of the terms, for a row
// that is the combination c of others.
func (q *polyhedron) disagreement(c []float64, i int) float64 {
	difference, size := q.rhs[i], math.Abs(q.rhs[i])
	for t, v := range c {
		difference -= v * q.rhs[t]
		size += math.Abs(v * q.rhs[t])
	}
	return math.Abs(difference) / math.Max(size, q.norm[i])
}
