package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"bilevelc/internal/atomicfile"
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

// validate reports, before anything is solved, what cannot be written.
func (o *outputs) validate(json bool) error {
	if o.plot && json {
		return usageError("--plot and --json exclude each other: both write to standard output")
	}
	if o.report != "" {
		if err := plainFile("--report", o.report); err != nil {
			return err
		}
	}
	if o.csv == "" {
		return nil
	}
	if info, err := os.Stat(o.csv); err == nil && !info.IsDir() {
		return usageError("--csv %s: it is a file, not a folder", o.csv)
	}
	return inFolder("--csv", o.csv)
}

// plainFile reports that a flag's file cannot be written.
func plainFile(flag, path string) error {
	if path == "-" {
		return usageError("%s takes a file: standard output has the result", flag)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return usageError("%s %s: it is a folder", flag, path)
	}
	return inFolder(flag, path)
}

// inFolder reports that the folder is missing in which a flag's file is to be.
func inFolder(flag, path string) error {
	if info, err := os.Stat(filepath.Dir(filepath.Clean(path))); err != nil || !info.IsDir() {
		return usageError("%s %s: there is no folder %s", flag, path, filepath.Dir(filepath.Clean(path)))
	}
	return nil
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
func (a *app) more(r *runtime.Result, p *runtime.Problem, o outputs) error {
	if o.plot && r.HasPoint() {
		if err := a.plots(r); err != nil {
			return err
		}
	}
	if o.report != "" {
		if err := a.writePage(a.pageOf(r, p), o.report); err != nil {
			return err
		}
	}
	if o.csv != "" {
		return writeTables(o.csv, report.Tables(r))
	}
	return nil
}

// plots draws the variables of a result.
func (a *app) plots(r *runtime.Result) error {
	for _, vs := range []runtime.Values{r.Upper.Variables, r.Lower.Variables} {
		for _, v := range vs {
			fmt.Fprintln(a.io.out)
			if err := report.Plot(a.io.out, v, a.columns()); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeTables writes tables to a folder. A new folder appears with all of them or not
// at all; in one that is there each file is replaced as a whole, and others stay.
func writeTables(dir string, tables []report.Table) error {
	if _, err := os.Stat(dir); err == nil {
		return fillFolder(dir, tables)
	}
	next := fmt.Sprintf("%s.%d.tmp", filepath.Clean(dir), os.Getpid())
	if err := os.Mkdir(next, 0o777); err != nil {
		return &exitError{Code: exitUsage, Err: err}
	}
	defer os.RemoveAll(next) // nothing, once it has its name
	if err := fillFolder(next, tables); err != nil {
		return err
	}
	if err := os.Rename(next, dir); err != nil {
		return err
	}
	return atomicfile.SyncFolder(filepath.Dir(filepath.Clean(dir)))
}

func fillFolder(dir string, tables []report.Table) error {
	for _, t := range tables {
		if err := atomicfile.Write(filepath.Join(dir, t.Name+".csv"), t.CSV()); err != nil {
			return err
		}
	}
	return nil
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
	text, err := json.Marshal(document)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.io.out, "%s\n", diag.ShownJSON(text))
	return err
}

// writeFile writes a file; that it cannot be written is the command line's fault.
func writeFile(path string, text []byte) error {
	if err := atomicfile.Write(path, text); err != nil {
		return &exitError{Code: exitUsage, Err: err}
	}
	return nil
}

// file is one that a command writes.
type file struct {
	name string
	text []byte
}

// writeFolder writes files to a folder, made where it is missing, and lists them.
func (a *app) writeFolder(dir string, files []file) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return &exitError{Code: exitUsage, Err: err}
	}
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		if err := writeFile(path, f.text); err != nil {
			return err
		}
		fmt.Fprintln(a.io.out, path)
	}
	return nil
}
