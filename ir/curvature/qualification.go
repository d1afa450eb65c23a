package curvature

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/lang/diag"
)

// Standing says for which rows of B linear independence (LICQ, paper:
// item:assumption_tangen_space) was found.
type Standing uint8

// The standings, from the strongest to the weakest.
const (
	allRows       Standing = iota // B has full row rank
	everyActive                   // every set of rows that can be active together is independent
	activeOnly                    // depends on which rows are active at the solution
	equalityFault                 // the equality rows themselves are dependent
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
	Of        []string // the rows it is made of, the first of them
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
	Rows      int          // of B
	Rank      int          // of B; -1 where it was too large to compute
	Dependent []Dependency // the first of them
	more      int          // dependent rows that are not named
}

// maxNamed bounds the rows that the text of a combination names, and
// maxDependent the dependent rows that are named and the rows of each.
const (
	maxNamed     = 6
	maxDependent = 20
)

// qualify finds the dependent rows: among the equality rows first, then among
// all, where one row of each pair of opposite bounds is left out.
func (pr *prover) qualify() Qualification {
	p := pr.Problem
	out := Qualification{Rows: len(p.Rows)}
	if len(p.Rows) == 0 {
		return out
	}
	work := &budget{left: pr.opts.MaxWork / 5, ctx: pr.opts.Context} // operations of Gram-Schmidt
	equal := each.WhereBelow(len(p.Rows), func(i int) bool { return p.Rows[i].Equal })
	redundant := map[int]bool{} // dependent equality rows
	among := newRows(p.B, nil, work)
	note := func(i int, coefs func() map[int]float64, equality bool) {
		if out.more++; len(out.Dependent) < maxDependent {
			out.more--
			out.Dependent = append(out.Dependent, dependency(p, i, coefs(), equality))
		}
	}
	if !among.examine(equal, func(i int, coefs func() map[int]float64) bool {
		redundant[i] = true
		note(i, coefs, true)
		return true
	}) {
		return out.unknown()
	}
	mates := opposites(p)
	standing := slices.Repeat([]int{-1}, p.Lower.Dim) // of each entry of y: the bound row that stands for it, or -1
	pairs, bounds := 0, 0
	var later []int // rows that are not the first bound on an entry
	for i, r := range p.Rows {
		switch {
		case redundant[i]:
		case mates[i] >= 0 && mates[i] < i:
			pairs++ // parallel to its mate, with which it is never active
		default:
			if cols, _ := p.B.Row(i); !r.Equal && len(cols) == 1 && standing[cols[0]] < 0 {
				standing[cols[0]] = i
				bounds++
				continue
			}
			later = append(later, i)
		}
	}
	all := newRows(p.B, standing, work)
	if !all.examine(later, func(i int, coefs func() map[int]float64) bool {
		note(i, coefs, false)
		return len(out.Dependent) < maxDependent || bounds+all.rank < p.Lower.Dim
	}) {
		return out.unknown()
	}
	out.Rank = bounds + all.rank
	switch {
	case len(redundant) > 0:
		out.Standing = equalityFault
	case len(out.Dependent) > 0:
		out.Standing = activeOnly
	case pairs > 0:
		out.Standing = everyActive
	}
	return out
}

// unknown is what remains where the rows are too many to decompose.
func (q Qualification) unknown() Qualification {
	q.Rank, q.Standing = -1, activeOnly
	return q
}

// dependency words row i as the combination coefs of rows.
func dependency(p *ir.Problem, i int, coefs map[int]float64, equality bool) Dependency {
	d := Dependency{Row: p.Rows[i].Name, Equality: equality}
	if p.Rows[i].Family != nil {
		d.Span = p.Rows[i].Family.Span
	}
	rows := slices.Sorted(maps.Keys(coefs))
	var text strings.Builder
	for n, r := range rows {
		c := coefs[r]
		if n < maxDependent {
			d.Of = append(d.Of, p.Rows[r].Name)
		}
		if n > maxNamed {
			continue
		}
		if n == maxNamed {
			fmt.Fprintf(&text, " + ... (%d more)", len(rows)-n)
			continue
		}
		addTerm(&text, c, rankTolerance, "%.6g ", p.Rows[r].Name)
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
