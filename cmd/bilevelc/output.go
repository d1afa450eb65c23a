package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"bilevelc/internal/atomicfile"
	"bilevelc/internal/must"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
	"bilevelc/runtime/chart"
	"bilevelc/runtime/report"
)

// outputs are the forms that a result takes beside the one on standard output.
type outputs struct {
	plot   bool
	csv    string
	report string
}

func (o *outputs) register(fs *pflag.FlagSet) {
	fs.BoolVar(&o.plot, "plot", false, "draw values as charts in the terminal")
	fs.StringVar(&o.report, "report", "", "write a page of HTML to this file: the answer in words, charts, proofs, certificate")
	fs.StringVar(&o.csv, "csv", "", "write tables to this folder: variables, rows, multipliers, with labels")
}

// validate refuses, before anything is solved, what cannot be written.
func (o *outputs) validate(json bool) {
	hold(!o.plot || !json, "--plot and --json exclude each other: both write to standard output")
	if o.report != "" {
		plainFile("--report", o.report)
	}
	if o.csv != "" {
		info, err := os.Stat(o.csv)
		hold(err != nil || info.IsDir(), "--csv %s: it is a file, not a folder", o.csv)
		inFolder("--csv", o.csv)
	}
}

// plainFile refuses a flag's file that cannot be written.
func plainFile(flag, path string) {
	hold(path != "-", "%s takes a file: standard output has the result", flag)
	info, err := os.Stat(path)
	hold(err != nil || !info.IsDir(), "%s %s: it is a folder", flag, path)
	inFolder(flag, path)
}

// inFolder refuses a flag's file whose folder is missing.
func inFolder(flag, path string) {
	dir := filepath.Dir(filepath.Clean(path))
	info, err := os.Stat(dir)
	hold(err == nil && info.IsDir(), "%s %s: there is no folder %s", flag, path, dir)
}

// columns is the width of the terminal, or of a page where there is none.
func (a *app) columns() int {
	const page, most = 80, 160
	if f, ok := fileOf(a.io.out); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return max(chart.MinWidth, min(w, most))
		}
	}
	return page
}

// more gives a result in the other forms that were asked for.
func (a *app) more(r *runtime.Result, p *runtime.Problem, o outputs) {
	if o.plot && r.HasPoint() {
		a.plots(r)
	}
	if o.report != "" {
		a.writePage(a.pageOf(r, p), o.report)
	}
	if o.csv != "" {
		writeTables(o.csv, report.Tables(r))
	}
}

// plots draws the variables of a result.
func (a *app) plots(r *runtime.Result) {
	for _, vs := range []runtime.Values{r.Upper.Variables, r.Lower.Variables} {
		for _, v := range vs {
			fmt.Fprintln(a.io.out)
			must.Do(report.Plot(a.io.out, v, a.columns()))
		}
	}
}

// writeTables writes tables to a folder. A new folder appears with all of them or not
// at all; in one that is there each file is replaced as a whole, and others stay.
func writeTables(dir string, tables []report.Table) {
	if _, err := os.Stat(dir); err == nil {
		fillFolder(dir, tables)
		return
	}
	next := fmt.Sprintf("%s.%d.tmp", filepath.Clean(dir), os.Getpid())
	must.Do(coded(exitUsage, os.Mkdir(next, 0o777)))
	defer os.RemoveAll(next) // nothing, once it has its name
	fillFolder(next, tables)
	must.Do(os.Rename(next, dir))
	must.Do(atomicfile.SyncFolder(filepath.Dir(filepath.Clean(dir))))
}

func fillFolder(dir string, tables []report.Table) {
	for _, t := range tables {
		must.Do(writeFile(filepath.Join(dir, t.Name+".csv"), t.CSV()))
	}
}

// deliver writes to a file, or to standard output where it is "" or "-".
func (a *app) deliver(path string, text []byte) error {
	if path == "" || path == "-" {
		_, err := a.io.out.Write(text)
		return err
	}
	return writeFile(path, text)
}

// printJSON writes a document on a line.
func (a *app) printJSON(document any) error {
	text := must.Get(json.Marshal(document))
	_, err := fmt.Fprintf(a.io.out, "%s\n", diag.ShownJSON(text))
	return err
}

// writeFile writes a file; that there can be none of its name is the command line's fault, and that it does not hold all of the text the disk's.
func writeFile(path string, text []byte) error {
	err := atomicfile.Write(path, text)
	if at := (*os.PathError)(nil); err == nil || errors.As(err, &at) && at.Op == "write" {
		return err
	}
	return coded(exitUsage, err)
}

// file is one that a command writes.
type file struct {
	name string
	text []byte
}

// writeFolder writes files to a folder, made where it is missing, and lists them.
func (a *app) writeFolder(dir string, files []file) error {
	must.Do(coded(exitUsage, os.MkdirAll(dir, 0o777)))
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		must.Do(writeFile(path, f.text))
		fmt.Fprintln(a.io.out, path)
	}
	return nil
}
