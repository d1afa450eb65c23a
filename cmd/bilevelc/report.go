package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"bilevelc/internal/must"
	"bilevelc/runtime"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/report"
	"bilevelc/runtime/status"
)

func (a *app) reportCommand() *cobra.Command {
	var d documentFlags
	var out string
	cmd := &cobra.Command{
		Use:   "report RESULT.json",
		Short: "Make a page of HTML of a result document",
		Long: `report writes one self-contained page: the answer in words, the model, charts of
the variables, the constraints that hold with their multipliers, the course of the
run, what was proved and what is assumed, the certificate, and how to reproduce it.
It needs no network and runs nothing.

The model and its data are looked for as verify does: files that you name, or files in
the document's own folder under the names that the document gives. With them the
document is verified, and the page says what was found; without them the page has what
the document holds. It fails, with exit code 14, as verify does, on a document that was
changed or that claims what does not hold, which its page says.`,
		Example: `  bilevelc toll.blv --json > result.json
  bilevelc report result.json --out toll.html`,
		Args: cobra.ExactArgs(1),
	}
	d.register(cmd.Flags())
	cmd.Flags().StringVarP(&out, "out", "o", "", "file of the page (default: the document's name with .html; - for standard output)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.report(cmd.Context(), args[0], out, &d, cmd.Flags().Changed("seed"))
	}
	return cmd
}

func (a *app) report(ctx context.Context, path, out string, d *documentFlags, seeded bool) error {
	result := a.readResult(ctx, path)
	page := &report.Page{Result: result}
	explicit := d.model != "" || len(d.data)+len(d.set) > 0
	problem, err := a.problemOf(ctx, path, result, d, seeded)
	switch {
	case err == nil && problem.Digest() != result.Digest:
		return coded(exitData, fmt.Errorf("%s is not about this model with these data: their digests differ", path))
	case err == nil:
		page.Problem = problem
		if result.HasPoint() {
			page.Verified = must.Get(during(ctx, "verifying", func() (*certify.Report, error) { return problem.Verify(result) }))
		}
	case explicit || ctx.Err() != nil:
		return err
	default:
		a.note("the page is without the model and its proofs: %v", err)
	}
	a.writePage(page, cmp.Or(out, strings.TrimSuffix(path, ".json")+".html"))
	return unverified(page)
}

// unverified is the error of a document that is not what it says: the page says so, too.
func unverified(page *report.Page) error {
	err := page.Result.Intact()
	if err == nil && page.Verified != nil && !page.Verified.OK() {
		err = fmt.Errorf("%d of %d claims of the document do not hold; the page lists them", len(page.Verified.Failures()), len(page.Verified.Checks))
	}
	return coded(status.NumericalFailure.Exit(true), err)
}

// writePage writes a page to a file, or to standard output where that is "-".
func (a *app) writePage(page *report.Page, path string) {
	var b bytes.Buffer
	must.Do(page.Write(&b))
	must.Do(a.deliver(path, b.Bytes()))
}

// pageOf is the page of a result that was just made, by the arguments of the command line where it has them.
func (a *app) pageOf(r *runtime.Result, p *runtime.Problem) *report.Page {
	page := &report.Page{Result: r, Problem: p}
	if a.args != nil {
		page.Command = append([]string{"bilevelc"}, a.args...)
	}
	return page
}
