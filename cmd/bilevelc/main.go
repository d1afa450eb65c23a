// Command bilevelc compiles and solves bilevel models written in the .blv
// language. It holds the command line only: flags, files, terminals and exit
// codes. Everything else is in the packages it calls.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bilevelc/internal/await"
	"bilevelc/internal/each"
	"bilevelc/internal/heap"
	"bilevelc/internal/must"
	"bilevelc/lang/diag"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/status"
)

// version is set by the linker in releases.
var version = "0.1.0-dev"

// The exit codes, which scripts rely on, are those of package status.
const (
	exitInternal = status.ExitInternal
	exitUsage    = status.ExitUsage
	exitModel    = status.ExitModel
	exitData     = status.ExitData
)

// exitError carries an exit code. A nil Err has been reported already.
type exitError struct {
	Code int
	Err  error
}

func (e *exitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *exitError) Unwrap() error { return e.Err }

func main() {
	ownProcess = true
	heap.Floor()
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signals = append(signals, syscall.SIGHUP)
	}
	// A reader that goes away is an error of the write, so that the state of a run
	// whose result nobody took can still be kept.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	// After the first interrupt the handler goes, so that a second one ends
	// the process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], standard()))
}

// run executes one command line and returns its exit code.
func run(ctx context.Context, args []string, io stdio) (code int) {
	out := &output{Writer: io.out}
	io.out = out
	app := &app{io: io, args: args}
	defer func() {
		// A panic here is a bug of ours; the user gets one line and a way to
		// report it, and the trace only on request.
		if r := recover(); r != nil {
			stack := debug.Stack()
			if fault, ok := r.(*await.Fault); ok {
				stack = fault.Stack
			}
			app.internal(r, stack)
			code = exitInternal
		}
	}()
	root := app.rootCommand()
	root.SetArgs(args)
	root.SetIn(io.in)
	root.SetOut(io.out)
	root.SetErr(io.err)
	err := root.ExecuteContext(ctx)
	return app.delivered(out, app.exitCode(err), err)
}

// exitCode reports an error where it has not been reported, and gives its
// code.
func (a *app) exitCode(err error) int {
	if err == nil {
		return 0
	}
	if diags, ok := errors.AsType[diag.List](err); ok {
		a.reportDiagnostics(diags)
		return diagnosticsCode(diags)
	}
	if fault, ok := errors.AsType[*outer.PanicError](err); ok {
		a.internal(fault, fault.Stack)
		return exitInternal
	}
	if stopped, ok := errors.AsType[*stoppedError](err); ok {
		a.tell("error: %v", stopped)
		how, _ := stopped.ended()
		return how.Exit(false)
	}
	if exit, ok := errors.AsType[*exitError](err); ok {
		if exit.Err != nil {
			a.tell("error: %v", exit.Err)
		}
		return exit.Code
	}
	a.tell("error: %v", err)
	return exitInternal
}

// tell writes a line, or lines, to the error stream, with what must not go to a
// terminal written out.
func (a *app) tell(format string, args ...any) {
	fmt.Fprintln(a.io.err, diag.ShownLines(fmt.Sprintf(format, args...)))
}

// note tells what is of use but no error, without --quiet.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		a.tell(format, args...)
	}
}

// internal reports a bug of ours.
func (a *app) internal(what any, stack []byte) {
	a.tell("internal error: %v", what)
	fmt.Fprint(a.io.err, "This is a bug in bilevelc; please report it with the model. ")
	if os.Getenv("BILEVELC_TRACE") == "" {
		fmt.Fprintln(a.io.err, "BILEVELC_TRACE=1 shows where it happened.")
		return
	}
	fmt.Fprintf(a.io.err, "It happened here:\n%s", stack)
}

// diagnosticsCode is the exit code of a list with errors.
func diagnosticsCode(diags diag.List) int {
	class, _ := diags.Class()
	return status.OfClass(class)
}

func usageError(format string, args ...any) error {
	return coded(exitUsage, fmt.Errorf(format, args...))
}

// coded gives an error, where there is one, an exit code.
func coded(code int, err error) error {
	if err == nil {
		return nil
	}
	return &exitError{Code: code, Err: err}
}

// hold ends a command whose flags, arguments or files cannot be meant so.
func hold(so bool, format string, args ...any) {
	if !so {
		must.Do(usageError(format, args...))
	}
}

// parsing is how package strconv begins a reason that the flag package passes on.
var parsing = regexp.MustCompile(`strconv\.\w+: parsing "[^"]*": `)

// unitless is how package time refuses a number that is no duration.
var unitless = regexp.MustCompile(`missing unit in duration "([^"]*)"`)

// unknown is how package pflag refuses a flag that there is not.
var unknown = regexp.MustCompile(`unknown (?:flag: --([\w-]+)|shorthand flag: '(.)')`)

// asSet are names by which other programs take the value of a param.
var asSet = []string{"param", "params", "parameter", "p", "define", "D"}

// nearestFlag is the hint at the flag of a command that a name may mean; "" where there is none.
func nearestFlag(cmd *cobra.Command, name string) string {
	if slices.Contains(asSet, name) && cmd.Flags().Lookup("set") != nil {
		return "; a param is given by --set NAME=VALUE"
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := diag.Suggest(name, names); near != "" {
		return "; did you mean --" + near + "?"
	}
	return ""
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "bilevelc MODEL",
		Short: "Compile and solve bilevel optimization models",
		Long: `bilevelc solves linearly constrained bilevel problems

    minimize F(x) = f(x, y*(x)) over x in X,
    where y*(x) minimizes g(x, y) under linear constraints in (x, y),

written in the .blv language. "bilevelc MODEL" is short for "bilevelc solve MODEL".`,
		Example: `  bilevelc toll.blv
  bilevelc solve toy.blv --data toy.json --json
  bilevelc eval toll.blv --at point.json
  bilevelc check ridge.blv --data ridge.json
  bilevelc repl`,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate("bilevelc {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		hint := ""
		if m := unitless.FindStringSubmatch(err.Error()); m != nil {
			hint = fmt.Sprintf("; write %ss for seconds, %sm for minutes", m[1], m[1])
		}
		if m := unknown.FindStringSubmatch(err.Error()); m != nil {
			hint = nearestFlag(cmd, m[1]+m[2])
		}
		return usageError("%s%s\nSee '%s --help'.", parsing.ReplaceAllString(err.Error(), ""), hint, cmd.CommandPath())
	})
	root.PersistentFlags().StringVar(&a.color, "color", "auto", "color on the terminal: auto, always or never")
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if a.color != "auto" && a.color != "always" && a.color != "never" {
			return usageError("--color is auto, always or never, not %q", a.color)
		}
		return nil
	}
	root.PersistentFlags().BoolVarP(&a.verbose, "verbose", "v", false, "say where the time went")
	root.PersistentFlags().BoolVarP(&a.quiet, "quiet", "q", false, "no progress and no warnings")
	a.solveInto(root)
	root.AddCommand(a.solveCommand(), a.evalCommand(), a.checkCommand(), a.formatCommand(), a.explainCommand(),
		a.methodsCommand(), a.functionsCommand(), a.verifyCommand(), a.sweepCommand(), a.workerCommand(), a.reportCommand(), a.generateCommand(), a.exportCommand(), a.buildCommand(), a.replCommand(), a.lspCommand(), a.serveCommand(), a.jupyterCommand(), a.manCommand())
	completing(root)
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	named(root)
	catching(root)
	return root
}

// named lets the commands that only hold others, and help, refuse names that are none of theirs.
func named(root *cobra.Command) {
	refuse := func(of *cobra.Command, name string) error {
		return usageError("there is no command %s%s\nSee '%s --help'.", name, diag.DidYouMean(name, each.Of(of.Commands(), (*cobra.Command).Name)), of.CommandPath())
	}
	for _, cmd := range root.Commands() {
		switch {
		case cmd.Name() == "help":
			cmd.Run, cmd.RunE = nil, func(_ *cobra.Command, args []string) error {
				about, rest, _ := root.Find(args)
				if len(rest) > 0 {
					return refuse(about, rest[0])
				}
				about.InitDefaultHelpFlag()
				return about.Help()
			}
		case cmd.HasSubCommands() && !cmd.Runnable():
			cmd.Args, cmd.DisableFlagsInUseLine = cobra.ArbitraryArgs, true
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				if len(args) > 0 {
					return refuse(cmd, args[0])
				}
				return cmd.Help()
			}
		}
	}
}

// catching makes what ends a command, or one below it, its error (package must), and a wrong number of arguments an error of usage that names the
// command.
func catching(cmd *cobra.Command) {
	if accepts := cmd.Args; accepts != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) (err error) {
			defer must.Catch(&err)
			err = accepts(cmd, args)
			if err == nil || errors.As(err, new(*exitError)) {
				return err
			}
			return usageError("%s %v\nSee '%s --help'.", cmd.CommandPath(), err, cmd.CommandPath())
		}
	}
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
			defer must.Catch(&err)
			return run(cmd, args)
		}
	}
	for _, sub := range cmd.Commands() {
		catching(sub)
	}
}
