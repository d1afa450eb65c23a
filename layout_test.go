package bilevelc_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// layers says what each package may import of this project, by path prefix;
// a package that is not listed here has no place in the layout yet. The
// arrows run one way: language -> intermediate forms -> gradients -> compiled
// programs -> runtime -> command.
var layers = map[string][]string{
	"internal/each":             {},
	"internal/directed":         {},
	"internal/must":             {},
	"internal/sparse":           {},
	"internal/extended":         {"internal/sparse"},
	"internal/gram":             {},
	"internal/exact":            {},
	"internal/heap":             {},
	"internal/members":          {"internal/heap"},
	"internal/await":            {},
	"internal/jsonfault":        {},
	"lang/diag":                 {},
	"lang":                      {"lang/diag"},
	"parser":                    {"internal/await", "lang"},
	"stdlib":                    {"lang", "parser"},
	"ir/data":                   {"internal/sparse", "lang/diag"},
	"ir/datafile":               {"ir/data", "internal/sparse", "lang", "lang/diag"},
	"ir/expr":                   {"ir/data", "internal", "lang/diag"},
	"ir":                        {"ir/expr", "ir/data", "internal/extended", "internal/sparse", "lang"},
	"ir/elab":                   {"ir", "lang"},
	"ir/check":                  {"ir", "lang", "parser", "stdlib", "internal/await", "internal/sparse"},
	"ir/bind":                   {"ir", "lang", "parser", "stdlib", "internal/await", "internal/extended", "internal/sparse"},
	"ir/curvature":              {"ir", "lang", "internal/directed", "internal/extended", "internal/gram", "internal/sparse"},
	"autodiff":                  {"ir/expr", "ir/data", "internal/sparse", "lang/diag"},
	"codegen":                   {"autodiff", "ir", "lang", "internal"},
	"runtime/method":            {"lang/diag"},
	"runtime/status":            {"lang/diag"},
	"runtime/tolerance":         {},
	"runtime/problem":           {"internal/extended", "internal/sparse", "runtime/method", "runtime/tolerance"},
	"runtime/linalg":            {"internal/sparse", "internal/gram", "codegen/kernel", "runtime/tolerance"},
	"runtime/activeset":         {"internal/sparse", "runtime/linalg", "codegen/kernel", "runtime/tolerance"},
	"runtime/convex":            {"internal/sparse", "runtime/linalg", "runtime/tolerance"},
	"runtime/kkt":               {"internal/sparse", "runtime/activeset", "runtime/linalg", "runtime/problem", "runtime/tolerance"},
	"internal/kkttest":          {"internal/sparse", "runtime/problem"},
	"runtime/pieces":            {"internal/await", "internal/sparse", "runtime/activeset", "runtime/kkt", "runtime/linalg", "runtime/problem", "runtime/tolerance"},
	"runtime/sequential":        {"internal/extended", "internal/gram", "internal/sparse", "runtime/activeset", "runtime/kkt", "runtime/linalg", "runtime/pieces", "runtime/problem", "runtime/reduced", "runtime/tolerance"},
	"runtime/tree":              {"internal/await", "internal/sparse", "runtime/activeset", "runtime/kkt", "runtime/linalg", "runtime/problem", "runtime/status", "runtime/tolerance"},
	"runtime/reduced":           {"internal/gram", "internal/sparse", "runtime/activeset", "runtime/kkt", "runtime/linalg", "runtime/problem", "runtime/qp", "runtime/tolerance"},
	"runtime/qp":                {"internal/extended", "internal/sparse", "runtime/linalg", "runtime/convex", "runtime/problem", "runtime/tolerance"},
	"runtime/central":           {"internal/sparse", "runtime/linalg", "runtime/problem", "runtime/tolerance"},
	"runtime/relaxation":        {"internal/sparse", "runtime/linalg", "runtime/convex", "runtime/problem", "runtime/tolerance"},
	"runtime/lower":             {"internal/await", "internal/gram", "internal/sparse", "runtime/linalg", "runtime/convex", "runtime/problem", "runtime/qp", "runtime/method", "runtime/tolerance"},
	"runtime/oracle":            {"internal/sparse", "runtime/linalg", "runtime/convex", "runtime/problem", "runtime/qp", "runtime/method", "runtime/lower", "runtime/central", "runtime/tolerance"},
	"runtime/oracle/oracletest": {"internal/kkttest", "internal/sparse", "ir", "lang/diag", "parser", "runtime/compile", "runtime/linalg", "runtime/lower", "runtime/problem", "runtime/qp", "runtime/tolerance"},
	"runtime/outer":             {"internal/await", "internal/sparse", "runtime/linalg", "runtime/convex", "runtime/problem", "runtime/qp", "runtime/method", "runtime/lower", "runtime/central", "runtime/oracle", "runtime/status", "runtime/tolerance"},
	"runtime/paper":             {"runtime/convex", "runtime/linalg", "runtime/method", "runtime/outer", "runtime/problem", "runtime/tolerance"},
	"runtime/system":            {"internal/sparse", "runtime/activeset", "runtime/central", "runtime/certify", "runtime/document", "runtime/kkt", "runtime/linalg", "runtime/lower", "runtime/oracle", "runtime/outer", "runtime/pieces", "runtime/problem", "runtime/qp", "runtime/reduced", "runtime/relaxation", "runtime/sequential", "runtime/status", "runtime/tree", "runtime/tolerance"},
	"runtime/exchange":          {"internal/sparse", "ir/data", "lang/diag", "runtime/kkt", "runtime/tolerance"},
	"runtime/certify":           {"internal/directed", "internal/extended", "internal/sparse", "runtime/problem", "runtime/tolerance"},
	"runtime/named":             {"ir", "runtime/document", "runtime/linalg", "runtime/tolerance"},
	"runtime/compile":           {"autodiff", "codegen", "ir", "runtime/problem"},
	"runtime/input":             {"internal/sparse", "ir/data", "ir/datafile", "lang/diag", "runtime/document", "runtime/linalg", "runtime/tolerance"},
	"runtime/document":          {"internal/jsonfault", "ir", "lang", "runtime/certify", "runtime/problem", "runtime/status"},
	"internal/planted":          {"internal/sparse", "runtime/problem", "ir/data"},
	"runtime/chart":             {"lang/diag"},
	"runtime/report":            {"lang", "parser", "ir", "runtime"},
	"runtime/session":           {"lang", "parser", "ir", "internal/await", "runtime"},
	"runtime":                   {"internal/jsonfault", "internal/sparse", "internal/await", "lang", "parser", "ir", "autodiff", "codegen", "runtime"},
	"cmd/bilevelc":              {"cmd/internal/assist", "internal/atomicfile", "internal/await", "internal/heap", "cmd/internal/jupyter", "cmd/internal/lsp", "internal/planted", "cmd/internal/serve", "cmd/internal/sweep", "lang", "parser", "stdlib", "ir", "codegen", "runtime"},
	"bench":                     {""},

	"internal/atomicfile": {},

	// The front ends, above everything and imported by commands only; jupyter speaks a
	// protocol, and knows no language.
	"cmd/internal/assist":  {"lang", "parser", "stdlib", "ir", "runtime"},
	"cmd/internal/lsp":     {"cmd/internal/assist", "internal/jsonfault", "ir", "lang"},
	"cmd/internal/jupyter": {"internal/jsonfault"},
	"cmd/internal/serve":   {"internal/atomicfile", "internal/await", "internal/jsonfault", "internal/sparse", "ir", "lang", "runtime"},
	"cmd/internal/sweep":   {"internal/atomicfile", "internal/jsonfault", "ir/data", "ir/datafile", "lang/diag", "runtime"},

	// What judges the project imports nothing of it, but what judges it, too.
	"bench/campaign/truth": {"internal/exact"},
	"examples":             {"runtime", "lang/diag"},
}

// workshop holds what tests and studies are made of: nothing of the product may
// import it.
var workshop = []string{"bench", "internal/exact", "internal/kkttest", "internal/members", "ir/expr/exprtest", "runtime/oracle/oracletest"}

// onlyImporter names the one package that may import a library.
var onlyImporter = map[string]string{
	"github.com/alecthomas/participle/v2": "parser",
	"gorgonia.org/gorgonia":               "autodiff",
	"gorgonia.org/tensor":                 "autodiff",
	"github.com/sbinet/npyio":             "ir/datafile",
	"github.com/parquet-go/parquet-go":    "ir/datafile",
	"github.com/xuri/excelize/v2":         "ir/datafile",
	"github.com/spf13/cobra":              "cmd/bilevelc",
	"github.com/reeflective/readline":     "cmd/bilevelc",
	"github.com/cpuguy83/go-md2man/v2":    "cmd/bilevelc",
	"github.com/sourcegraph/jsonrpc2":     "cmd/internal/lsp",
	"github.com/go-zeromq/zmq4":           "cmd/internal/jupyter",
	"gonum.org/v1/plot":                   "bench",
	"github.com/guptarohit/asciigraph":    "runtime/chart",

	"github.com/nats-io/nats-server/v2":   "cmd/internal/sweep",
	"github.com/nats-io/nats.go":          "cmd/internal/sweep",
	"github.com/BurntSushi/toml":          "cmd/internal/sweep",
	"github.com/vbauerster/mpb/v8":        "cmd/bilevelc",
	"github.com/prometheus/client_golang": "examples",
}

func TestImportArrows(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") && file != ".") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		pkg := filepath.ToSlash(filepath.Dir(file))
		if pkg == "." {
			return nil
		}
		layer, allowed := layerOf(pkg)
		if layer == "" {
			t.Errorf("%s: package %s has no place in the layout (see layers)", file, pkg)
			return nil
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range tree.Imports {
			seen++
			imported, _ := strconv.Unquote(spec.Path.Value)
			if own, found := strings.CutPrefix(imported, "bilevelc/"); found {
				if !within(own, append(allowed, layer, "internal/each", "internal/must")) { // which are no more than a loop, and the return of an error
					t.Errorf("%s imports %s, which %s may not", file, imported, layer)
				}
				if within(own, workshop) && !within(pkg, workshop) {
					t.Errorf("%s imports %s, which is for tests", file, imported)
				}
				continue
			}
			for library, owner := range onlyImporter {
				if (imported == library || strings.HasPrefix(imported, library+"/")) && layer != owner {
					t.Errorf("%s imports %s; only %s may", file, imported, owner)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 100 {
		t.Fatalf("only %d imports found: the walk does not see the project", seen)
	}
}

// layerOf returns the longest listed prefix of a package path.
func layerOf(pkg string) (string, []string) {
	for p := pkg; p != "."; p = path.Dir(p) {
		if allowed, ok := layers[p]; ok {
			return p, allowed
		}
	}
	return "", nil
}

// within reports whether pkg is one of the allowed paths or below one.
func within(pkg string, allowed []string) bool {
	for _, a := range allowed {
		if a == "" || pkg == a || strings.HasPrefix(pkg, a+"/") {
			return true
		}
	}
	return false
}
