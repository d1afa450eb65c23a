package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"bilevelc/internal/must"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
)

func (a *app) manCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages",
		Long: `man writes a manual page for every command, bilevelc-methods(7) with all methods,
oracles and lower solvers and their settings, and bilevelc-codes(7) with all
diagnostics. They are made from what the program itself knows.`,
		Example: `  bilevelc man man1
  man -l man1/bilevelc-solve.1`,
		Args: cobra.ExactArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		must.Do(coded(exitUsage, os.MkdirAll(args[0], 0o777)))
		root := cmd.Root()
		root.DisableAutoGenTag = true
		header := &doc.GenManHeader{Title: "BILEVELC", Section: "1", Source: "bilevelc " + version, Manual: "bilevelc"}
		must.Do(coded(exitUsage, doc.GenManTree(root, header, args[0])))
		for _, page := range []struct{ name, text string }{{"bilevelc-methods.7", methodsPage()}, {"bilevelc-codes.7", codesPage()}} {
			must.Do(writeFile(filepath.Join(args[0], page.name), md2man.Render([]byte(page.text))))
		}
		return nil
	}
	return cmd
}

// methodsPage is the manual page of the methods, in the Markdown of go-md2man.
func methodsPage() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%% \"BILEVELC-METHODS\" \"7\" \"\" \"bilevelc %s\" \"bilevelc\"\n# NAME\n\nbilevelc-methods - methods, oracles and lower solvers, with their settings\n\n", version)
	b.WriteString("# DESCRIPTION\n\nA method is chosen with **--method**, an oracle with **--oracle**, a lower solver with **--solver**, and a setting with " +
		"**--option** *name*=*value*, or in a model's solve block.\n")
	for _, m := range runtime.Methods() {
		fmt.Fprintf(&b, "\n# %s %s\n\n%s. Source: %s.\n", strings.ToUpper(m.Kind), m.Name, manText(m.Summary), manText(m.Reference))
		for _, s := range m.Settings {
			fmt.Fprintf(&b, "\n* %s\n", manText(settingLine(s)))
		}
	}
	return b.String()
}

// codesPage is the manual page of the diagnostics.
func codesPage() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%% \"BILEVELC-CODES\" \"7\" \"\" \"bilevelc %s\" \"bilevelc\"\n# NAME\n\nbilevelc-codes - what the codes of diagnostics mean\n", version)
	for _, e := range diag.Codes() {
		fmt.Fprintf(&b, "\n# %s: %s\n\n%s\n", e.Code, manText(e.Title), manText(e.Explanation))
	}
	return b.String()
}

// manText keeps what means something in Markdown as it stands.
func manText(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "<", `\<`, "[", `\[`).Replace(s)
}
