package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/ir/data"
	"bilevelc/ir/datafile"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
	"bilevelc/runtime/session"
)

// replCommand is one command of the prompt.
type replCommand struct {
	name, args, doc string
	run             func(r *repl, ctx context.Context, args []string) error
}

// replCommands lists the commands; :help is made from it.
func replCommands() []replCommand {
	return []replCommand{
		{"load", "FILE", "replace the model by a file's", func(r *repl, ctx context.Context, args []string) error {
			return one(args, "a model file", func(path string) error { return r.load(ctx, path) })
		}},
		{"data", "FILE", "read data (JSON, CSV, .npy, .npz, .mtx, .parquet, .xlsx), or name=FILE", (*repl).data},
		{"set", "NAME=VALUE", "set a param or data by value", (*repl).set},
		{"solve", "[flags]", "solve, with the flags of 'bilevelc solve'", (*repl).solve},
		{"eval", "NAME=VALUE ...", "F, y* and the hypergradient at an upper point", (*repl).eval},
		{"plot", "NAME", "a chart of a value of the last solution; `:plot F along x[3] from 0 to 5` of F along a line", (*repl).plot},
		{"diff", "[I J]", "what differs between the last two solutions, or solutions I and J", (*repl).diff},
		{"check", "", "what is proved about the model", (*repl).check},
		{"show", "", "the model as it stands", func(r *repl, _ context.Context, _ []string) error {
			fmt.Fprint(r.app.io.out, r.session.Text())
			for _, e := range r.session.Data().Entries { // these are no part of the model, and go before what it says
				value := ""
				if e.Array != nil && e.Array.Len() == 1 && e.Array.Rank() == 0 {
					value = " = " + strconv.FormatFloat(e.Array.Values()[0], 'g', -1, 64)
				}
				fmt.Fprintf(r.app.io.out, "// supplied: %s%s (%s)\n", e.Name, value, diag.Shown(e.Origin))
			}
			return nil
		}},
		{"save", "FILE", "write the model to a file", func(r *repl, _ context.Context, args []string) error {
			return one(args, "a file name", func(path string) error {
				return writeFile(path, []byte(r.session.Text()))
			})
		}},
		{"last", "", "the last result again", func(r *repl, _ context.Context, _ []string) error {
			if r.session.Last() == nil {
				return usageError("the model as it stands has not been solved")
			}
			return r.app.show(r.session.Last(), runFlags{})
		}},
		{"history", "[N]", "what was entered, the last N", (*repl).history},
		{"undo", "[N]", "take the last change, or the last N, of the model or the data back", func(r *repl, _ context.Context, args []string) error {
			return r.move(&r.past, &r.future, "undone", args)
		}},
		{"redo", "[N]", "make the change again, or N of them, that was taken back last", func(r *repl, _ context.Context, args []string) error {
			return r.move(&r.future, &r.past, "done again", args)
		}},
		{"reset", "", "forget everything", func(r *repl, _ context.Context, _ []string) error {
			r.session, r.solutions = &session.Session{Seed: r.session.Seed}, nil
			return nil
		}},
		{"explain", "[CODE]", "what the words of the last result mean for it, or a diagnostic's code", func(r *repl, _ context.Context, args []string) error {
			if len(args) == 0 {
				last, err := r.solution()
				if err != nil {
					return err
				}
				return r.app.explainResult(last)
			}
			return one(args, "a code, such as E0701", func(code string) error { return r.app.explainCode(diag.Code(strings.ToUpper(code))) })
		}},
		{"gradient", "", "", (*repl).gradient}, // `grad F`
		{"help", "[NAME]", "this list, or help on a command, function, method, word or code", (*repl).helpOn},
		{"quit", "", "leave", func(r *repl, _ context.Context, _ []string) error {
			r.quit = true
			return nil
		}},
	}
}

func one(args []string, what string, use func(string) error) error {
	hold(len(args) == 1, "this takes %s", what)
	return use(args[0])
}

// command runs `:name args`; a name may be cut short.
func (r *repl) command(ctx context.Context, line string) error {
	fields := strings.Fields(line)
	if len(fields) == 0 {
		r.help()
		return nil
	}
	if fields[0] == "?" {
		fields[0] = "help"
	}
	found := commandsNamed(fields[0])
	switch len(found) {
	case 0:
		names := each.Of(replCommands(), func(c replCommand) string { return c.name })
		if near := diag.Suggest(fields[0], names); near != "" {
			return usageError("there is no command :%s; did you mean :%s? :help lists them", fields[0], near)
		}
		return usageError("there is no command :%s; :help lists them", fields[0])
	case 1:
		hold(found[0].args != "" || found[0].doc == "" || len(fields) == 1, ":%s takes nothing behind it", found[0].name)
		return found[0].run(r, ctx, fields[1:])
	}
	return usageError(":%s could be :%s or :%s", fields[0], found[0].name, found[1].name)
}

// commandsNamed are the commands that a name, which may be cut short, may mean.
func commandsNamed(name string) (found []replCommand) {
	for _, c := range replCommands() {
		if c.name == name {
			return []replCommand{c}
		}
		if strings.HasPrefix(c.name, name) {
			found = append(found, c)
		}
	}
	return found
}

func (r *repl) load(ctx context.Context, path string) error {
	_, missing := os.Stat(path)
	hold(!datafile.Holds(path) || missing != nil, "%s holds data; `:data %s` reads it", path, path)
	reply := must.Get(r.session.Load(path, string(r.app.textOf(ctx, path, maxModel, exitUsage))))
	fmt.Fprintln(r.app.io.out, strings.Join(reply.Defined, ", "))
	r.app.reportDiagnostics(reply.Warnings)
	return nil
}

func (r *repl) data(ctx context.Context, args []string) error {
	hold(len(args) != 0, ":data takes a file, or name=file")
	return r.add(ctx, "data", inputs{data: args})
}

func (r *repl) set(ctx context.Context, args []string) error {
	hold(len(args) != 0, ":set takes name=value")
	return r.add(ctx, "set", inputs{set: []string{strings.Join(args, " ")}})
}

func (r *repl) add(ctx context.Context, word string, in inputs) error {
	set := r.app.readData(ctx, in)
	waiting := r.session.AddData(set)
	fmt.Fprintln(r.app.io.out, word, diag.Join(set.Entries, ", ", func(e data.Entry) string { return e.Name }))
	if len(waiting) > 0 {
		fmt.Fprintf(r.app.io.out, "not declared as param or data so far: %s\n", strings.Join(waiting, ", "))
	}
	return nil
}

// solve takes the flags of the command. Data that they name stay in the session.
func (r *repl) solve(ctx context.Context, args []string) error {
	f, fs := r.solveFlags()
	if err := fs.Parse(args); err != nil {
		return usageError(":solve: %v\n:help solve lists its flags.", err)
	}
	hold(fs.NArg() <= 0, ":solve solves the session's model and takes flags only, not %q", fs.Arg(0))
	if len(f.data)+len(f.set) > 0 {
		must.Do(r.add(ctx, "data", inputs{data: f.data, set: f.set}))
	}
	if fs.Changed("seed") {
		r.session.Seed = f.seed
	} else {
		f.seed = r.session.Seed
	}
	f.outputs.validate(f.json)
	app := *r.app
	app.args = nil // those of the session, which do not make its results
	app.quiet, app.verbose = app.quiet || f.quiet, app.verbose || f.verbose
	ctx, cancel := f.limited(ctx)
	defer cancel()
	opts := f.options(ctx, &app)
	if !f.cold && f.method == "" && f.starts == 0 && f.start == "" && f.resume == "" {
		opts.Near = r.session.Near()
	}
	kept := newCheckpointFile(&app, "-", f.checkpoint)
	var problem *runtime.Problem
	result, trace, err := app.watched(opts, f.trace, kept, func(opts runtime.Options) (result *runtime.Result, err error) {
		result, problem, err = r.session.Solve(ctx, runtime.BindOptions{Strict: f.strict}, opts)
		return result, err
	})
	must.Do(runError(stopped(ctx, "binding the model", err), ""))
	unproved := must.Get(app.present(ctx, ctx, result, problem, &f.solveFlags, kept))
	if result.HasPoint() {
		r.solutions = append(r.solutions, result)
	}
	return cmp.Or(unproved, trace)
}

// replFlags are the flags of `:solve`: those of the command, and --cold.
type replFlags struct {
	solveFlags
	cold, quiet, verbose bool
}

func (r *repl) solveFlags() (*replFlags, *pflag.FlagSet) {
	f := &replFlags{}
	fs := pflag.NewFlagSet(":solve", pflag.ContinueOnError)
	fs.Usage = func() {}
	f.solveFlags.register(fs)
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "no progress and no warnings")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "say where the time went")
	fs.BoolVar(&f.cold, "cold", false, "look for a solution anew, rather than follow the last one to where other numbers have moved it")
	return f, fs
}

// eval reads name=value pairs, values in JSON.
func (r *repl) eval(ctx context.Context, args []string) error {
	set := r.app.readData(ctx, inputs{set: joinPairs(args)})
	problem, err := r.session.BindContext(ctx, runtime.BindOptions{})
	must.Do(stopped(ctx, "binding the model", err))
	result, err := problem.Eval(ctx, pointOf(set), runtime.Options{Seed: r.session.Seed})
	must.Do(runError(err, ""))
	return r.app.show(result, runFlags{})
}

// joinPairs puts lists that were split at blanks together again: x = [1, 2].
func joinPairs(args []string) []string {
	var out []string
	for _, part := range args {
		if n := len(out); n > 0 && (strings.Count(out[n-1], "[") > strings.Count(out[n-1], "]") ||
			strings.HasSuffix(out[n-1], "=") || strings.HasPrefix(part, "=")) {
			out[n-1] += part
			continue
		}
		out = append(out, part)
	}
	return out
}

func (r *repl) check(context.Context, []string) error {
	checked := must.Get(r.session.Check())
	r.app.reportDiagnostics(checked.Warnings)
	_, err := fmt.Fprint(r.app.io.out, checked.Text(false))
	return err
}
