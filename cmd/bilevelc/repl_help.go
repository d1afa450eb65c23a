package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"bilevelc/cmd/internal/assist"
	"bilevelc/runtime"
	"bilevelc/runtime/session"
)

// bareCommand is the command that an input without a colon means: help, ?, quit and
// exit, where the model does not use the word itself.
func (r *repl) bareCommand(text string) (command string, ok bool) {
	word, rest, _ := strings.Cut(text, " ")
	if w, found := strings.CutPrefix(text, "?"); found {
		return strings.TrimSpace("help " + w), true
	}
	if slices.Contains(r.session.Names(), word) {
		return "", false
	}
	switch {
	case word == "help":
		return text, true
	case (word == "quit" || word == "exit") && rest == "":
		return "quit", true
	}
	if rest = strings.TrimSpace(rest); word == "grad" && rest == "F" {
		return "gradient", true
	}
	return "", false
}

func (r *repl) help() {
	w := r.app.io.out
	fmt.Fprintln(w, "Type declarations (param, data, let, fn, upper { }, lower { }, report { }), items of the level")
	fmt.Fprintln(w, "entered last (var, minimize, subject to ...), or an expression to evaluate. It may read a solution:")
	fmt.Fprintf(w, "  %-24s %s\n", "NAME", "a variable, a let, or what the report names")
	for _, word := range session.AnswerWords() {
		fmt.Fprintf(w, "  %-24s %s\n", word[0], word[1])
	}
	fmt.Fprintln(w, "Tab completes names, functions, files, flags and commands. Commands, which may be cut short:")
	for _, c := range replCommands() {
		if c.doc != "" {
			fmt.Fprintf(w, "  %-24s %s\n", ":"+c.name+" "+c.args, c.doc)
		}
	}
}

// helpOn is `:help NAME`: of a command with its flags, and of every word that the
// language, the library or the methods have by that name.
func (r *repl) helpOn(_ context.Context, args []string) error {
	if len(args) == 0 {
		r.help()
		return nil
	}
	w := r.app.io.out
	name := args[0]
	if code := codeOf(name); code != "" {
		return r.app.explainCode(code)
	}
	found := false
	for _, c := range replCommands() {
		if c.name == strings.TrimPrefix(name, ":") && c.doc != "" {
			found = true
			fmt.Fprintf(w, ":%s %s\n    %s\n", c.name, c.args, c.doc)
			if c.name == "solve" {
				_, fs := r.solveFlags()
				fmt.Fprint(w, fs.FlagUsages())
			}
		}
	}
	if strings.HasPrefix(name, ":") && found {
		return nil
	}
	for _, m := range runtime.Methods() {
		if m.Name == name {
			found = true
			describeMethod(w, m)
		}
	}
	for _, word := range assist.WordsNamed(name) {
		if word.Kind != assist.MethodWord {
			found = true
			writeWord(w, word)
		}
	}
	for _, word := range session.AnswerWords() {
		if bare, _, _ := strings.Cut(word[0], "("); bare == name {
			found = true
			fmt.Fprintf(w, "%s\n    %s\n", word[0], word[1])
		}
	}
	doc := r.document()
	for _, def := range doc.Names.Definitions {
		if def.Name.Name == name {
			found = true
			text, _, _ := doc.Hover(def.Name.Place.Start, nil)
			fmt.Fprintln(w, plainText(text))
		}
	}
	hold(found, "there is no help on %q; :help lists the commands", name)
	return nil
}

func writeWord(w io.Writer, word assist.Word) {
	if word.Signature != "" {
		signatures, docs := strings.Split(word.Signature, "\n"), strings.Split(word.Doc, "\n")
		for i, s := range signatures {
			fmt.Fprintln(w, s)
			if len(docs) == len(signatures) {
				fmt.Fprintf(w, "    %s\n", docs[i])
			}
		}
		if len(docs) != len(signatures) {
			fmt.Fprintf(w, "    %s\n", strings.Join(docs, "\n    "))
		}
	} else {
		fmt.Fprintf(w, "%s\n    %s\n", word.Name, strings.ReplaceAll(word.Doc, "\n", "\n    "))
	}
	if word.Example != "" {
		fmt.Fprintf(w, "examples\n    %s\n", strings.ReplaceAll(word.Example, "\n", "\n    "))
	}
}

// plainText is Markdown of assist without its marks.
func plainText(markdown string) string {
	var lines []string
	for _, l := range strings.Split(markdown, "\n") {
		if !strings.HasPrefix(l, "```") {
			lines = append(lines, strings.ReplaceAll(l, "`", ""))
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// history lists what was entered in this session.
func (r *repl) history(_ context.Context, args []string) error {
	first := 0
	if len(args) > 0 {
		n, err := strconv.Atoi(args[0])
		hold(err == nil && n >= 1 && len(args) == 1, ":history takes a number of inputs, not %q", strings.Join(args, " "))
		first = max(0, len(r.entered)-n)
	}
	for i, text := range r.entered[first:] {
		fmt.Fprintf(r.app.io.out, "%4d  %s\n", first+i+1, strings.ReplaceAll(text, "\n", "\n      "))
	}
	return nil
}
