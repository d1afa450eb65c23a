package exchange

import (
	"fmt"
	"slices"
	"strings"

	"bilevelc/internal/each"
)

// spelling turns names of a model into those of a format, each into one of its own.
type spelling struct {
	allowed func(r rune) rune // what stands for a character; -1 leaves it out
	first   func(name string) bool
	taken   map[string]bool
	changed [][2]string // what was written and the name, where they differ
}

// of is the spelling of a name that has not been spelled yet.
func (s *spelling) of(name string) string {
	out := strings.Map(s.allowed, name)
	if out == "" || !s.first(out) {
		out = "_" + out
	}
	for k, base := 2, out; s.taken[out]; k++ {
		out = fmt.Sprintf("%s_%d", base, k)
	}
	s.taken[out] = true
	if out != name {
		s.changed = append(s.changed, [2]string{out, name})
	}
	return out
}

// mpsSpelling is for MPS in free format: fields end at blanks, and a field that begins with $ is a comment.
func mpsSpelling() *spelling {
	return &spelling{taken: map[string]bool{}, first: func(name string) bool { return name[0] != '$' && name[0] != '*' && !strings.HasPrefix(name, "'") },
		allowed: func(r rune) rune {
			switch {
			case r == ' ':
				return -1
			case r < ' ' || r == 0x7f:
				return '_'
			}
			return r
		}}
}

// lpWords end an expression or stand for a number where the LP format meets them.
var lpWords = []string{"free", "inf", "infinity", "infinite", "st", "s.t.", "st.", "subject", "such", "max", "maximize", "maximise", "maximum", "min", "minimize",
	"minimise", "minimum", "bound", "bounds", "bin", "binary", "binaries", "gen", "general", "generals", "int", "integer", "integers", "semi", "semis", "sos", "sos1",
	"sos2", "end", "range", "ranges"}

// lpSpelling is for the LP format: letters, digits and a few signs; brackets open quadratic terms. A name does not begin like a
// number, nor with an e that could be the exponent of one.
func lpSpelling() *spelling {
	return &spelling{taken: map[string]bool{},
		first: func(name string) bool {
			c := name[0] | 0x20
			exponent := c == 'e' && (len(name) == 1 || name[1] >= '0' && name[1] <= '9' || name[1]|0x20 == 'e')
			return (name[0] == '_' || c >= 'a' && c <= 'z') && !exponent && !slices.Contains(lpWords, strings.ToLower(name))
		},
		allowed: func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_.,()", r):
				return r
			case r == '[':
				return '('
			case r == ']':
				return ')'
			case r == ' ' || r == '"':
				return -1
			}
			return '_'
		}}
}

// brackets is what the LP format does to most names.
var brackets = strings.NewReplacer("[", "(", "]", ")", " ", "", `"`, "")

// spelled are the names of a program in a format.
type spelled struct {
	objective           string
	columns, rows, sets []string
	above               []string // of a ranged row, the name of its second side; "" for others
}

func (p *Program) spell(columns, rows *spelling) (of spelled, notes []string) {
	all := func(s *spelling, n int, name func(k int) string) []string {
		return each.Below(n, func(k int) string { return s.of(name(k)) })
	}
	of.columns = all(columns, len(p.Columns), func(k int) string { return p.Columns[k].Name })
	of.rows = all(rows, len(p.Rows), func(k int) string { return p.Rows[k].Name })
	of.objective = rows.of("objective")
	of.above = make([]string, len(p.Rows))
	for i := range p.Rows {
		if p.Rows[i].ranged() {
			of.above[i] = rows.of(p.Rows[i].Name + ".upper")
		}
	}
	of.sets = all(rows, len(p.Sets), func(k int) string { return p.Sets[k].Name })
	notes = append(notes, p.Notes...)
	turned := false
	for _, s := range []*spelling{columns, rows} {
		for _, c := range s.changed {
			if plain := brackets.Replace(c[1]); plain != c[0] {
				notes = append(notes, c[0]+" is "+c[1])
			} else if strings.Contains(c[0], "(") && !strings.Contains(c[1], "(") {
				turned = true
			}
		}
	}
	if turned {
		notes = append(notes, "[ ] of the model's names are ( ), without blanks and quotes")
	}
	for i, n := range notes {
		notes[i] = strings.Map(func(r rune) rune {
			if r < ' ' {
				return ' '
			}
			return r
		}, n)
	}
	return of, notes
}
