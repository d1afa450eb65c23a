package curvature

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"bilevelc/internal/sparse"
	"bilevelc/ir"
	"bilevelc/lang/diag"
)

// Standing says for which rows of B linear independence (LICQ, paper:
// item:assumption_tangen_space) was found.
type Standing uint8

// The standings, from the strongest to the weakest.
const (
	AllRows       Standing = iota // B has full row rank
	EveryActive                   // every set of rows that can be active together is independent
	ActiveOnly                    // depends on which rows are active at the solution
	EqualityFault                 // the equality rows themselves are dependent
)

func (s Standing) String() string {
	return [...]string{
		"all rows of B are independent",
		"rows that can be active together are independent",
		"independent only as far as the rows active at the solution are",
		"equality rows are dependent",
	}[s]
}

// MarshalText writes the standing as its phrase.
func (s Standing) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Dependency is a row of B that is a combination of other rows.
type Dependency struct {
	Row       string   // "cap[3]"
	Of        []string // the rows it is made of
	Text      string   // "cap[3] = cap[1] + 2 budget"
	Equality  bool     // all of them are equality rows
	Redundant bool     // equalities: the row says nothing that the others do not
	// Inconsistent reports that the right-hand sides contradict each other for
	// every x, so that no y is feasible.
	Inconsistent bool
	Span         diag.Span `json:"-"`
}

// Qualification is the constraint qualification as far as B shows it.
type Qualification struct {
	Standing  Standing
	Rows      int // of B
	Rank      int // of B; -1 where it was too large to compute
	Dependent []Dependency
}

// rankTolerance is how small a row of length 1 may become, by subtracting the
// rows before it, to count as their combination. Rounding leaves at most
// 1e-16 times the number of rows and their condition; true data that is
// independent by less than this would make multipliers meaningless.
const rankTolerance = 1e-10

// rankWork bounds rows^2 * columns of the orthogonalization: 4e9 operations
// are a few seconds.
const rankWork = 4e9

// maxNamed bounds the rows that the text of a combination names.
const maxNamed = 6

// maxDependent bounds the dependent rows that are named.
const maxDependent = 20

// qualify finds the dependent rows: among the equality rows first, then among
// all, where one row of each pair of opposite bounds is left out.
func qualify(p *ir.Problem) Qualification {
	out := Qualification{Rows: len(p.Rows)}
	if p.B == nil || len(p.Rows) == 0 {
		return out
	}
	var work float64
	redundant := map[int]bool{} // dependent equality rows
	o := &orthogonalizer{b: p.B, work: &work}
	for i, r := range p.Rows {
		if !r.Equal {
			continue
		}
		coefs, ok := o.add(i)
		if !ok {
			return out.unknown()
		}
		if coefs != nil {
			redundant[i] = true
			out.Dependent = append(out.Dependent, dependency(p, i, coefs, true))
		}
	}
	opposite := opposites(p)
	all := &orthogonalizer{b: p.B, work: &work, bounds: map[int]int{}}
	pairs, others := 0, 0
	var later []int // rows that are not the first bound on an entry
	for i, r := range p.Rows {
		mate, paired := opposite[i]
		switch {
		case redundant[i]:
		case paired && mate < i:
			pairs++ // parallel to its mate, with which it is never active
		case !r.Equal && all.bound(i):
		default:
			later = append(later, i)
		}
	}
	for _, i := range later {
		if all.rank() == p.Lower.Dim && len(out.Dependent) >= maxDependent {
			others++ // no further row can be independent
			continue
		}
		coefs, ok := all.add(i)
		switch {
		case !ok:
			return out.unknown()
		case coefs == nil:
		case len(out.Dependent) < maxDependent:
			out.Dependent = append(out.Dependent, dependency(p, i, coefs, false))
		default:
			others++
		}
	}
	out.Rank = all.rank()
	switch {
	case len(redundant) > 0:
		out.Standing = EqualityFault
	case len(out.Dependent) > 0 || others > 0:
		out.Standing = ActiveOnly
	case pairs > 0:
		out.Standing = EveryActive
	}
	return out
}

// unknown is what remains where the rows are too many to decompose.
func (q Qualification) unknown() Qualification {
	q.Rank, q.Standing = -1, ActiveOnly
	return q
}

// opposites pairs inequality rows with parallel, opposite rows of B that cannot
// both be active: the gap between them is positive and does not depend on x.
func opposites(p *ir.Problem) map[int]int {
	mates := map[int]int{}
	byPattern := map[string][]int{}
	for i, r := range p.Rows {
		if r.Equal {
			continue
		}
		key, sign := pattern(p.B, i)
		if key == "" {
			continue
		}
		for _, j := range byPattern[key] {
			if _, taken := mates[j]; taken {
				continue
			}
			_, signJ := pattern(p.B, j)
			if sign != signJ && apart(p, i, j) {
				mates[i], mates[j] = j, i
				break
			}
		}
		byPattern[key] = append(byPattern[key], i)
	}
	return mates
}

// pattern is a row of B up to its sign and scale, and its sign.
func pattern(b *sparse.CSR, i int) (key string, sign float64) {
	cols, vals := b.Row(i)
	var out strings.Builder
	lead := 0.0
	for k, j := range cols {
		if vals[k] == 0 {
			continue
		}
		if lead == 0 {
			lead = vals[k]
		}
		fmt.Fprintf(&out, "%d:%.15g;", j, vals[k]/lead)
	}
	return out.String(), math.Copysign(1, lead)
}

// apart reports that opposite rows i and j leave a gap for every x: scaled so
// that their parts in y cancel, h_i + h_j is a negative number without x.
func apart(p *ir.Problem, i, j int) bool {
	lead := func(r int) float64 {
		_, vals := p.B.Row(r)
		for _, v := range vals {
			if v != 0 {
				return math.Abs(v)
			}
		}
		return 1
	}
	si, sj := 1/lead(i), 1/lead(j)
	rest := map[int]float64{}
	for r, s := range map[int]float64{i: si, j: sj} {
		visitRow(p.A, r, s, func(c int, coef float64) { rest[c] += coef })
	}
	for _, v := range rest {
		if v != 0 {
			return false
		}
	}
	gap := si*p.Rhs[i] + sj*p.Rhs[j]
	return gap > rankTolerance*(si*math.Abs(p.Rhs[i])+sj*math.Abs(p.Rhs[j]))
}

// dependency words row i as the combination coefs of rows.
func dependency(p *ir.Problem, i int, coefs map[int]float64, equality bool) Dependency {
	d := Dependency{Row: p.Rows[i].Name, Equality: equality}
	if p.Rows[i].Family != nil {
		d.Span = p.Rows[i].Family.Span
	}
	var rows []int
	for r := range coefs {
		rows = append(rows, r)
	}
	sort.Ints(rows)
	var text strings.Builder
	for n, r := range rows {
		c := coefs[r]
		if d.Of = append(d.Of, p.Rows[r].Name); n > maxNamed {
			continue
		}
		if n == maxNamed {
			fmt.Fprintf(&text, " + ... (%d more)", len(rows)-n)
			continue
		}
		switch {
		case n == 0 && c < 0:
			text.WriteString("-")
		case n > 0 && c < 0:
			text.WriteString(" - ")
		case n > 0:
			text.WriteString(" + ")
		}
		if c = math.Abs(c); math.Abs(c-1) > rankTolerance {
			fmt.Fprintf(&text, "%s ", number(c))
		}
		text.WriteString(p.Rows[r].Name)
	}
	if len(rows) == 0 {
		text.WriteString("0 (it does not involve y)")
	}
	d.Text = d.Row + " = " + text.String()
	if !d.Equality {
		return d
	}
	// The same combination of A x - b: equal where the row is redundant.
	rest, size := map[int]float64{}, 0.0
	gap, level := -p.Rhs[i], math.Abs(p.Rhs[i])
	visitRow(p.A, i, 1, func(c int, v float64) { rest[c] += v; size = max(size, math.Abs(v)) })
	for r, c := range coefs {
		gap += c * p.Rhs[r]
		level += math.Abs(c * p.Rhs[r])
		visitRow(p.A, r, -c, func(col int, v float64) { rest[col] += v; size = max(size, math.Abs(v)) })
	}
	free := true
	for _, v := range rest {
		free = free && math.Abs(v) <= rankTolerance*size
	}
	d.Redundant = free && math.Abs(gap) <= rankTolerance*level
	d.Inconsistent = free && !d.Redundant
	return d
}

// orthogonalizer is the modified Gram-Schmidt process on rows of B, repeated
// once for accuracy, which remembers each basis vector as a combination of
// rows. Rows of one entry (bounds) are kept apart: they cost nothing.
type orthogonalizer struct {
	b      *sparse.CSR
	bounds map[int]int       // entry of y -> the bound row that stands for it
	basis  [][]float64       // orthonormal, len Dy each, 0 where bounds stand
	combs  []map[int]float64 // basis[k] = sum combs[k][row] * row
	work   *float64
}

func (o *orthogonalizer) rank() int { return len(o.bounds) + len(o.basis) }

// bound takes a row of one entry that no other bound stands for.
func (o *orthogonalizer) bound(i int) bool {
	entry := -1
	visitRow(o.b, i, 1, func(j int, _ float64) {
		if entry == -1 {
			entry = j
		} else {
			entry = -2
		}
	})
	if _, taken := o.bounds[entry]; entry < 0 || taken {
		return false
	}
	o.bounds[entry] = i
	return true
}

// add takes row i into the basis and returns nil, or, where it depends on the
// rows before it, its coefficients; not ok where the work runs out.
func (o *orthogonalizer) add(i int) (coefs map[int]float64, ok bool) {
	v := make([]float64, o.b.Cols)
	o.b.AddRow(v, i, 1)
	size := math.Sqrt(dot(v, v))
	if size == 0 {
		return map[int]float64{}, true
	}
	comb := map[int]float64{i: 1}
	for j, r := range o.bounds {
		if v[j] != 0 {
			visitRow(o.b, r, 1, func(_ int, coef float64) { comb[r] -= v[j] / coef })
			v[j] = 0
		}
	}
	for range 2 {
		for k, q := range o.basis {
			c := dot(v, q)
			if c == 0 {
				continue
			}
			for j := range v {
				v[j] -= c * q[j]
			}
			for r, e := range o.combs[k] {
				comb[r] -= c * e
			}
		}
		if *o.work += 4 * float64(len(v)) * float64(len(o.basis)); *o.work > rankWork {
			return nil, false
		}
	}
	left := math.Sqrt(dot(v, v))
	if left > rankTolerance*size {
		for j := range v {
			v[j] /= left
		}
		for r := range comb {
			comb[r] /= left
		}
		o.basis, o.combs = append(o.basis, v), append(o.combs, comb)
		return nil, true
	}
	coefs = map[int]float64{}
	for r, e := range comb {
		if r != i && math.Abs(e) > rankTolerance*10 {
			coefs[r] = -e
		}
	}
	return coefs, true
}
