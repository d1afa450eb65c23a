package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"bilevelc/cmd/internal/assist"
	"bilevelc/internal/each"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
	"bilevelc/stdlib"
)

func (a *app) methodsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "methods [NAME]",
		Short: "List the methods, oracles and lower solvers, or the settings of one",
		Example: `  bilevelc methods
  bilevelc methods goldstein`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return methodNames(""), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				listMethods(a.io.out)
				return nil
			}
			for _, m := range runtime.Methods() {
				if m.Name == args[0] {
					describeMethod(a.io.out, m)
					return nil
				}
			}
			return usageError("no method is called %q%s", args[0], diag.DidYouMean(args[0], methodNames("")))
		},
	}
}

// methodNames are those of a kind; "" stands for all.
func methodNames(kind string) []string {
	return each.Of(methodsOf(kind), func(m runtime.MethodInfo) string { return m.Name })
}

// methodsOf are the methods of a kind; "" stands for all.
func methodsOf(kind string) []runtime.MethodInfo {
	return each.Where(runtime.Methods(), func(m runtime.MethodInfo) bool { return kind == "" || m.Kind == kind })
}

func listMethods(w io.Writer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	kind := ""
	for _, m := range runtime.Methods() {
		if m.Kind != kind {
			kind = m.Kind
			fmt.Fprintf(table, "%ss (--%s)\n", kind, kind)
		}
		fmt.Fprintf(table, "  %s\t%s\n", m.Name, m.Summary)
	}
	table.Flush()
}

func describeMethod(w io.Writer, m runtime.MethodInfo) {
	fmt.Fprintf(w, "%s %s: %s\nsource: %s\n", m.Kind, m.Name, m.Summary, m.Reference)
	if len(m.Settings) == 0 {
		fmt.Fprintln(w, "no settings")
		return
	}
	fmt.Fprintln(w, "settings (--option name=value, or name = value in a model's solve block):")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range m.Settings {
		fmt.Fprintf(table, "  %s\t%v\t%s\t%s\n", s.Name, s.Default, s.Range(), s.Doc)
	}
	table.Flush()
}

func (a *app) functionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "functions [NAME]",
		Short: "List the standard library, or explain one function",
		Example: `  bilevelc functions
  bilevelc functions huber`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			for _, f := range stdlib.Functions() {
				if len(args) == 0 {
					fmt.Fprintf(a.io.out, "%s\n    %s\n", f.Signature, f.Doc)
				} else if f.Name == args[0] {
					fmt.Fprintf(a.io.out, "%s\n\n%s\n\nexamples\n%s\n\n%s\n", f.Signature, f.Doc, f.Example, f.Source)
					return nil
				}
			}
			if len(args) == 0 {
				return nil
			}
			var all []string
			for _, w := range assist.Words() {
				if w.Kind != assist.FunctionWord {
					continue
				}
				if w.Name == args[0] {
					fmt.Fprint(a.io.out, "a primitive of the language\n\n")
					writeWord(a.io.out, w)
					return nil
				}
				all = append(all, w.Name)
			}
			return usageError("there is no function %q%s", args[0], diag.DidYouMean(args[0], all))
		},
	}
}
