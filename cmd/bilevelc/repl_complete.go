package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reeflective/readline"
	"github.com/spf13/pflag"

	"bilevelc/cmd/internal/assist"
	"bilevelc/internal/each"
	"bilevelc/lang"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
	"bilevelc/runtime/session"
)

// candidate is one way to go on at the prompt.
type candidate struct {
	text    string // in place of what is typed of the word
	display string // "" for text
	doc     string
}

// tab lists what Tab offers behind a line. The library replaces the text back to the
// last blank, of which a candidate may be the end only; it takes away as many characters
// as that text has bytes, so that it is told of as many bytes as there are characters. What
// all candidates have in common is then the one that is offered first, as the library
// would count its bytes, too.
func (r *repl) tab(before string) readline.Completions {
	list, start := r.complete(before)
	blank := strings.LastIndexAny(before, " \t\n") + 1
	kept := before[min(blank, start):start]
	raw := make([]readline.Completion, len(list))
	for i, c := range list {
		raw[i] = readline.Completion{Value: kept + c.text, Display: cmp.Or(c.display, c.text), Description: c.doc}
	}
	word := before[min(blank, start):]
	if common := commonStart(raw); len(raw) > 1 && len(common) > len(word) && utf8.RuneCountInString(common) < len(common) {
		raw = []readline.Completion{{Value: common, Display: common}}
	}
	all := readline.CompleteRaw(raw)
	if n := utf8.RuneCountInString(word); n < len(word) {
		all.PREFIX = word[:n]
	}
	return all
}

// commonStart is what all candidates begin with, in whole characters.
func commonStart(list []readline.Completion) string {
	if len(list) == 0 {
		return ""
	}
	common := list[0].Value
	for _, c := range list[1:] {
		for !strings.HasPrefix(c.Value, common) {
			_, size := utf8.DecodeLastRuneInString(common)
			common = common[:len(common)-size]
		}
	}
	return common
}

// complete lists how a line may go on, in order, and where the part begins that
// they replace.
func (r *repl) complete(before string) (list []candidate, start int) {
	trimmed := strings.TrimLeft(before, " \t")
	if strings.HasPrefix(trimmed, ":") || strings.HasPrefix(trimmed, "help ") || strings.HasPrefix(trimmed, "?") {
		start = strings.LastIndexAny(before, " \t:?") + 1
		if at := strings.LastIndexAny(before, " \t"); at >= len(before)-len(trimmed) {
			start = at + 1
		}
		list = r.commandWords(trimmed, before[start:])
		if eq := strings.LastIndexByte(before, '='); eq >= start && strings.HasPrefix(before[start:], "--") {
			start = eq + 1
		}
	} else {
		list, start = r.words(before)
	}
	word := before[start:]
	kept := each.Where(list, func(c candidate) bool { return strings.HasPrefix(strings.ToLower(c.text), strings.ToLower(word)) })
	slices.SortStableFunc(kept, func(a, b candidate) int { return strings.Compare(a.text, b.text) })
	return kept, start
}

// words are what the language allows behind a line, over the session's names.
func (r *repl) words(before string) ([]candidate, int) {
	head := r.session.Text() + "\n"
	doc := assist.Read("session", head+before)
	var list []candidate
	start := len(before) - len(assist.LastWord(before))
	for i, c := range doc.Complete(len(head)+len(before), r.session.Data()) {
		if i == 0 {
			start = c.Start - len(head)
		}
		list = append(list, candidate{text: c.Insert, doc: brief(c.Detail, c.Doc)})
		if c.Kind == "function" {
			list[len(list)-1].text += "("
		}
	}
	if start < 0 {
		return nil, len(before)
	}
	if strings.Count(before, `"`)%2 == 0 {
		for _, name := range r.session.Reported() {
			list = append(list, candidate{text: name, doc: "of the report"})
		}
		for _, w := range session.AnswerWords() {
			name, _, call := strings.Cut(w[0], "(")
			if doc.Names.Lookup(name, lang.LetName, lang.VarName, lang.DataName, lang.ParamName) == nil && name != "dual" {
				list = append(list, candidate{text: name, doc: w[1]})
				if call {
					list[len(list)-1].text += "("
				}
			}
		}
	}
	return list, start
}

// brief is the description of a candidate, on one line.
func brief(detail, doc string) string {
	text := strings.SplitN(detail, "\n", 2)[0]
	if first := strings.SplitN(doc, "\n", 2)[0]; first != "" {
		if text != "" {
			text += ": "
		}
		text += strings.ReplaceAll(first, "`", "")
	}
	if r := []rune(text); len(r) > 60 {
		text = string(r[:57]) + "..."
	}
	return text
}

// commandWords are how a command goes on, of which word is typed.
func (r *repl) commandWords(line, word string) []candidate {
	var list []candidate
	name, args, spaced := strings.Cut(strings.TrimPrefix(line, ":"), " ")
	if strings.HasPrefix(line, "?") {
		name, spaced = "help", true
	}
	if !spaced {
		for _, c := range replCommands() {
			if c.doc != "" {
				text := c.name
				if c.args != "" {
					text += " "
				}
				list = append(list, candidate{text: text, display: ":" + c.name, doc: c.doc})
			}
		}
		return list
	}
	names := func(lists ...runtime.Values) []candidate {
		return each.Of(slices.Concat(lists...), func(v runtime.Value) candidate { return candidate{text: v.Name} })
	}
	command := ""
	if found := commandsNamed(name); len(found) > 0 {
		command = found[0].name
	}
	switch command {
	case "load", "save":
		return filesBehind(word, ".blv")
	case "data":
		return filesBehind(word)
	case "solve":
		return r.flagWords(args, word)
	case "help":
		for _, c := range replCommands() {
			if c.doc != "" {
				list = append(list, candidate{text: c.name, doc: c.doc})
			}
		}
		for _, w := range assist.Words() {
			list = append(list, candidate{text: w.Name, doc: brief(w.Signature, w.Doc)})
		}
	case "explain":
		return each.Of(diag.Codes(), func(e diag.Entry) candidate { return candidate{text: string(e.Code), doc: e.Title} })
	case "set", "eval":
		doc := r.document()
		for _, def := range doc.Names.Definitions {
			wanted := def.Kind == lang.ParamName || def.Kind == lang.DataName
			if command == "eval" {
				wanted = def.Kind == lang.VarName && def.Level != nil && !def.Level.Lower
			}
			if wanted {
				list = append(list, candidate{text: def.Name.Name + "=", doc: doc.TypeOf(def, lang.Use{})})
			}
		}
	case "plot":
		if last := r.session.Last(); last != nil {
			if !strings.HasPrefix(args, "F along ") {
				return append(names(last.Upper.Variables, last.Lower.Variables, last.Report), candidate{text: "F along ", doc: "F along ENTRY from A to B"})
			}
			list = names(last.Upper.Variables)
			for _, v := range last.Upper.Variables {
				for k := range min(len(v.Data), 50) {
					list = append(list, candidate{text: runtime.EntryName(v, k)})
				}
			}
		}
	}
	return list
}

// flagWords are the flags of `:solve`, and what may stand behind one.
func (r *repl) flagWords(args, word string) []candidate {
	_, fs := r.solveFlags()
	var list []candidate
	previous := ""
	fields := strings.Fields(args)
	if word != "" && len(fields) > 0 { // the last one
		fields = fields[:len(fields)-1]
	}
	if n := len(fields); n > 0 {
		previous = fields[n-1]
	}
	value := strings.TrimLeft(previous, "-")
	if name, _, found := strings.Cut(word, "="); found && strings.HasPrefix(name, "--") {
		value = name[2:]
	} else if !strings.HasPrefix(previous, "-") {
		value = ""
	}
	if len(value) == 1 {
		if f := fs.ShorthandLookup(value); f != nil {
			value = f.Name
		}
	}
	switch value {
	case "method", "oracle", "solver":
		return each.Of(methodsOf(value), func(m runtime.MethodInfo) candidate { return candidate{text: m.Name, doc: m.Summary} })
	case "option":
		return each.Of(wordsOf(assist.SettingWord), func(w assist.Word) candidate { return candidate{text: w.Name + "=", doc: brief("", w.Doc)} })
	case "data", "start", "resume", "trace", "checkpoint":
		return filesBehind(word)
	}
	if f := fs.Lookup(value); f != nil && f.NoOptDefVal == "" {
		return nil // a number
	}
	fs.VisitAll(func(f *pflag.Flag) {
		list = append(list, candidate{text: "--" + f.Name + " ", doc: f.Usage})
	})
	return list
}

// wordsOf are the words of a kind.
func wordsOf(kind assist.WordKind) []assist.Word {
	return each.Where(assist.Words(), func(w assist.Word) bool { return w.Kind == kind })
}

// filesBehind lists folders, and files with one of the endings, behind what is typed.
func filesBehind(word string, endings ...string) []candidate {
	prefix := ""
	if name, file, named := strings.Cut(word, "="); named {
		prefix, word = name+"=", file
	}
	dir, _ := filepath.Split(word)
	look := cmp.Or(dir, ".")
	if strings.HasPrefix(look, "~"+string(filepath.Separator)) {
		return nil // the session reads names as they are
	}
	entries, _ := os.ReadDir(look)
	var list []candidate
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") && !strings.HasPrefix(filepath.Base(word), ".") {
			continue
		}
		info, err := os.Stat(filepath.Join(look, name))
		if err != nil {
			continue
		}
		if info.IsDir() {
			list = append(list, candidate{text: fmt.Sprint(prefix, dir, name, string(filepath.Separator)), display: name + "/"})
			continue
		}
		if len(endings) == 0 || slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(name, e) }) {
			list = append(list, candidate{text: prefix + dir + name, display: name})
		}
	}
	return list
}

// document is the session's model as an editor has it.
func (r *repl) document() *assist.Document { return assist.Read("session", r.session.Text()) }
