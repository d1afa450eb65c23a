package lower

import (
	"fmt"
	"math"
	"sort"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/runtime/qp"
	"bilevelc/runtime/tolerance"
)

// consistent reports whether the rows that do not involve y and the equalities
// leave anything to solve; if not it says so in s. f is used as workspace.
func (q *polyhedron) consistent(f *face, s *Solution) bool {
	if q.vacuous(s) {
		return false
	}
	f.reset(q)
	for i := 0; i < q.m; i++ {
		if !q.equal(i) || q.norm[i] == 0 || f.add(i) {
			continue
		}
		combination := make([]float64, q.m)
		f.combination(combination, i)
		if s.contradictory(q, combination, i) {
			return false
		}
	}
	return true
}

// contradictory reports that the equality i contradicts others that combine to its left side (polyhedron.contradicts), and says so in s.
func (s *Solution) contradictory(q *polyhedron, combination []float64, i int) bool {
	if !q.contradicts(combination, i) {
		return false
	}
	s.Status, s.Witness = Dependent, combination
	s.Reason = fmt.Sprintf("equality %s depends on %s and contradicts them", q.rows.RowName(i), q.names(combination, i))
	return true
}

// explain names the rows of a Farkas vector.
func (q *polyhedron) explain(witness []float64) string {
	return fmt.Sprintf("no y satisfies %s together", q.names(witness, -1))
}

// names lists the rows with a nonzero coefficient, but for one, those with
// the largest share first.
func (q *polyhedron) names(combination []float64, but int) string {
	rows := each.WhereBelow(len(combination), func(i int) bool { return combination[i] != 0 && i != but })
	share := func(i int) float64 { return math.Abs(combination[i]) * q.norm[i] }
	sort.SliceStable(rows, func(i, j int) bool { return share(rows[i]) > share(rows[j]) })
	text := ""
	for k, i := range rows {
		if k == tolerance.MostNamed {
			return fmt.Sprintf("%s and %d more", text, len(rows)-tolerance.MostNamed)
		}
		if k > 0 {
			text += ", "
		}
		text += q.rows.RowName(i)
	}
	return text
}

// vacuous reports a row that does not involve y and does not hold, and says so
// in s.
func (q *polyhedron) vacuous(s *Solution) bool {
	for i := range q.m {
		if q.norm[i] > 0 || q.rhs[i] == 0 || !q.equal(i) && q.rhs[i] < 0 {
			continue
		}
		witness := make([]float64, q.m)
		witness[i] = math.Copysign(1, q.rhs[i]) // row i alone, with the sign of its violation
		if qp.Refuted(q.rows, q.x, witness) {
			s.Status, s.Witness = Infeasible, witness
			s.Reason = fmt.Sprintf("%s does not involve y and does not hold at this x", q.rows.RowName(i))
			return true
		}
	}
	return false
}

// contradicts makes of c, which combines other rows to row i, the weights that
// combine all of them to nothing, with the sign that makes r'c >= 0, and reports
// whether they prove that the rows contradict each other at x: qp.Refuted, on
// equalities alone.
func (q *polyhedron) contradicts(c []float64, i int) bool {
	difference := q.rhs[i]
	for t, v := range c {
		difference -= v * q.rhs[t]
		c[t] = -v
	}
	c[i]++
	if difference < 0 {
		floats.Scale(-1, c)
	}
	return qp.Refuted(q.rows, q.x, c)
}
