package assist

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"bilevelc/internal/each"
	"bilevelc/ir/bind"
	"bilevelc/ir/data"
	"bilevelc/lang"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
)

// A Completion is one way to go on at a place.
type Completion struct {
	Label  string
	Insert string // in place of the bytes from Start to the place
	Start  int
	Kind   string // "function", "keyword", "set", "member", "setting", "method", "constraint", or a NameKind's word
	Detail string // signature or type
	Doc    string
}

// Complete lists what may stand at an offset, by what stands before it: labels
// inside subscripts, types behind a colon, sets of variables behind `in`, settings
// and methods in `solve`, and otherwise the names that are seen, functions and
// words. What the user has typed of it is at its start.
func (d *Document) Complete(offset int, set *data.Set) []Completion {
	text := d.Source.Text[:min(offset, len(d.Source.Text))]
	open, comment := lastLine(text)
	if comment {
		return nil
	}
	if open >= 0 {
		if out := d.texts(text, open, set); out != nil {
			return out
		}
		return d.labels(text, open, set)
	}
	start := len(text) - len(LastWord(text))
	before := strings.TrimRight(text[:start], " \t")
	word := text[start:]
	var out []Completion
	add := func(c Completion) {
		if c.Start = start; strings.HasPrefix(strings.ToLower(c.Label), strings.ToLower(word)) {
			if c.Insert == "" {
				c.Insert = c.Label
			}
			out = append(out, c)
		}
	}
	words := func(kinds ...WordKind) {
		for _, w := range Words() {
			if slices.Contains(kinds, w.Kind) {
				add(Completion{Label: w.Name, Kind: wordKinds[w.Kind], Detail: w.Signature, Doc: w.Doc})
			}
		}
	}
	keywords := func(names ...string) {
		for _, name := range names {
			add(Completion{Label: name, Kind: "keyword", Doc: keywordDocs[name]})
		}
	}
	line := before[strings.LastIndexByte(before, '\n')+1:]
	head := firstWord(strings.TrimLeft(line, " \t"))
	block := blockBefore(text)
	if n := len(word); n > 0 && word[0] >= '0' && word[0] <= '9' {
		return nil // a number
	}
	switch {
	case block == "solve" && strings.HasSuffix(before, "="):
		name := LastWord(strings.TrimRight(strings.TrimSuffix(before, "="), " \t"))
		for _, m := range runtime.Methods() {
			if m.Kind == name {
				add(Completion{Label: m.Name, Kind: "method", Detail: m.Summary, Doc: m.Reference})
			}
			for _, s := range m.Settings {
				if s.Name == name {
					for _, w := range s.Words {
						add(Completion{Label: w, Kind: "method", Detail: s.Doc})
					}
				}
			}
		}
		if name == "ties" {
			add(Completion{Label: "optimistic", Kind: "method", Detail: "the best for the leader"})
			add(Completion{Label: "least_norm", Kind: "method", Detail: "the one of least norm"})
		}
		if len(out) > 0 {
			return unique(out)
		}
	case block == "solve" && (strings.TrimSpace(line) == "" || strings.HasSuffix(before, "{") || strings.HasSuffix(before, ";")):
		words(SettingWord)
		add(Completion{Label: "start", Kind: "keyword", Detail: "start x = point"})
		return unique(out)
	case strings.HasSuffix(before, "~"):
		words(GeneratorWord)
		return out
	case strings.HasSuffix(before, "dual("):
		for _, def := range d.Names.Definitions {
			if def.Kind == lang.ConstraintName && def.Level != nil && def.Level.Lower {
				add(Completion{Label: def.Name.Name, Kind: "constraint", Detail: headOf(def)})
			}
		}
		return out
	case strings.HasSuffix(before, ":") && slices.Contains([]string{"param", "data", "var", "fn"}, head) && !strings.Contains(line, "("),
		head == "fn" && strings.HasSuffix(before, ":"):
		keywords("real", "int", "vector", "matrix")
		keywords(map[string][]string{"var": {"integer", "binary"}, "data": {"text"}}[head]...)
		return out
	case head == "var" && typed(before):
		keywords("integer", "binary", "in")
		return out
	case head == "data" && columnsAhead.MatchString(line):
		for _, name := range columnNames(set) {
			add(Completion{Label: name, Kind: "member", Detail: "column"})
		}
		return unique(out)
	case head == "var" && strings.HasSuffix(before, " in"):
		words(VariableSetWord)
		return out
	case strings.HasSuffix(before, " within"), strings.HasSuffix(before, " in"):
		d.visible(offset, add, func(def *lang.Definition) bool { return def.Kind == lang.SetName || def.Kind == lang.DataName })
		return out
	}
	if open := strings.LastIndexByte(before, '['); open >= 0 && open == len(before)-1 || strings.HasSuffix(before, ",") {
		for _, c := range d.labels(text, start, set) { // a subscript: labels come first
			add(Completion{Label: c.Label, Kind: c.Kind, Detail: c.Detail})
		}
	}
	d.visible(offset, add, func(def *lang.Definition) bool { return def.Kind != lang.ConstraintName })
	words(FunctionWord, KeywordWord)
	return unique(out)
}

// typed reports whether a text ends behind the type of a variable.
func typed(before string) bool {
	_, behind, found := strings.Cut(before[strings.LastIndexByte(before, '\n')+1:], ":")
	behind = strings.TrimSpace(behind)
	return found && (behind == "real" || strings.HasSuffix(behind, "]") && strings.Count(behind, "[") == strings.Count(behind, "]"))
}

// columnsAhead matches a declaration behind which the name of a column stands.
var columnsAhead = regexp.MustCompile(`:.*\bcolumn$|:.*\bcolumns(\s+[^=~]*(,|\.\.))?$`)

// columnNames are the columns of the tables at hand, as a model writes them.
func columnNames(set *data.Set) []string {
	var out []string
	if set == nil {
		return nil
	}
	for _, e := range set.Entries {
		if e.Table == nil {
			continue
		}
		for _, c := range e.Table.Columns {
			if !lang.IsName(c.Name) {
				c.Name = lang.Quote(c.Name)
			}
			out = append(out, c.Name)
		}
	}
	return out
}

// texts are the texts that the data hold which are compared with the label that begins
// at from; nil where none are.
func (d *Document) texts(text string, from int, set *data.Set) []Completion {
	m := comparedText.FindStringSubmatch(text[:from])
	if m == nil || set == nil {
		return nil
	}
	def := d.Names.Lookup(m[1], lang.DataName)
	if def == nil {
		return nil
	}
	decl, ok := def.Decl.(*lang.Data)
	if !ok || decl.Type.Kind != lang.KindText {
		return nil
	}
	column := m[1]
	if decl.Column != nil {
		column = decl.Column.Name
	}
	var out []Completion
	typed := strings.Trim(text[from:], `"`)
	add := func(t string) {
		if label := lang.Quote(t); strings.HasPrefix(t, typed) && !slices.ContainsFunc(out, func(c Completion) bool { return c.Label == label }) && len(out) < maxMembers {
			out = append(out, Completion{Label: label, Insert: label, Start: from, Kind: "member", Detail: m[1]})
		}
	}
	for _, e := range set.Entries {
		for k := 0; e.Name == m[1] && k < len(e.Labels); k++ {
			add(e.Labels[k][0])
		}
		if e.Table == nil || e.Table.Column(column) < 0 {
			continue
		}
		for _, cell := range e.Table.Columns[e.Table.Column(column)].Cells {
			add(cell.Text)
		}
	}
	return out
}

// comparedText matches an entry of data and a comparison behind it.
var comparedText = regexp.MustCompile(`([\p{L}_][\p{L}\p{Nd}_]*)\[[^\[\]]*\]\s*(?:==|!=)\s*$`)

var wordKinds = map[WordKind]string{FunctionWord: "function", KeywordWord: "keyword", VariableSetWord: "set",
	GeneratorWord: "function", MethodWord: "method", SettingWord: "setting"}

// visible adds the definitions that are seen at a place.
func (d *Document) visible(offset int, add func(Completion), want func(*lang.Definition) bool) {
	for _, def := range d.Names.Visible(offset) {
		if want(def) {
			c := Completion{Label: def.Name.Name, Kind: def.Kind.String(), Detail: d.TypeOf(def, lang.Use{}), Doc: d.docOf(def)}
			if fn, ok := def.Decl.(*lang.Fn); ok && def.Kind == lang.FnName {
				c.Kind, c.Detail = "function", oneLine(fn.Span().Text())
			}
			add(c)
		}
	}
}

// unique keeps the first of the completions of a label, which hides the others.
func unique(list []Completion) []Completion {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(c Completion) bool {
		old := seen[c.Label]
		seen[c.Label] = true
		return old
	})
}

// labels are the labels that may stand in the subscript that is open at the end of
// text; from is where what is typed of one begins.
func (d *Document) labels(text string, from int, set *data.Set) []Completion {
	array, position := openSubscript(text[:from])
	def := d.Names.Lookup(array, lang.DataName, lang.VarName)
	if def == nil {
		return nil
	}
	var axes []string
	if level := def.Level; level != nil && !within(level.Place, from) {
		for i := range level.Binders {
			axes = append(axes, d.axesOf(level.Binders[i].Lo)...)
		}
	}
	if t := lang.WrittenType(def.Decl); t != nil {
		for _, e := range t.Dims {
			axes = append(axes, d.axesOf(e)...)
		}
	}
	if position >= len(axes) || axes[position] == "" {
		return nil
	}
	typed := strings.Trim(text[from:], `"`)
	begun := each.Where(d.members(axes[position], set), func(label string) bool { return strings.HasPrefix(strings.Trim(label, `"`), typed) })
	return each.Of(begun, func(label string) Completion {
		return Completion{Label: label, Insert: label, Start: from, Kind: "member", Detail: axes[position]}
	})
}

func within(s diag.Span, offset int) bool { return s.Start <= offset && offset < s.End }

// axesOf are the sets that a written dimension stands for: of a set of tuples one
// for each label, "" for a size.
func (d *Document) axesOf(e lang.Expr) []string {
	name, ok := e.(*lang.Name)
	if !ok {
		return []string{""}
	}
	def := d.Names.Lookup(name.Name, lang.SetName)
	if def == nil {
		return []string{""}
	}
	s := def.Decl.(*lang.IndexSet)
	if len(s.Within) < 2 {
		return []string{name.Name}
	}
	return each.Of(s.Within, func(w lang.Ident) string { return w.Name })
}

// maxMembers is how many elements of a set are listed.
const maxMembers = 500

// members lists the elements of an index set as the model writes them, from the
// model or from the data at hand; of a set of tuples, with brackets.
func (d *Document) members(name string, set *data.Set) []string {
	def := d.Names.Lookup(name, lang.SetName)
	if def == nil {
		return nil
	}
	var out []string
	element := func(parts []string) {
		text := strings.Join(parts, ", ")
		if len(parts) > 1 {
			text = "(" + text + ")"
		}
		if text != "" && !slices.Contains(out, text) && len(out) < maxMembers {
			out = append(out, text)
		}
	}
	s := def.Decl.(*lang.IndexSet)
	if v := s.Value; v != nil {
		for _, e := range v.Elems {
			element(each.Of(e.Parts, func(p lang.Expr) string { return oneLine(p.Span().Text()) }))
		}
		lo, written := v.Lo.(*lang.Number)
		hi, ends := v.Hi.(*lang.Number)
		for k := 0; written && ends && lo.Int && hi.Int && k < maxMembers && lo.Value+float64(k) <= hi.Value; k++ {
			element([]string{strconv.FormatFloat(lo.Value+float64(k), 'f', 0, 64)})
		}
	}
	if s.Value == nil && set != nil {
		bound, _ := bind.Bind(d.Program, d.declared(set), bind.Options{IgnoreUndeclared: true})
		if bound == nil {
			return nil
		}
		for _, b := range bound.Sets {
			for k := 0; b.Name == name && k < b.Axis.Size && k < maxMembers; k++ {
				text := b.Axis.Text(k)
				if b.Axis.Labels != nil && len(b.Axis.Labels[k]) > 1 {
					text = "(" + text + ")"
				}
				element([]string{text})
			}
		}
	}
	return out
}

// openSubscript is the array whose subscript is open at the end of a text, and the
// number of the subscript.
func openSubscript(text string) (array string, position int) {
	depth := 0
	for i := len(text) - 1; i >= 0; i-- {
		switch text[i] {
		case ')', ']', '}':
			depth++
		case '(', '{':
			if depth == 0 {
				return "", 0
			}
			depth--
		case '[':
			if depth == 0 {
				return LastWord(text[:i]), position
			}
			depth--
		case ',':
			if depth == 0 {
				position++
			}
		case '\n':
			if depth == 0 && strings.Count(text[i:], "[") == 0 && len(text)-i > 4000 {
				return "", 0
			}
		case '"': // a label: what it holds counts for nothing
			i = strings.LastIndexByte(text[:i], '"')
		}
	}
	return "", 0
}

// lastLine tells where the label begins that is open at the end of a text, -1 for none, and
// whether the end is inside a comment.
func lastLine(text string) (label int, comment bool) {
	label = -1
	for i := strings.LastIndexByte(text, '\n') + 1; i < len(text); i++ {
		switch {
		case label >= 0 && text[i] == '\\':
			i++
		case text[i] == '"' && label >= 0:
			label = -1
		case text[i] == '"':
			label = i
		case label < 0 && strings.HasPrefix(text[i:], "//"):
			return -1, true
		}
	}
	return label, false
}

func inComment(text string) bool {
	_, comment := lastLine(text)
	return comment
}

// blockBefore is the word of the block that is open at the end of a text: upper,
// lower, solve, report, or "".
func blockBefore(text string) string {
	depth := 0
	lines := strings.Split(text, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		line := lines[i]
		if c := strings.Index(line, "//"); c >= 0 && inComment(line[:min(len(line), c+2)]) {
			line = line[:c]
		}
		for j := len(line) - 1; j >= 0; j-- {
			switch line[j] {
			case '}':
				depth++
			case '{':
				if depth--; depth < 0 {
					start := strings.LastIndexAny(line[:j], ";}") + 1
					return firstWord(strings.TrimLeft(line[start:j], " \t"))
				}
			}
		}
	}
	return ""
}

// LastWord is the name, or the start of one, that a text ends in.
func LastWord(text string) string {
	start := len(text)
	for start > 0 {
		r, n := utf8.DecodeLastRuneInString(text[:start])
		if !nameRune(r) {
			break
		}
		start -= n
	}
	return text[start:]
}

func nameRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// wordAt is the word at an offset.
func (d *Document) wordAt(offset int) (string, diag.Span) {
	text := d.Source.Text
	if offset > len(text) || inComment(text[:offset]) {
		return "", diag.Span{}
	}
	start, end := offset-len(LastWord(text[:offset])), offset
	for end < len(text) {
		r, n := utf8.DecodeRuneInString(text[end:])
		if !nameRune(r) {
			break
		}
		end += n
	}
	return text[start:end], diag.Span{Source: d.Source, Start: start, End: end}
}
