package session

import (
	"fmt"
	"regexp"
	"slices"

	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// declare adds a declaration, or puts it where the one of its name stood.
func (s *Session) declare(d lang.Decl) string {
	if level, ok := d.(*lang.Level); ok {
		s.level, s.lower = true, level.Lower
	}
	key := declKey(d)
	for i, old := range s.decls {
		if declKey(old) == key {
			s.decls[i] = d
			return declWords(d) + " (replaced)"
		}
	}
	s.decls = append(s.decls, d)
	return declWords(d)
}

// untyped matches the start of a declaration that gives a value and no type.
var untyped = regexp.MustCompile(`^(\s*(?:param|data)\s+([\p{L}_][\p{L}\p{Nd}_]*))(\s*[=~])`)

// typed is an input with the type of a param or data that is declared already written
// out, where the input leaves it out: `data d = [5, 3]`.
func (s *Session) typed(text string) string {
	m := untyped.FindStringSubmatchIndex(text)
	if m == nil {
		return text
	}
	name := text[m[4]:m[5]]
	for _, d := range s.decls {
		if declKey(d) != name {
			continue
		}
		if t := lang.WrittenType(d); t != nil {
			return text[:m[3]] + ": " + t.Span().Text() + text[m[6]:]
		}
	}
	return text
}

// definition is what a declaration at the top defines; nil for a block.
func definition(d lang.Decl) *lang.Definition {
	if all := lang.Declared([]lang.Decl{d}); len(all) > 0 && all[0].IsValue() && all[0].Decl == lang.Node(d) {
		return all[0]
	}
	return nil
}

// declKey is the name under which a declaration replaces another.
func declKey(d lang.Decl) string {
	if def := definition(d); def != nil {
		return def.Name.Name
	}
	return declWords(d) // a block: there is one of each
}

func declWords(d lang.Decl) string {
	switch d := d.(type) {
	case *lang.Level:
		return d.Word() + " { }"
	case *lang.Solve:
		return "solve { }"
	case *lang.Report:
		return "report { }"
	}
	return definition(d).Kind.String() + " " + declKey(d)
}

// addItem adds an item to the level that was entered last; a variable, a let
// or a named constraint replaces the one of its name, an objective the
// objective.
func (s *Session) addItem(item lang.LevelItem) (string, error) {
	if let, ok := item.(*lang.Let); ok && !s.level {
		return s.declare(let), nil
	}
	if !s.level {
		var diags diag.List
		d := diags.Errorf(diag.SessionNoLevel, item.Span(), "this belongs into a level, and none has been entered")
		d.Fix = "enter upper { } or lower { } first; what follows goes to the one entered last"
		return "", diags
	}
	i := slices.IndexFunc(s.decls, func(d lang.Decl) bool {
		level, ok := d.(*lang.Level)
		return ok && level.Lower == s.lower
	})
	level := *s.decls[i].(*lang.Level) // a copy: the session changes only if all is well
	level.Items = slices.Clone(level.Items)
	s.decls[i] = &level
	return level.Word() + ": " + putItem(&level, item), nil
}

func putItem(level *lang.Level, item lang.LevelItem) string {
	if added, ok := item.(*lang.SubjectTo); ok {
		return putConstraints(level, added)
	}
	words := itemWords(item)
	if i := slices.IndexFunc(level.Items, func(old lang.LevelItem) bool { return itemWords(old) == words }); i >= 0 {
		level.Items[i] = item
		return words + " (replaced)"
	}
	level.Items = append(level.Items, item)
	return words
}

// itemWords are a word and a name, by which an item replaces another; "" of constraints.
func itemWords(item lang.LevelItem) string {
	switch item := item.(type) {
	case *lang.Objective:
		return "objective"
	case *lang.Var:
		return "var " + item.Name.Name
	case *lang.Let:
		return "let " + item.Name.Name
	}
	return ""
}

// putConstraints adds constraints, replacing those whose names they carry.
func putConstraints(level *lang.Level, added *lang.SubjectTo) string {
	names := map[string]bool{}
	for _, c := range added.Constraints {
		if c.Name != nil {
			names[c.Name.Name] = true
		}
	}
	for i, item := range level.Items {
		old, ok := item.(*lang.SubjectTo)
		if !ok {
			continue
		}
		kept := *old
		kept.Constraints = slices.DeleteFunc(slices.Clone(old.Constraints), func(c *lang.Constraint) bool {
			return c.Name != nil && names[c.Name.Name]
		})
		level.Items[i] = &kept
	}
	level.Items = slices.DeleteFunc(level.Items, func(item lang.LevelItem) bool {
		st, ok := item.(*lang.SubjectTo)
		return ok && len(st.Constraints) == 0
	})
	level.Items = append(level.Items, added)
	return fmt.Sprintf("%d constraint(s)", len(added.Constraints))
}
