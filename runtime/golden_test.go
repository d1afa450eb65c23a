package runtime_test

import (
	"bytes"
	"context"
	"flag"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"bilevelc/ir/data"
	"bilevelc/ir/datafile"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
)

var update = flag.Bool("update", false, "rewrite the golden archives of testdata/golden")

// TestGolden compares every stage of each archive of testdata/golden: a model
// (model.blv), its data (data.json, optional), and one section a stage, which
// `go test ./runtime -run Golden -update` rewrites.
func TestGolden(t *testing.T) {
	archives, err := filepath.Glob("../testdata/golden/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no golden archives: ", err)
	}
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			now := &txtar.Archive{Comment: archive.Comment}
			var model, dataText []byte
			golden := map[string][]byte{}
			for _, f := range archive.Files {
				switch f.Name {
				case "model.blv":
					model = f.Data
					now.Files = append(now.Files, f)
				case "data.json":
					dataText = f.Data
					now.Files = append(now.Files, f)
				default:
					golden[f.Name] = f.Data
				}
			}
			for _, section := range stages(t, string(model), string(dataText)) {
				now.Files = append(now.Files, section)
				if !*update && !sameUpToRounding(string(golden[section.Name]), string(section.Data)) {
					t.Errorf("section %s differs; got:\n%s\nwant:\n%s", section.Name, section.Data, golden[section.Name])
				}
				delete(golden, section.Name)
			}
			if *update {
				if err := os.WriteFile(path, txtar.Format(now), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			for name := range golden {
				t.Errorf("the archive has a section %s that no stage gives", name)
			}
		})
	}
}

// stages runs a model through the compiler and gives each stage's text; where
// an error stops it, its diagnostics are the last section.
func stages(t *testing.T, text, dataText string) (out []txtar.File) {
	t.Helper()
	add := func(name, text string) {
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		out = append(out, txtar.File{Name: name, Data: []byte(text)})
	}
	failed := func(err error) []txtar.File {
		list, ok := err.(diag.List)
		if !ok {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := diag.Render(&b, list, diag.Style{}); err != nil {
			t.Fatal(err)
		}
		add("diagnostics", b.String())
		return out
	}
	model, err := runtime.Compile("model.blv", text)
	if err != nil {
		return failed(err)
	}
	set := &data.Set{}
	if dataText != "" {
		loaded, diags := datafile.Read(datafile.JSON, "data.json", dataText, "")
		if diags.HasErrors() {
			return failed(diags)
		}
		set = loaded
	}
	problem, err := model.BindSet(set, runtime.BindOptions{Seed: 1})
	if err != nil {
		return failed(err)
	}
	for _, stage := range runtime.Stages() {
		var b bytes.Buffer
		if err := stage.Dump(&b, problem); err != nil {
			t.Fatal(err)
		}
		add(stage.Name, b.String())
	}
	checked, err := model.Check(set, runtime.BindOptions{Seed: 1})
	if err != nil {
		return failed(err)
	}
	add("check", checked.Text(true))
	result, err := problem.Solve(context.Background(), runtime.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	add("solution", result.Status.String()+"\n"+valuesText(result.Upper.Variables)+valuesText(result.Lower.Variables)+
		valuesText(result.Lower.Multipliers)+valuesText(result.Report))
	return out
}

func valuesText(vs runtime.Values) string {
	var b strings.Builder
	for _, v := range vs {
		b.WriteString(v.Name)
		for _, f := range v.Data {
			if math.Abs(f) < 1e-7 {
				f = 0 // at the level of the solvers' tolerances
			}
			b.WriteString(" " + strconv.FormatFloat(f, 'g', 6, 64))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

var numeral = regexp.MustCompile(`[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?`)

// tolerance of numbers in goldens: solutions are printed with six digits and
// known to the outer methods' default targets, about 1e-6.
const tolerance = 1e-5

// sameUpToRounding compares two texts, numbers by tolerance.
func sameUpToRounding(a, b string) bool {
	if numeral.ReplaceAllString(a, "#") != numeral.ReplaceAllString(b, "#") {
		return false
	}
	x, y := numeral.FindAllString(a, -1), numeral.FindAllString(b, -1)
	for i := range x {
		u, _ := strconv.ParseFloat(x[i], 64)
		v, _ := strconv.ParseFloat(y[i], 64)
		if !(math.Abs(u-v) <= tolerance*(1+math.Abs(u))) {
			return false
		}
	}
	return true
}
