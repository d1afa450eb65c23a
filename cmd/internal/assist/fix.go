package assist

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"bilevelc/internal/each"
	"bilevelc/ir/data"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// Edit replaces the bytes [Start, End) of a text.
type Edit struct {
	Start, End int
	Text       string
}

// Apply makes edits that do not overlap, in any order.
func Apply(text string, edits []Edit) string {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int { return b.Start - a.Start })
	for _, e := range edits {
		text = text[:e.Start] + e.Text + text[e.End:]
	}
	return text
}

// A Fix is a change of the text that puts a diagnostic right.
type Fix struct {
	Title string
	Edits []Edit
}

// Fixes turns what a diagnostic says of its fix into changes of the text. The
// sentence is read for what it could mean; a change is kept only where the text
// that it makes, parsed and checked again, no longer has the diagnostic and has
// nothing new of its kind or of a kind before it (what a name that was misspelt
// hid may come to light). At most one is returned for each text it proposes; none
// where the sentence asks for more than a change of words.
func (d *Document) Fixes(ctx context.Context, e *diag.Diagnostic, set *data.Set) []Fix {
	if e.Fix == "" || e.Subject.Source != d.Source {
		return nil
	}
	var out []Fix
	seen := map[string]bool{}
	budget := min(maxTrials, max(4, maxTrialBytes/(1+len(d.Source.Text))))
	for _, group := range d.proposals(e) {
		for _, fix := range group {
			text := Apply(d.Source.Text, fix.Edits)
			if text == d.Source.Text || seen[text] {
				continue
			}
			seen[text] = true
			if budget--; budget < 0 || ctx.Err() != nil {
				return out
			}
			if d.cures(ctx, e, text, set) {
				out = append(out, fix)
				break // the others of the group say the same in another place
			}
		}
	}
	return out
}

// What the search for fixes of one diagnostic may cost: texts checked, and their
// length together.
const (
	maxTrials     = 60
	maxTrialBytes = 1 << 21
)

// cures tells whether a text lacks the diagnostic, and has nothing worse.
func (d *Document) cures(ctx context.Context, e *diag.Diagnostic, text string, set *data.Set) bool {
	next := Read(d.Source.Name, text)
	before, after := d.Diagnostics, next.Diagnostics
	if !slices.Contains(before, e) { // it is one of binding
		before, after = append(slices.Clone(before), e), append(slices.Clone(after), next.Bound(ctx, set)...)
	}
	old, now := counts(before), counts(after)
	if now[e.Code] >= old[e.Code] {
		return false
	}
	stage := func(c diag.Code) string { return string(c[:min(3, len(c))]) }
	for code, n := range now {
		if n > old[code] && (stage(code) <= stage(e.Code) || e.Severity != diag.Error) {
			return false
		}
	}
	return true
}

// counts has the number of findings of each code; warnings count, except of names
// that are not used, which are not told beside errors of syntax.
func counts(list diag.List) map[diag.Code]int {
	out := map[diag.Code]int{}
	for _, e := range list {
		if e.Severity == diag.Error || e.Code != diag.Unused {
			out[e.Code]++
		}
	}
	return out
}

var quoted = regexp.MustCompile("`([^`]+)`")

// proposals are what the sentence of a fix could mean, in groups that say the same.
func (d *Document) proposals(e *diag.Diagnostic) [][]Fix {
	text, at := d.Source.Text, e.Subject
	at.End = max(at.Start, min(at.End, len(text)))
	var out [][]Fix
	add := func(fixes ...Fix) { out = append(out, fixes) }
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(e.Fix, w) })
	}
	lineStart, lineEnd := strings.LastIndexByte(text[:at.Start], '\n')+1, nextLine(text, at.Start)
	lastEnd := nextLine(text, max(at.Start, at.End-1))

	if says("choose another name") {
		for _, m := range quoted.FindAllStringSubmatch(e.Fix, -1) {
			if edits, err := d.Rename(at.Start, m[1]); err == nil {
				add(Fix{"Rename to `" + m[1] + "`", edits})
			}
		}
	}
	if says("at the end of the line above") {
		above := codeEnd(text, lineStart)
		add(Fix{"Move `" + at.Text() + "` to the end of the line above", []Edit{
			{above, above, " " + at.Text()}, {at.Start, skipBlank(text, at.End), ""}}})
	}
	if says("remove", "leave it out", "leave the colon out") {
		var fixes []Fix
		if says("remove this line") {
			fixes = append(fixes, Fix{"Remove the line", []Edit{{lineStart, min(lastEnd+1, len(text)), ""}}})
		}
		if says("colon") {
			if i := strings.IndexByte(text[at.Start:lineEnd], ':'); i >= 0 {
				fixes = append(fixes, Fix{"Leave the colon out", []Edit{{at.Start + i, at.Start + i + 1, ""}}})
			}
		}
		add(append(fixes, Fix{"Remove `" + title(at.Text()) + "`", []Edit{{at.Start, at.End, ""}}})...)
	}
	if says("move it") {
		whole := text[lineStart:min(lastEnd+1, len(text))]
		cut := Edit{lineStart, lineStart + len(whole), ""}
		add(each.Of(d.tops(), func(to int) Fix {
			return Fix{"Move it to the top", []Edit{{to, to, strings.TrimRight(strings.TrimLeft(whole, " \t"), "\n") + "\n"}, cut}}
		})...)
	}
	if says("start each line of the comment with") {
		if end := strings.Index(text[at.Start:], "*/"); end >= 0 {
			body := strings.TrimSuffix(text[at.Start+2:at.Start+end+2], "*/")
			lines := strings.Split(strings.Trim(body, " \n"), "\n")
			for i := range lines {
				lines[i] = strings.TrimRight("// "+strings.TrimLeft(strings.TrimSpace(lines[i]), "* "), " ")
			}
			add(Fix{"Write it with `//`", []Edit{{at.Start, at.Start + end + 2, strings.Join(lines, "\n")}}})
		}
	}
	if says("close the label on its line") {
		add(Fix{"Close the label", []Edit{{lineEnd, lineEnd, `"`}}})
		add(Fix{"Close the label after its word", []Edit{{wordEnd(text, at.End), wordEnd(text, at.End), `"`}}})
	}
	for _, f := range d.fragments(e.Fix) {
		add(d.replacements(e, at, f)...)
	}
	return out
}

// replacements are the places where a piece of text that a fix gives may belong.
func (d *Document) replacements(e *diag.Diagnostic, at diag.Span, f string) []Fix {
	text := d.Source.Text
	var out []Fix
	put := func(what string, start, end int, with string) {
		out = append(out, Fix{what, []Edit{{start, end, with}}})
	}
	what := "Write `" + title(f) + "`"
	lineStart := strings.LastIndexByte(text[:at.Start], '\n') + 1
	indent := text[lineStart:skipBlank(text, lineStart)]
	switch {
	case strings.Contains(e.Fix, "matching"):
		for end, n := at.End, 0; n < 12 && end <= len(text); n++ {
			stop := codeEnd(text, nextLine(text, end))
			put("Add the matching `"+f+"`", stop, stop, map[bool]string{true: "\n" + f, false: f}[f == "}"])
			end = nextLine(text, end) + 1
		}
		if f != "}" {
			end := codeEnd(text, nextLine(text, at.End))
			start := max(at.End, end-nearby)
			line := words.FindAllStringIndex(text[start:max(start, end)], -1)
			for k := range line {
				stop := start + line[len(line)-1-k][1]
				put("Add the matching `"+f+"`", stop, stop, f)
			}
		}
		return out
	case strings.Contains(e.Fix, "declare"):
		for _, def := range d.Names.Definitions {
			if t := lang.WrittenType(def.Decl); t != nil && strings.Contains(e.Fix, "`"+def.Name.Name+"`") {
				put("Declare `"+def.Name.Name+"` as `"+f+"`", t.Place.Start, t.Place.End, f)
			}
		}
	}
	if word := d.objectiveWord(at.Start); (f == "minimize" || f == "maximize") && word.End > word.Start {
		put(what, word.Start, word.End, f)
	}
	if !d.knows(f) {
		return out // it is a sketch, with names of its own
	}
	if strings.Contains(e.Fix, "term") {
		put("Add `"+title(f)+"`", at.End, at.End, " + "+f)
		put("Subtract `"+title(f)+"`", at.End, at.End, " - "+f)
		return out
	}
	for _, place := range d.likely(at, f) {
		put("Replace `"+title(place.Text())+"` by `"+title(f)+"`", place.Start, place.End, f)
	}
	put(what, at.End, at.End, " "+f)
	put(what, at.Start, at.Start, f+" ")
	if strings.Contains(e.Fix, "line above") {
		put(what, lineStart, lineStart, indent+f+"\n")
	}
	if strings.Contains(e.Fix, "begin the file") {
		put(what, 0, 0, f+"\n")
	}
	return out
}

// knows tells whether each name in a fix's text is one of the model or the language.
func (d *Document) knows(f string) bool {
	for _, w := range words.FindAllString(f, -1) {
		if isName(w) && !d.reads(w) && !d.reads(strings.TrimSuffix(w, "_")) && len(WordsNamed(w)) == 0 && w != d.stem() {
			return false
		}
	}
	return true
}

// reads tells whether a name is a word of the text.
func (d *Document) reads(name string) bool {
	for text, from := d.Source.Text, 0; name != ""; from += len(name) {
		i := strings.Index(text[from:], name)
		if i < 0 {
			break
		}
		from += i
		before, _ := utf8.DecodeLastRuneInString(text[:from])
		if wordEnd(text, from) == from+len(name) && before != '_' && !unicode.IsLetter(before) && !unicode.IsDigit(before) {
			return true
		}
	}
	return false
}

// fragments are the texts that a fix proposes: those in backquotes, and what
// stands behind `write` or a colon without them. Sketches with dots are left out.
func (d *Document) fragments(fix string) []string {
	var out []string
	add := func(f string) {
		if f != "" && !strings.Contains(f, "...") && !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	for _, m := range quoted.FindAllStringSubmatch(fix, -1) {
		add(strings.ReplaceAll(m[1], "NAME", d.stem()))
	}
	bare := quoted.ReplaceAllString(fix, "")
	if i := strings.LastIndex(bare, ": "); i >= 0 {
		add(strings.TrimSpace(bare[i+2:]))
	}
	if rest, ok := strings.CutPrefix(bare, "write "); ok {
		add(strings.TrimSpace(rest))
	}
	if _, rest, ok := strings.Cut(bare, "such as "); ok {
		add(strings.TrimSuffix(strings.TrimSpace(strings.SplitN(rest, ", over", 2)[0]), ","))
	}
	return out
}

// stem is the name of the file as a name of the language.
func (d *Document) stem() string {
	base := path.Base(d.Source.Name)
	base = strings.TrimSuffix(base, path.Ext(base))
	name := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' {
			return r
		}
		return '_'
	}, base)
	if name == "" || !isName(name) {
		return "main"
	}
	return name
}

// tops are the places where a line that stands wrongly may belong: the start of
// the text, behind the model's line, and in front of the first declaration.
func (d *Document) tops() []int {
	out := []int{0}
	text := d.Source.Text
	if d.File.Model != nil {
		out = append(out, min(nextLine(text, d.File.Model.Place.End)+1, len(text)))
	}
	if len(d.File.Decls) > 0 {
		start := d.File.Decls[0].Span().Start
		out = append(out, strings.LastIndexByte(text[:min(start, len(text))], '\n')+1)
	}
	return out
}

// likely are the places whose text a fix's text is meant to replace, the likeliest
// first: those around the subject that differ from it in the fewest words.
func (d *Document) likely(at diag.Span, f string) []diag.Span {
	text := d.Source.Text
	lineStart := max(strings.LastIndexByte(text[:at.Start], '\n')+1, at.Start-nearby)
	lineEnd := min(nextLine(text, max(at.Start, at.End)), max(at.Start, at.End)+nearby)
	var places [][2]int // of the words on the subject's lines
	for _, m := range words.FindAllStringIndex(text[lineStart:lineEnd], -1) {
		places = append(places, [2]int{lineStart + m[0], lineStart + m[1]})
	}
	want := words.FindAllString(f, -1)
	first := slices.IndexFunc(places, func(p [2]int) bool { return p[1] > at.Start })
	last := -1
	for i, p := range places {
		if p[0] < at.End {
			last = i
		}
	}
	if first < 0 || last < first || last-first > maxWords || len(want) > maxWords {
		return nil
	}
	type candidate struct {
		place diag.Span
		cost  int
	}
	var all []candidate
	for i := max(0, first-aside); i <= first; i++ {
		for j := last; j < min(len(places), last+1+aside); j++ {
			have := each.Of(places[i:j+1], func(p [2]int) string { return text[p[0]:p[1]] })
			all = append(all, candidate{diag.Span{Source: d.Source, Start: places[i][0], End: places[j][1]},
				2*changes(have, want) + min(1, first-i+j-last)})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return a.cost - b.cost })
	return each.Of(all[:min(3, len(all))], func(c candidate) diag.Span { return c.place })
}

// words are what a line is compared by.
var words = regexp.MustCompile(`[\pL_][\pL\d_]*|\d+(\.\d+)?([eE][+-]?\d+)?|"[^"\n]*"|\.[*/^.]|[=<>!]=|\S`)

// aside is how many words beside the subject a fix may take in, maxWords how many
// there may be at all, and nearby how many bytes of a line are read for them.
const (
	aside    = 6
	maxWords = 60
	nearby   = 1 << 12
)

// changes is the number of words to add, drop or change to get from a to b.
func changes(a, b []string) int {
	row := each.Number(len(b) + 1)
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// objectiveWord is the `minimize` or `maximize` of the objective at an offset.
func (d *Document) objectiveWord(offset int) diag.Span {
	for _, decl := range d.File.Decls {
		level, ok := decl.(*lang.Level)
		if !ok {
			continue
		}
		for _, item := range level.Items {
			if o, ok := item.(*lang.Objective); ok && within(o.Place, offset) {
				return diag.Span{Source: d.Source, Start: o.Place.Start, End: wordEnd(d.Source.Text, o.Place.Start)}
			}
		}
	}
	return diag.Span{}
}

// title is a text as a title shows it: one line, not long.
func title(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 40 {
		s = string(r[:37]) + "..."
	}
	return s
}

// nextLine is the offset of the end of the line at an offset.
func nextLine(text string, at int) int {
	if n := strings.IndexByte(text[min(at, len(text)):], '\n'); n >= 0 {
		return at + n
	}
	return len(text)
}

// codeEnd is the end of the last code before an offset, without the comment that may
// stand behind it on its line.
func codeEnd(text string, offset int) int {
	end := len(strings.TrimRight(text[:offset], " \t\r\n"))
	start := strings.LastIndexByte(text[:end], '\n') + 1
	if i := strings.Index(text[start:end], "//"); i > 0 {
		end = start + len(strings.TrimRight(text[start:start+i], " \t"))
	}
	return end
}

func skipBlank(text string, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t') {
		at++
	}
	return at
}

func wordEnd(text string, at int) int {
	for at < len(text) && (text[at] == '_' || text[at] >= 0x80 || unicode.IsLetter(rune(text[at])) || unicode.IsDigit(rune(text[at]))) {
		at++
	}
	return at
}

func firstWord(text string) string { return text[:wordEnd(text, 0)] }
