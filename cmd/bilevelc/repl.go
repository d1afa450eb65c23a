package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/reeflective/readline"
	"github.com/spf13/cobra"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/lang/diag"
	"bilevelc/parser"
	"bilevelc/runtime"
	"bilevelc/runtime/chart"
	"bilevelc/runtime/session"
)

func (a *app) replCommand() *cobra.Command {
	var in inputs
	cmd := &cobra.Command{
		Use:   "repl [MODEL]",
		Short: "Prototype models: declare, load, evaluate, solve, redefine",
		Long: `repl reads declarations, expressions and commands (:help lists them, :help NAME
explains one, or a function, a method, a code). Redefining a name replaces it; an
input with an error changes nothing. After :solve expressions read the solution:
variables, F, g, dual(row), residual(row), grad(x); :plot draws it, :diff compares
it with the one before. Where only numbers have changed since, :solve follows the
last solution to where it has moved, which is cheap (:solve --cold looks anew).
Tab completes. It works at a terminal and with input from a pipe.`,
		Example: `  bilevelc repl
  bilevelc repl toll.blv
  printf 'let n = 3\n2 * n + 1\n' | bilevelc repl`,
		Args: cobra.MaximumNArgs(1),
	}
	in.register(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := &repl{app: a, session: &session.Session{Seed: in.seed}}
		if len(args) == 1 {
			must.Do(r.load(cmd.Context(), args[0]))
		}
		r.session.AddData(a.readData(cmd.Context(), in))
		if isTerminal(a.io.in) && isTerminal(a.io.out) {
			return r.terminal()
		}
		return r.piped(cmd.Context())
	}
	return cmd
}

// repl is one session at a prompt or on a pipe.
type repl struct {
	app     *app
	session *session.Session
	inputs  int // numbers the inputs, which name them in messages
	quit    bool

	entered   []string                // all inputs, for :history
	past      []step                  // what :undo goes back through, the last one last
	future    []step                  // and :redo
	moved     bool                    // the input that is worked on is one of these two
	draw      func(chart.Chart) error // of plots; nil: as text
	solutions []*runtime.Result       // of each :solve that had a point, for :diff
}

// piped reads inputs line by line without prompts. The exit code is that of
// the first error, so that a script notices.
func (r *repl) piped(ctx context.Context) error {
	lines := bufio.NewScanner(r.app.io.in)
	lines.Buffer(nil, maxInput)
	failed := 0
	pending := ""
	finish := func(text string, last bool) {
		more, err := r.enter(ctx, text, last)
		pending = ""
		if more {
			pending = text
			return
		}
		if code := r.app.exitCode(err); failed == 0 {
			failed = code
		}
	}
	for !r.quit && lines.Scan() {
		finish(join(pending, lines.Text()), false)
	}
	if pending != "" && !r.quit {
		finish(pending, true)
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if failed == 0 {
		return nil
	}
	return &exitError{Code: failed}
}

// maxInput bounds one line of piped input.
const maxInput = 1 << 26

func join(before, line string) string {
	if before == "" {
		return line
	}
	return before + "\n" + line
}

// terminal reads inputs with editing, history and completion.
func (r *repl) terminal() error {
	shell := readline.NewShell()
	// The probe asks the terminal where the cursor is, and takes what was typed in
	// the meantime for a part of the answer. Prompts start at the left edge here.
	must.Do(shell.Config.Set("cursor-position-probe", false))
	for name, value := range map[string]bool{
		// Characters of more than one byte are letters, not keys with Meta.
		"convert-meta": false, "input-meta": true, "output-meta": true,
	} {
		must.Do(shell.Config.Set(name, value))
	}
	shell.Prompt.Primary(func() string { return "blv> " })
	shell.Prompt.Secondary(func() string { return "...> " })
	shell.AcceptMultiline = func(line []rune) bool {
		text := string(line)
		if strings.HasPrefix(strings.TrimSpace(text), ":") || !session.Incomplete(text) {
			return true
		}
		r.roomBelow()
		return false
	}
	shell.Completer = func(line []rune, cursor int) readline.Completions {
		all := r.tab(string(line[:cursor]))
		// Tab adds what all candidates have in common and shows them; again, it takes one
		// after the other. The first half of it the library does right in ASCII alone.
		_ = shell.Config.Set("menu-complete-display-prefix", all.PREFIX == "") // of a type that is known
		return all
	}
	if path, ok := historyFile(); ok {
		shell.History.AddFromFile("history", path)
	}
	fmt.Fprintf(r.app.io.out, "bilevelc %s. :help lists the commands, :quit or Ctrl-D leaves.\n", version)
	for !r.quit {
		r.roomBelow()
		line, err := shell.Readline()
		if err != nil {
			if errors.Is(err, readline.ErrInterrupt) {
				continue // Ctrl-C drops the line
			}
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
		// Ctrl-C while an input is being worked on ends that work only.
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		_, err = r.enter(ctx, line, true)
		r.app.exitCode(err) // which reports it
		stop()
	}
	return nil
}

// roomBelow scrolls the screen so far that rows are free below the cursor, which stays at
// its place in the text. Readline draws on the row below the input and does not know
// where the bottom is: there it would climb over the last lines of output.
func (r *repl) roomBelow() {
	const rows = 4 // below an input that fills three; each line that is added asks again
	fmt.Fprintf(r.app.io.out, "%s\x1b[%dA", strings.Repeat("\n", rows), rows)
}

func historyFile() (string, bool) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", false
	}
	dir = filepath.Join(dir, "bilevelc")
	if os.MkdirAll(dir, 0o700) != nil {
		return "", false
	}
	return filepath.Join(dir, "history"), true
}

// step is the session before an input that changed it, or after it.
type step struct {
	input   string
	session *session.Session
}

// enter works on one input, and keeps the session before it where it changes the model or
// the data.
func (r *repl) enter(ctx context.Context, text string, last bool) (more bool, err error) {
	before := r.session.Copy()
	if failed := must.Try(func() { more, err = r.handle(ctx, text, last) }); failed != nil {
		err = failed
	}
	if !r.moved && !r.session.Same(before) {
		r.past, r.future = append(r.past, step{strings.TrimSpace(text), before}), nil
	}
	r.moved = false
	return more, err
}

// move goes a step back or on, or as many as args says: it takes the last of from, and leaves the session that it
// replaces on to.
func (r *repl) move(from, to *[]step, done string, args []string) error {
	steps := 1
	if len(args) > 0 {
		var err error
		steps, err = strconv.Atoi(args[0])
		hold(err == nil && steps > 0 && len(args) == 1, "%s is not a number of changes", strings.Join(args, " "))
	}
	hold(len(*from) != 0, "there is nothing to be %s", done)
	hold(steps <= len(*from), "there are %s to be %s, not %d", diag.Count(len(*from), "change", "changes"), done, steps)
	for range steps {
		n := len(*from)
		s := (*from)[n-1]
		*from, *to = (*from)[:n-1], append(*to, step{s.input, r.session})
		r.session, r.moved = s.session, true
		first, rest, _ := strings.Cut(s.input, "\n")
		if rest != "" {
			first += " ..."
		}
		fmt.Fprintf(r.app.io.out, "%s: %s\n", done, first)
	}
	return nil
}

// handle works on one input. more says that the input goes on; last, that no
// more is to come.
func (r *repl) handle(ctx context.Context, text string, last bool) (more bool, err error) {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || strings.HasPrefix(trimmed, "//") && !strings.Contains(trimmed, "\n") {
		return false, nil
	}
	if name, bare := r.bareCommand(trimmed); bare || strings.HasPrefix(trimmed, ":") {
		r.entered = append(r.entered, trimmed)
		if bare {
			return false, r.command(ctx, name)
		}
		return false, r.command(ctx, trimmed[1:])
	}
	if !last && session.Incomplete(text) {
		return true, nil
	}
	r.entered = append(r.entered, text)
	r.inputs++
	name := fmt.Sprintf("input %d", r.inputs)
	reply := must.Get(r.session.Enter(name, text))
	if reply.Incomplete { // and nothing more is to come
		if _, diags := parser.ParseREPL(diag.NewSource(name, text)); diags.HasErrors() {
			return false, diags
		}
		return false, usageError("the input ends before it is whole")
	}
	if reply.Value != nil || reply.Texts != nil {
		writeAnswer(r.app.io.out, reply)
	}
	if len(reply.Defined) > 0 {
		fmt.Fprintln(r.app.io.out, strings.Join(reply.Defined, ", "))
	}
	r.app.reportDiagnostics(reply.Warnings)
	return false, nil
}

// writeAnswer writes the value of an expression, numbers or texts, and its type.
func writeAnswer(w io.Writer, reply *session.Reply) {
	row := func(numbers []float64) string {
		return strings.Join(first(numbers, "", func(_ int, f float64) string { return fmt.Sprintf("%.10g", f) }), "  ")
	}
	lines := first(reply.Texts, "", func(_ int, text string) string { return text })
	if reply.Value != nil {
		switch v := *reply.Value; {
		case v.Axes != nil:
			v.Name = ""
			t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
			for _, line := range first(v.Data, "", func(k int, f float64) string { return fmt.Sprintf("%s\t%.10g", runtime.EntryName(v, k), f) }) {
				fmt.Fprintln(t, line)
			}
			t.Flush()
		case len(v.Shape) == 2:
			lines = first(v.Rows(), " rows", func(_ int, numbers []float64) string { return row(numbers) })
		default:
			lines = []string{row(v.Data)}
		}
	}
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintf(w, "  : %s\n", reply.Type)
}

// first is what text makes of the first 20 of a list, and how many there are in all where that is more.
func first[T any](list []T, what string, text func(k int, v T) string) []string {
	const most = 20
	out := each.Below(min(len(list), most), func(k int) string { return text(k, list[k]) })
	if len(list) > most {
		out = append(out, fmt.Sprintf("... %d%s in all", len(list), what))
	}
	return out
}
