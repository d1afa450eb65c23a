package tree

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
)

// A choice is one only where nothing but its equation reads its options, and neither f nor g bends along them: a proof that says so of another problem is refused.
func TestChoicesOfOtherProblems(t *testing.T) {
	rng := members.Rand(t, 21)
	tried := 0
	for tried < 20 {
		p := game(rng, 2, []int{2, 3}, true)
		sys, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Solve(context.Background(), sys, Options{Nodes: 5000})
		if err != nil {
			t.Fatal(err)
		}
		if r.Outcome != Proved {
			continue
		}
		text := proofOf(t, sys, r)
		if !bytes.Contains(text, []byte(`"choice"`)) {
			continue
		}
		var choice struct {
			Choice *struct {
				Row int `json:"row"`
			} `json:"choice"`
		}
		for _, line := range bytes.Split(text, []byte("\n")) {
			if bytes.Contains(line, []byte(`"choice"`)) {
				if err := json.Unmarshal(line, &choice); err != nil {
					t.Fatal(err)
				}
			}
		}
		refuseRowsOfOthers(t, p, text)
		row := choice.Choice.Row
		cols, vals := p.Rows.B.Row(row)
		j, others := cols[0], p.Dy-1 // the last entry of y is the other follower's
		tried++
		for what, change := range map[string]func(q *problem.Problem, rows *problem.Rows, f, g *quadratic){
			"another row reads an option": func(_ *problem.Problem, rows *problem.Rows, _, _ *quadratic) {
				rows.B.Append(j, -1)
				rows.B.Append(others, -1)
				rows.B.EndRow()
				rows.A.EndRow()
				rows.Kind, rows.Rhs = append(rows.Kind, problem.AtMost), append(rows.Rhs, 50)
			},
			"x moves the total": func(_ *problem.Problem, rows *problem.Rows, _, _ *quadratic) { rows.A = withEntry(rows.A, row, 0, 0.5) },
			"x moves a bound":   func(_ *problem.Problem, rows *problem.Rows, _, _ *quadratic) { rows.A = withEntry(rows.A, j, 0, 0.5) },
			"coefficients differ": func(_ *problem.Problem, rows *problem.Rows, _, _ *quadratic) {
				rows.B = withEntry(rows.B, row, j, vals[0]/2)
			},
			"a bound is another one": func(_ *problem.Problem, rows *problem.Rows, _, _ *quadratic) { rows.Rhs[j] = 0.1 },
			"an inequality":          func(_ *problem.Problem, rows *problem.Rows, _, _ *quadratic) { rows.Kind[row] = problem.AtMost },
			"g bends":                func(_ *problem.Problem, _ *problem.Rows, _, g *quadratic) { g.set(p.Dx+j, p.Dx+j, 0.01) },
			"f bends":                func(_ *problem.Problem, _ *problem.Rows, f, _ *quadratic) { f.set(p.Dx+j, p.Dx+j, 0.01) },
			"f joins it to another":  func(_ *problem.Problem, _ *problem.Rows, f, _ *quadratic) { f.set(p.Dx+j, p.Dx+others, 0.01) },
		} {
			q, rows := *p, *p.Rows
			rows.A, rows.B = p.Rows.A.Clone(), p.Rows.B.Clone()
			rows.Kind, rows.Rhs = slices.Clone(rows.Kind), slices.Clone(rows.Rhs)
			f, g := *p.F.(*quadratic), *p.G.(*quadratic)
			f.m, g.m = slices.Clone(f.m), slices.Clone(g.m)
			change(&q, &rows, &f, &g)
			q.Rows, q.F, q.G = &rows, &f, &g
			_, err := certify.VerifyTree(&q, bytes.NewReader(text), "")
			if err == nil {
				t.Errorf("%s, and the proof is accepted", what)
			}
		}
	}
}

// refuseRowsOfOthers checks that the rows of hulls are inequalities of options of one choice.
func refuseRowsOfOthers(t *testing.T, p *problem.Problem, text []byte) {
	t.Helper()
	lines := bytes.Split(text, []byte("\n"))
	refused := func(what string, at int, line string) {
		forged := slices.Clone(lines)
		forged[at] = []byte(line)
		if _, err := certify.VerifyTree(p, bytes.NewReader(bytes.Join(forged, []byte("\n"))), ""); err == nil {
			t.Errorf("%s, and the proof is accepted: %s for %s", what, line, lines[at])
		}
	}
	var inequality []bool // of the rows of strong duality
	for at, line := range lines {
		var is struct {
			Strong *struct {
				Answer, Against, Upper *int
			}
			Bound, Empty *struct{ Duality *entries }
		}
		if len(line) == 0 {
			continue
		}
		if err := json.Unmarshal(line, &is); err != nil {
			t.Fatal(err)
		}
		if s := is.Strong; s != nil {
			inequality = append(inequality, s.Against != nil || s.Upper != nil && p.X.Kind[*s.Upper] == problem.AtMost)
			if s.Against != nil {
				for j := range p.Dy {
					if (*s.Answer < 2) != (j < 2) || j > 4 { // the second choice's, the other follower's
						refused("an option beside one of another choice", at, fmt.Sprintf(`{"strong":{"answer":%d,"against":%d}}`, *s.Answer, j))
					}
				}
			}
		}
		of := is.Bound
		if of == nil {
			of = is.Empty
		}
		if of == nil || of.Duality == nil {
			continue
		}
		for k, row := range of.Duality.At {
			if inequality[row] {
				const was = `"duality":`
				e := *of.Duality
				before, _ := json.Marshal(e)
				e.Val = slices.Clone(e.Val)
				e.Val[k] = -e.Val[k]
				after, _ := json.Marshal(e)
				refused("a weight of the wrong sign", at, strings.Replace(string(line), was+string(before), was+string(after), 1))
			}
		}
	}
}

// withEntry is m with another entry.
func withEntry(m *sparse.CSR, row, col int, v float64) *sparse.CSR {
	var entries []sparse.Entry
	for i := range m.Rows {
		cols, vals := m.Row(i)
		for e, j := range cols {
			if i != row || j != col {
				entries = append(entries, sparse.Entry{Row: i, Col: j, Val: vals[e]})
			}
		}
	}
	return sparse.FromEntries(m.Rows, m.Cols, append(entries, sparse.Entry{Row: row, Col: col, Val: v}))
}
