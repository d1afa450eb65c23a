package main

import (
	"math/big"
	"math/rand/v2"
	"time"

	"bilevelc/bench/campaign/truth"
	"bilevelc/runtime"
)

// shrinkTime bounds the search for a smaller model of a false statement.
const shrinkTime = 5 * time.Second

// shrink takes away what a false statement does not need, one part at a time,
// as long as a statement of the same kind stays false, and returns the text
// and what is said of it.
func shrink(m *truth.Model, s style, opts runtime.Options, kind string, seed uint64) (string, []finding) {
	end := time.Now().Add(shrinkTime)
	var found []finding
	var text string
	fails := func(m *truth.Model, s style) (failed bool) {
		if time.Now().After(end) {
			return false
		}
		e := newExamination(m, s, seed)
		defer func() { // the truth's own code may not like what is left
			if recover() != nil {
				failed = kind == "panic"
			}
		}()
		e.run(opts)
		for _, f := range e.Findings {
			if f.Kind == kind && !f.Soft {
				found, text = e.Findings, e.text
				return true
			}
		}
		return false
	}
	if !fails(m, s) {
		return "", nil
	}
	for _, simpler := range []func(*style){
		func(s *style) { s.scale = scaling{} }, func(s *style) { s.scale.X = 0 }, func(s *style) { s.scale.Y = 0 },
		func(s *style) { s.scale.F = 0 }, func(s *style) { s.scale.G = 0 }, func(s *style) { s.scale.Rows = 0 },
		func(s *style) { s.matrices = false }, func(s *style) { s.maxUpper = false },
		func(s *style) { s.maxLower = false }, func(s *style) { s.turned = false },
	} {
		if t := s; true {
			if simpler(&t); t != s && fails(m, t) {
				s = t
			}
		}
	}
	for again := true; again; {
		again = false
		for _, smaller := range smaller(m) {
			if fails(smaller, s) {
				m, again = smaller, true
				break
			}
		}
	}
	fails(m, s)
	return text, found
}

// smaller lists the models that miss one part of m, the largest parts first.
func smaller(m *truth.Model) []*truth.Model {
	var out []*truth.Model
	add := func(change func(c *truth.Model)) {
		c := m.Map(func(v *big.Rat) *big.Rat { return new(big.Rat).Set(v) })
		change(c)
		dropEmptyRows(c)
		if c.Convex() {
			out = append(out, c)
		}
	}
	for j := range m.Dy {
		if m.Dy > 1 {
			add(func(c *truth.Model) { dropY(c, j) })
		}
	}
	for j := range m.Dx {
		if m.Dx > 1 {
			add(func(c *truth.Model) { dropX(c, j) })
		}
	}
	for i := range m.Rows {
		add(func(c *truth.Model) { c.Rows = append(c.Rows[:i], c.Rows[i+1:]...) })
	}
	for i := range m.XRows {
		add(func(c *truth.Model) { c.XRows = append(c.XRows[:i], c.XRows[i+1:]...) })
	}
	for i := range m.G.Terms {
		add(func(c *truth.Model) { c.G.Terms = append(c.G.Terms[:i], c.G.Terms[i+1:]...) })
	}
	for i := range m.F.Terms {
		add(func(c *truth.Model) { c.F.Terms = append(c.F.Terms[:i], c.F.Terms[i+1:]...) })
	}
	// Single numbers become 0, or 1 where 0 would change the class.
	numbers := func(m *truth.Model) []*big.Rat {
		var all []*big.Rat
		all = append(append(append(append(all, m.F.Lx...), m.F.Ly...), m.G.Lx...), m.G.Ly...)
		for _, matrix := range [][][]*big.Rat{m.F.Xx, m.F.Xy, m.F.Yy, m.G.Xy} {
			for _, row := range matrix {
				all = append(all, row...)
			}
		}
		for _, r := range append(append([]truth.Row(nil), m.Rows...), m.XRows...) {
			all = append(append(append(all, r.A...), r.C...), r.Rhs)
		}
		return all
	}
	for k, v := range numbers(m) {
		if v.Sign() != 0 {
			add(func(c *truth.Model) { numbers(c)[k].SetInt64(0) })
		}
	}
	for i := range m.G.Yy {
		for j := range i {
			if m.G.Yy[i][j].Sign() != 0 {
				add(func(c *truth.Model) { c.G.Yy[i][j].SetInt64(0); c.G.Yy[j][i].SetInt64(0) })
			}
		}
		if m.G.Yy[i][i].Cmp(truth.Rat(1, 1)) != 0 {
			add(func(c *truth.Model) { c.G.Yy[i][i].SetInt64(1) })
		}
	}
	return out
}

func without[T any](v []T, j int) []T {
	if len(v) <= j {
		return v
	}
	return append(append([]T(nil), v[:j]...), v[j+1:]...)
}

func dropX(m *truth.Model, j int) {
	m.Dx--
	m.XLo, m.XHi = without(m.XLo, j), without(m.XHi, j)
	for _, f := range []*truth.Function{&m.F, &m.G} {
		f.Lx, f.Xx, f.Xy = without(f.Lx, j), without(f.Xx, j), without(f.Xy, j)
		for i := range f.Xx {
			f.Xx[i] = without(f.Xx[i], j)
		}
		for i := range f.Terms {
			f.Terms[i].A = without(f.Terms[i].A, j)
		}
	}
	for i := range m.Rows {
		m.Rows[i].A = without(m.Rows[i].A, j)
	}
	for i := range m.XRows {
		m.XRows[i].A = without(m.XRows[i].A, j)
	}
	dropEmptyRows(m)
}

func dropY(m *truth.Model, j int) {
	m.Dy--
	m.YLo, m.YHi = without(m.YLo, j), without(m.YHi, j)
	for _, f := range []*truth.Function{&m.F, &m.G} {
		f.Ly, f.Yy = without(f.Ly, j), without(f.Yy, j)
		for i := range f.Yy {
			f.Yy[i] = without(f.Yy[i], j)
		}
		for i := range f.Xy {
			f.Xy[i] = without(f.Xy[i], j)
		}
		for i := range f.Terms {
			f.Terms[i].C = without(f.Terms[i].C, j)
		}
	}
	for i := range m.Rows {
		m.Rows[i].C = without(m.Rows[i].C, j)
	}
	dropEmptyRows(m)
}

// dropEmptyRows removes rows that read nothing: they are no statement of a
// user's.
func dropEmptyRows(m *truth.Model) {
	var rows, xrows []truth.Row
	for _, r := range m.Rows {
		if !truth.AllZero(r.A) || !truth.AllZero(r.C) {
			rows = append(rows, r)
		}
	}
	for _, r := range m.XRows {
		if !truth.AllZero(r.A) {
			xrows = append(xrows, r)
		}
	}
	m.Rows, m.XRows = rows, xrows
}

// newExamination prepares the questions about one program.
func newExamination(m *truth.Model, s style, seed uint64) *examination {
	return &examination{report: &report{}, model: m, eval: truth.NewEvaluator(m), style: s, text: write(m, s),
		rng: rand.New(rand.NewPCG(seed, 7))}
}
