package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"bilevelc/cmd/internal/assist"
	"bilevelc/cmd/internal/jupyter"
	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/lang/diag"
	"bilevelc/parser"
	"bilevelc/runtime/chart"
	"bilevelc/runtime/session"
)

func (a *app) jupyterCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "jupyter",
		Short: "Notebooks: install the Jupyter kernel, or run it",
		Long: `A notebook's cells are inputs of the prompt (see "bilevelc repl"): declarations,
expressions and commands, one a line, such as ":solve". Plots are shown inline.`,
		Example: "  bilevelc jupyter install\n  jupyter lab",
		Args:    cobra.NoArgs,
	}
	var prefix string
	install := &cobra.Command{
		Use:     "install",
		Short:   "Tell Jupyter of the kernel",
		Example: "  bilevelc jupyter install\n  bilevelc jupyter install --prefix \"$VIRTUAL_ENV\"",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			program := must.Get(os.Executable())
			folder, err := jupyter.Install(prefix, "bilevelc", "bilevelc", "bilevelc", []string{program, "jupyter", "kernel", "{connection_file}"})
			must.Do(coded(exitUsage, err))
			fmt.Fprintf(a.io.out, "installed in %s; it runs %s\n", folder, program)
			return nil
		},
	}
	install.Flags().StringVar(&prefix, "prefix", "", "install below this folder's share/jupyter, for all who use it (a virtual environment), not for the user")
	kernel := &cobra.Command{
		Use:   "kernel CONNECTION_FILE",
		Short: "Run the kernel, as Jupyter does",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			about := jupyter.About{Name: "bilevelc", Version: version, Extension: ".blv", MIME: "text/x-blv",
				Banner: "bilevelc " + version + ": cells are inputs of the prompt; :help lists the commands"}
			return coded(exitUsage, jupyter.Serve(cmd.Context(), args[0], about, &notebook{app: a, repl: &repl{app: a, session: &session.Session{Seed: 1}}},
				func(text string) { a.tell("warning: %s", text) }))
		},
	}
	cmd.AddCommand(install, kernel)
	return cmd
}

// notebook is the prompt, with cells for lines.
type notebook struct {
	app  *app
	repl *repl
}

// Execute implements jupyter.Language. The first input with an error ends the cell.
func (n *notebook) Execute(ctx context.Context, cell string, out *jupyter.Output) error {
	app := *n.app
	app.io.in, app.io.out, app.io.err = strings.NewReader(""), out.Stream("stdout"), out.Stream("stderr")
	n.repl.app = &app
	n.repl.draw = func(c chart.Chart) error {
		var text bytes.Buffer
		if err := c.Text(&text, 80); err != nil {
			return err
		}
		out.Display(map[string]string{"image/svg+xml": chart.Standalone(c), "text/plain": text.String()})
		return nil
	}
	for _, input := range cellInputs(cell) {
		if _, err := n.repl.enter(ctx, input, true); err != nil {
			return n.failure(&app, err)
		}
	}
	return nil
}

// failure is an error as the prompt would report it.
func (n *notebook) failure(app *app, err error) error {
	var text bytes.Buffer
	telling := *app
	telling.io.err = &text
	telling.exitCode(err)
	f := &jupyter.Failure{Name: "error", Value: diag.ShownLines(err.Error()), Trace: text.String()}
	if diags, ok := errors.AsType[diag.List](err); ok && len(diags) > 0 {
		f.Name, f.Value = string(diags[0].Code), diag.Shown(diags[0].Summary)
	}
	return f
}

// cellInputs cuts a cell into inputs: each command is one, and so is what stands
// between them, unless it holds expressions, of which each is an input of its own.
func cellInputs(cell string) []string {
	var out []string
	var pending []string
	flush := func() {
		text := strings.Join(pending, "\n")
		pending = nil
		if strings.TrimSpace(text) == "" {
			return
		}
		input, diags := parser.ParseREPL(diag.NewSource("cell", text))
		if input.Expr == nil && !diags.HasErrors() {
			out = append(out, text)
			return
		}
		// Line by line, as they would be typed.
		part := ""
		for _, line := range strings.Split(text, "\n") {
			if part = join(part, line); strings.TrimSpace(part) != "" && session.Incomplete(part) {
				continue
			}
			if strings.TrimSpace(part) != "" {
				out = append(out, part)
			}
			part = ""
		}
		if part != "" {
			out = append(out, part)
		}
	}
	for _, line := range strings.Split(cell, "\n") {
		word := strings.TrimSpace(line)
		open := len(pending) > 0 && session.Incomplete(strings.Join(pending, "\n"))
		if !open && (strings.HasPrefix(word, ":") || strings.HasPrefix(word, "?") || word == "help" || strings.HasPrefix(word, "help ") || word == "grad F") {
			flush()
			out = append(out, word)
			continue
		}
		pending = append(pending, line)
	}
	flush()
	return out
}

// Complete implements jupyter.Language.
func (n *notebook) Complete(cell string, at int) (texts []string, start int) {
	before := cell[:at]
	line := strings.LastIndexByte(before, '\n') + 1
	if strings.HasPrefix(strings.TrimSpace(before[line:]), ":") {
		before = before[line:]
	} else {
		line = 0
	}
	list, start := n.repl.complete(before)
	return each.Of(list, func(c candidate) string { return c.text }), line + start
}

// Inspect implements jupyter.Language.
func (n *notebook) Inspect(cell string, at int) string {
	head := n.repl.session.Text() + "\n"
	text, _, ok := assist.Read("session", head+cell).Hover(len(head)+at, n.repl.session.Data())
	if !ok {
		return ""
	}
	return text
}

// Incomplete implements jupyter.Language.
func (n *notebook) Incomplete(cell string) bool {
	inputs := cellInputs(cell)
	return len(inputs) > 0 && !strings.HasPrefix(inputs[len(inputs)-1], ":") && session.Incomplete(inputs[len(inputs)-1])
}
