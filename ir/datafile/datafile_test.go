package datafile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bilevelc/internal/sparse"
	"bilevelc/ir/data"
	"bilevelc/lang/diag"
)

// good reads a text that must have no errors.
func good(t *testing.T, format Format, file, text, name string) *data.Set {
	t.Helper()
	set, list := Read(format, file, text, name)
	if len(list) > 0 {
		t.Fatalf("%s: %v", file, list)
	}
	return set
}

func TestGoodTexts(t *testing.T) {
	cases := []struct {
		label, file, text, name string
		want                    string // the set, as WriteJSON prints it
	}{
		{"scalars", "d.json", ` { "n" : 3, "a":-1.5e2 ,"z":0 } `, "", `{"n":3,"a":-150,"z":0}`},
		{"arrays", "d.json", "\ufeff{\"c\": [1, 2.5],\n\"P\": [[1,2],[3,4],[5,6]], \"e\": [], \"w\": [[],[]]}", "", `{"c":[1,2.5],"P":[[1,2],[3,4],[5,6]],"e":[],"w":[[],[]]}`},
		{"escaped name", "d.json", `{"\u0063": 1}`, "", `{"c":1}`},
		{"one member", "d.json", `{"note": {"deep": [[["x"]]]}, "c": [1]}`, "c", `{"c":[1]}`},
		{"labels", "d.json", `{"s": ["a", 2], "t": [["a", "b"], ["c", 7]]}`, "", `{"s":["a","2"],"t":[["a","b"],["c","7"]]}`},
		{"by label", "d.json", `{"c": {"a": 1, "b": {"d": 2, "e": -3}}}`, "", `{"c":{"a":1,"b":{"d":2,"e":-3}}}`},
		{"records", "d.json", `{"t": [{"a": "x", "n": 1}, {"n": 2.5, "z": null}]}`, "", `{"t":[{"a":"x","n":1},{"n":2.5}]}`},
		{"three dimensions", "d.json", `{"T": [[[1, 2]], [[3, 4]]]}`, "", `{"T":[[[1,2]],[[3,4]]]}`},
		{"table", "roads.csv", "from,to,cost\nA,\"B\",3\nB,C,4\n", "", `{"roads":[{"from":"A","to":"B","cost":3},{"from":"B","to":"C","cost":4}]}`},
		{"header alone", "t.csv", "a,b\n", "", `{"t":[]}`},
		{"bare array", "d.json", `[1, 2]`, "c", `{"c":[1,2]}`},
		{"bare number", "d.json", `7`, "n", `{"n":7}`},
		{"vector", "t.csv", "1\n2\n-3e-1\n", "", `{"t":[1,2,-0.3]}`},
		{"header", "t.csv", "temperature\r\n1\r\n2", "", `{"t":[1,2]}`},
		{"matrix", "X.csv", "a,\"b, c\"\n1, 2\n3 ,\"4\"\n\n", "", `{"X":[[1,2],[3,4]]}`},
		{"comment", "X.csv", "# made by hand\n+1,.5\n", "", `{"X":[[1,0.5]]}`},
		{"comments in a table", "t.csv", "# a, b\na,b\n## x,1\nu,1\n#\n#note\n# v,2\n", "", `{"t":[{"a":"u","b":1}]}`},
		{"comment in numbers", "t.csv", "1\n#2\n3\n", "", `{"t":[1,3]}`},
		{"number sign in quotes", "t.csv", "a,b\n\"#1\",5\nv,2\n", "", `{"t":[{"a":"#1","b":5},{"a":"v","b":2}]}`},
		{"semicolons", "X.csv", "1;2\n3;4\n", "", `{"X":[[1,2],[3,4]]}`},
		{"tabs", "X.tsv", "u\tv\n1\t2\n", "", `{"X":[[1,2]]}`},
		{"sniffed", "numbers.txt", "1\n2\n", "t", `{"t":[1,2]}`},
		{"sniffed JSON", "-", `{"n": 1}`, "", `{"n":1}`},
		{"coordinate", "A.mtx", "%%MatrixMarket matrix coordinate real general\n% note\n2 3 3\n2 1 4\n1 3 -1e0\n1 1 2\n", "", `{"A":[[2,0,-1],[4,0,0]]}`},
		{"pattern", "A.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n", "", `{"A":[[0,1,0],[1,0,0],[0,0,1]]}`},
		{"skew", "A.mtx", "%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 5\n", "", `{"A":[[0,-5],[5,0]]}`},
		{"array", "A.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", "", `{"A":[[1,3],[2,4]]}`},
		{"array vector", "b.mtx", "%%MatrixMarket MATRIX Array Real General\n2 1\n1\n2\n", "", `{"b":[1,2]}`},
		{"array symmetric", "A.mtx", "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n", "", `{"A":[[1,2],[2,3]]}`},
		{"array skew", "A.mtx", "%%MatrixMarket matrix array real skew-symmetric\n2 2\n2\n", "", `{"A":[[0,-2],[2,0]]}`},
	}
	for _, c := range cases {
		t.Run(c.label, func(t *testing.T) {
			set := good(t, Auto, c.file, c.text, c.name)
			got := new(bytes.Buffer)
			if err := json.Compact(got, WriteJSON(nil, set)); err != nil {
				t.Fatal(err)
			}
			if got.String() != c.want {
				t.Errorf("read %s, want %s", got, c.want)
			}
		})
	}
}

func TestSparseStaysSparse(t *testing.T) {
	text := "%%MatrixMarket matrix coordinate real general\n1000000 1000000 1\n500000 3 2.5\n"
	a := good(t, Auto, "A.mtx", text, "").Get("A").Array
	if a.Sparse == nil || a.Dense != nil || a.Sparse.NNZ() != 1 || a.Sparse.RowDot(499999, []float64{0, 0, 2, 0}) != 5 {
		t.Errorf("not the sparse matrix that was written")
	}
}

func TestBadTexts(t *testing.T) {
	const mtx = "%%MatrixMarket matrix coordinate real general\n"
	cases := []struct {
		label, file, text, name string
		code                    diag.Code
		at                      string // file:line:column, "?" where there is none
		says                    string
	}{
		{"empty", "d.json", "", "", diag.DataJSON, "d.json:1:1", "empty"},
		{"not an object", "d.json", "[1]", "", diag.DataJSON, "d.json:1:1", "not an object"},
		{"no colon", "d.json", `{"n" 1}`, "", diag.DataJSON, "d.json:1:6", "no colon"},
		{"no value", "d.json", `{"n": }`, "", diag.DataJSON, "d.json:1:7", "value of n"},
		{"truncated", "d.json", "{\"c\": [1,\n 2", "", diag.DataJSON, "d.json:2:3", "ends early"},
		{"truncated string", "d.json", `{"c`, "", diag.DataJSON, "d.json:1:2", "inside a string"},
		{"text after", "d.json", `{} {}`, "", diag.DataJSON, "d.json:1:4", "after the end"},
		{"bad escape", "d.json", `{"\q": 1}`, "", diag.DataJSON, "d.json:1:2", "valid JSON string"},
		{"trailing comma", "d.json", `{"c": [1,]}`, "", diag.DataJSON, "d.json:1:10", "c[2]"},
		{"string", "d.json", `{"c": [1, "two"]}`, "", diag.DataNotNumber, "d.json:1:11", "c[2] is the string `two`"},
		{"word", "d.json", `{"P": [[1, true]]}`, "", diag.DataNotNumber, "d.json:1:12", "P[1, 2] is `true`"},
		{"null", "d.json", `{"n": null}`, "", diag.DataNotNumber, "d.json:1:7", "n is missing"},
		{"list by label", "d.json", `{"n": {"a": [1]}}`, "", diag.DataRank, "d.json:1:13", "n is a list"},
		{"label twice", "d.json", `{"n": {"a": 1, "a": 2}}`, "", diag.DataDuplicate, "d.json:1:16", "n has \"a\" twice"},
		{"label a fraction", "d.json", `{"s": ["a", 1.5]}`, "", diag.DataNotNumber, "d.json:1:13", "a label is a text or an integer"},
		{"label null", "d.json", `{"s": ["a", null]}`, "", diag.DataNotNumber, "d.json:1:13", "s[2] is missing"},
		{"nested record", "d.json", `{"t": [{"a": [1]}]}`, "", diag.DataNotNumber, "d.json:1:14", "a of record 1 is a list"},
		{"member twice", "d.json", "{\"t\": [{\"a\": 1},\n{\"a\": null, \"a\": 2}]}", "", diag.DataDuplicate, "d.json:2:13", "record 2 has \"a\" twice"},
		{"empty record", "d.json", `{"t": [{}, {"a": 1}]}`, "", diag.DataJSON, "d.json:1:8", "the first record of t has no members"},
		{"no record", "d.json", `{"t": [{"a": 1}, 2]}`, "", diag.DataNotNumber, "d.json:1:18", "record 2 of t is no object"},
		{"plus", "d.json", `{"n": +1}`, "", diag.DataNotNumber, "d.json:1:7", "JSON does not allow"},
		{"leading zero", "d.json", `{"n": 01}`, "", diag.DataNotNumber, "d.json:1:7", "JSON does not allow"},
		{"no fraction", "d.json", `{"n": 1.}`, "", diag.DataNotNumber, "d.json:1:7", "JSON does not allow"},
		{"hexadecimal", "d.json", `{"n": 0x10}`, "", diag.DataNotNumber, "d.json:1:7", "not a number"},
		{"NaN", "d.json", `{"c": [1, NaN]}`, "", diag.DataNotFinite, "d.json:1:11", "c[2] is `NaN`"},
		{"quoted infinity", "d.json", `{"c": ["-Infinity"]}`, "", diag.DataNotFinite, "d.json:1:9", "c[1]"},
		{"overflow", "d.json", `{"n": 1e999}`, "", diag.DataNotFinite, "d.json:1:7", "range of a double"},
		{"duplicate", "d.json", "{\"n\": 1,\n \"n\": 2}", "", diag.DataDuplicate, "d.json:2:2", "n is given twice"},
		{"ragged", "d.json", "{\"P\": [[1, 2],\n [3]]}", "", diag.DataRagged, "d.json:2:2", "row 2 of P has 1 entry, where its first row has 2"},
		{"mixed", "d.json", `{"P": [1, [2]]}`, "", diag.DataRagged, "d.json:1:7", "P mixes"},
		{"deep", "d.json", `{"P": [[1, [1]]]}`, "", diag.DataRank, "d.json:1:12", "P[1, 2] is a list"},
		{"deep ragged", "d.json", `{"P": [[[1], [2, 3]]]}`, "", diag.DataRagged, "d.json:1:7", "different lengths"},
		{"very deep", "d.json", `{"P": ` + strings.Repeat("[", 1e6), "", diag.DataRank, "d.json:1:23", "deeper than 16"},
		{"no such member", "d.json", `{"n": 1}`, "m", diag.DataNoName, "?", "no member m"},
		{"no member at all", "d.json", `{}`, "m", diag.DataNoName, "?", "it has none"},
		{"broken other member", "d.json", `{"n": [1}, "m": 2}`, "m", diag.DataJSON, "d.json:1:7", "value of n"},

		{"CSV empty", "t.csv", "\n\n", "", diag.DataCSV, "t.csv:1:1", "no numbers"},
		{"CSV Latin-1", "t.csv", "s,c\nA,1\nK\xf6ln,2\n", "", diag.DataCSV, "t.csv:3:2", "not UTF-8: here is the byte 0xf6"},
		{"CSV UTF-16", "t.csv", "\xff\xfes\x00\n\x00", "", diag.DataCSV, "?", "it may be UTF-16"},
		{"JSON Latin-1", "d.json", "{\"s\": [\"\ufffd\", \"K\xf6ln\"]}", "", diag.DataJSON, "d.json:1:15", "not UTF-8"},
		{"CSV table ragged", "t.csv", "s,c\nA,1\nB,2\nC,3,4\nD,5\n", "", diag.DataRagged, "t.csv:4:1", "this row has 3 entries, where the first line has 2"},
		{"CSV table quote", "t.csv", "s,c\nA,1\n\"B,2\nC,3\n", "", diag.DataCSV, "t.csv:3:1", "not closed"},
		{"CSV word", "X.csv", "1,2\n3,x\n", "", diag.DataNotNumber, "X.csv:2:3", "X[2, 2] is `x`"},
		{"CSV word in first line", "X.csv", "1,x\n3,4\n", "", diag.DataNotNumber, "X.csv:1:3", "X[1, 2] is `x`"},
		{"CSV missing", "X.csv", "1,2\n3,\n", "", diag.DataNotNumber, "X.csv:2:3", "X[2, 2] is missing"},
		{"CSV NA first", "t.csv", "NA\n1\n", "", diag.DataNotNumber, "t.csv:1:1", "t[1] is missing"},
		{"CSV nan", "t.csv", "1\nnan\n", "", diag.DataNotFinite, "t.csv:2:1", "t[2] is `nan`"},
		{"CSV ragged", "X.csv", "1,2\n3\n", "", diag.DataRagged, "X.csv:2:1", "row 2 of X has 1 entry"},
		{"CSV blank line", "t.csv", "1\n\n3\n", "", diag.DataCSV, "t.csv:2:1", "blank line"},
		{"CSV comment or row", "t.csv", "a,b\nu,1\n#1,5\n", "", diag.DataCSV, "t.csv:3:1", "as many entries as a row"},
		{"CSV comment or header", "t.csv", "#a,b\nu,1\n", "", diag.DataCSV, "t.csv:1:1", "has no header"},
		{"CSV index column", "X.csv", ",a\n0,1\n", "", diag.DataCSV, "X.csv:1:1", "column 1 has no name"},
		{"CSV quote", "X.csv", "1,\"2\n", "", diag.DataCSV, "X.csv:1:3", "not closed"},
		{"CSV after quote", "X.csv", "\"1\"x,2\n", "", diag.DataCSV, "X.csv:1:1", "after a closing quote"},
		{"CSV decimal comma", "X.csv", "1,5;2\n", "", diag.DataNotNumber, "X.csv:1:1", "`1,5`"},
		{"CSV name", "my-data.csv", "1\n", "", diag.DataNoName, "?", "name does not say"},

		{"mtx banner", "A.mtx", "1 2 3\n", "", diag.DataMatrixMarket, "A.mtx:1:1", "not a MatrixMarket banner"},
		{"mtx complex", "A.mtx", "%%MatrixMarket matrix coordinate complex general\n", "", diag.DataElementType, "A.mtx:1:1", "complex"},
		{"mtx no sizes", "A.mtx", mtx, "", diag.DataSize, "A.mtx:2:1", "before its sizes"},
		{"mtx two sizes", "A.mtx", mtx + "2 2\n", "", diag.DataMatrixMarket, "A.mtx:2:1", "2 sizes where 3"},
		{"mtx negative", "A.mtx", mtx + "2 -2 0\n", "", diag.DataMatrixMarket, "A.mtx:2:3", "not a size"},
		{"mtx huge", "A.mtx", mtx + "2 1000000000000 0\n", "", diag.DataSize, "A.mtx:2:1", "claims to be"},
		{"mtx huge count", "A.mtx", mtx + "2 2 1000000000000\n", "", diag.DataSize, "A.mtx:2:1", "1000000000000 entries"},
		{"mtx outside", "A.mtx", mtx + "2 2 1\n3 1 1\n", "", diag.DataMatrixMarket, "A.mtx:3:1", "`3` is not a row"},
		{"mtx zero", "A.mtx", mtx + "2 2 1\n1 0 1\n", "", diag.DataMatrixMarket, "A.mtx:3:3", "`0` is not a column"},
		{"mtx truncated", "A.mtx", mtx + "2 2 2\n1 1 1\n", "", diag.DataSize, "A.mtx:4:1", "ends after 1"},
		{"mtx more", "A.mtx", mtx + "2 2 1\n1 1 1\n2 2 2\n", "", diag.DataSize, "A.mtx:4:1", "more entries"},
		{"mtx twice", "A.mtx", mtx + "2 2 2\n1 1 1\n1 1 2\n", "", diag.DataDuplicate, "A.mtx:4:1", "A[1, 1] is given twice"},
		{"mtx word", "A.mtx", mtx + "2 2 1\n1 1 one\n", "", diag.DataNotNumber, "A.mtx:3:5", "A[1, 1] is `one`"},
		{"mtx inf", "A.mtx", mtx + "2 2 1\n1 1 inf\n", "", diag.DataNotFinite, "A.mtx:3:5", "A[1, 1]"},
		{"mtx upper", "A.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 2 1\n", "", diag.DataMatrixMarket, "A.mtx:3:1", "wrong side"},
		{"mtx not square", "A.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n1 2 1\n", "", diag.DataMatrixMarket, "A.mtx:2:1", "symmetric matrix of 2 x 3"},
		{"mtx fraction", "A.mtx", "%%MatrixMarket matrix array integer general\n1 1\n1.5\n", "", diag.DataMatrixMarket, "A.mtx:3:1", "in a file of integers"},
		{"mtx inexact", "A.mtx", "%%MatrixMarket matrix array integer general\n1 1\n9007199254740993\n", "", diag.DataInexact, "A.mtx:3:1", "no double holds exactly"},
		{"mtx array short", "A.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n", "", diag.DataSize, "A.mtx:4:1", "before A[2, 1]"},
	}
	for _, c := range cases {
		t.Run(c.label, func(t *testing.T) {
			set, list := Read(Auto, c.file, c.text, c.name)
			if len(list) == 0 || !list.HasErrors() {
				t.Fatalf("no error; read %s", WriteJSON(nil, set))
			}
			d := list[0]
			if d.Code != c.code || d.Subject.String() != c.at || !strings.Contains(d.Summary+"\n"+d.Detail, c.says) {
				t.Errorf("got %s %s %q, want %s %s %q", d.Code, d.Subject, d.Summary, c.code, c.at, c.says)
			}
			if strings.HasPrefix(c.label, "CSV table") && len(list) > 1 {
				t.Errorf("one fault gives %v", list)
			}
			if d.Subject.IsZero() && !strings.Contains(d.Summary, c.file) {
				t.Errorf("%q does not name the file", d.Summary)
			}
			if len(set.Entries) > 0 {
				t.Errorf("a broken file gave arrays")
			}
		})
	}
}

// A file with many mistakes shows them all up to the limit, and counts the
// rest.
func TestAllErrorsUpToALimit(t *testing.T) {
	_, list := Read(Auto, "X.csv", "1,2\nx,y\n3,z\n", "")
	if len(list) != 3 {
		t.Errorf("%d errors, want 3: %v", len(list), list)
	}
	_, list = Read(Auto, "t.csv", "1\n"+strings.Repeat("x\n", 1000), "")
	if len(list) != maxErrors+1 || !strings.Contains(list[maxErrors].Summary, "990 more") {
		t.Errorf("%d diagnostics, the last %q", len(list), list[len(list)-1].Summary)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	csv := write("X.csv", "1,2\n")
	set, list := Load(csv, nil)
	if len(list) > 0 || set.Get("X") == nil || set.Get("X").Origin != csv {
		t.Errorf("X.csv: %v %v", set, list)
	}
	set, list = Load("W="+csv, nil)
	if len(list) > 0 || set.Get("W") == nil {
		t.Errorf("W=X.csv: %v %v", set, list)
	}
	set, list = Load("-", strings.NewReader("{\"n\":\n 2}"))
	if len(list) > 0 || set.Get("n").Array.Dense[0] != 2 || set.Get("n").Origin != "-:1" {
		t.Errorf("-: %v %v", set, list)
	}
	for _, missing := range []string{filepath.Join(dir, "none.json"), dir} {
		_, list = Load(missing, nil)
		if len(list) != 1 || list[0].Code != diag.DataUnreadable || !strings.Contains(list[0].Summary, missing) {
			t.Errorf("%s: %v", missing, list)
		}
	}
	odd := write("a-b=c.json", `{"n": 1}`)
	if set, list = Load(odd, nil); len(list) > 0 || set.Get("n") == nil {
		t.Errorf("a file with = in its path: %v", list)
	}
}

func TestParseSet(t *testing.T) {
	for arg, want := range map[string]*data.Array{
		"n=10":               data.Scalar(10),
		"größe=10":           data.Scalar(10),
		" rate = -2.5e-3":    data.Scalar(-2.5e-3),
		"w=[1, 2.5]":         data.Vector([]float64{1, 2.5}),
		"A=[[1, 0], [0, 1]]": data.Matrix(2, 2, []float64{1, 0, 0, 1}),
	} {
		set, list := ParseSet(arg)
		if len(list) > 0 || len(set.Entries) != 1 {
			t.Errorf("%s: %v", arg, list)
			continue
		}
		e := set.Entries[0]
		if e.Name != strings.TrimSpace(arg[:strings.IndexByte(arg, '=')]) || e.Origin != "--set "+arg || !reflect.DeepEqual(e.Array, want) {
			t.Errorf("%s: read %v", arg, e)
		}
	}
	for arg, code := range map[string]diag.Code{
		"n": diag.DataSpec, "=3": diag.DataSpec, "n=": diag.DataSpec, "2n=3": diag.DataSpec,
		"n=ten": diag.DataNotNumber, "n=nan": diag.DataNotFinite, "w=[1": diag.DataJSON, "w=[1, [2]]": diag.DataRagged,
	} {
		if _, list := ParseSet(arg); !list.HasErrors() || list[0].Code != code {
			t.Errorf("%s: %v, want %s", arg, list, code)
		}
	}
}

// The numbers of the committed reference models are those that encoding/json
// reads, bit for bit.
func TestAgainstEncodingJSON(t *testing.T) {
	files, err := filepath.Glob("../../testdata/models/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no model data: %v", err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".ref.json") {
			continue // references hold notes beside numbers
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var want map[string]any
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		set := good(t, Auto, file, string(text), "")
		if len(set.Entries) != len(want) {
			t.Errorf("%s: %d arrays, want %d", file, len(set.Entries), len(want))
		}
		for name, w := range want {
			if got := set.Get(name); got == nil || !reflect.DeepEqual(got.Array.Dense, flatten(nil, w)) {
				t.Errorf("%s: %s differs", file, name)
			}
		}
	}
}

func flatten(dst []float64, v any) []float64 {
	if list, ok := v.([]any); ok {
		for _, e := range list {
			dst = flatten(dst, e)
		}
		return dst
	}
	return append(dst, v.(float64))
}

// What WriteJSON writes reads back bit for bit, and is JSON.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Custom(func(t *rapid.T) float64 {
			v := math.Float64frombits(rapid.Uint64().Draw(t, "bits"))
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return 0
			}
			return v
		})
		set := &data.Set{}
		m, n := rapid.IntRange(1, 5).Draw(t, "m"), rapid.IntRange(0, 5).Draw(t, "n")
		set.Add("s", data.Scalar(number.Draw(t, "s")), "")
		set.Add("v", data.Vector(rapid.SliceOfN(number, n, n).Draw(t, "v")), "")
		set.Add("M", data.Matrix(m, n, rapid.SliceOfN(number, m*n, m*n).Draw(t, "M")), "")
		text := WriteJSON(nil, set)
		if !json.Valid(text) {
			t.Fatalf("not JSON: %s", text)
		}
		back, list := Read(JSON, "d.json", string(text), "")
		if len(list) > 0 {
			t.Fatal(list)
		}
		for i, e := range set.Entries {
			b := back.Entries[i]
			if b.Name != e.Name || len(b.Array.Shape) != len(e.Array.Shape) || !sameBits(b.Array.Dense, e.Array.Dense) {
				t.Fatalf("%s: wrote %v, read %v", e.Name, e.Array, b.Array)
			}
		}
	})
}

// writeMatrixMarket appends a matrix to dst in the MatrixMarket exchange
// format: the stored entries of a sparse one by place, a dense one (or a
// vector) column by column. Reading it gives the same array; a dense matrix of
// one column reads as a vector.
func writeMatrixMarket(dst []byte, a *data.Array) []byte {
	rows, cols := 1, 1
	if a.Rank() > 0 {
		rows = a.Shape[0]
	}
	if a.Rank() > 1 {
		cols = a.Shape[1]
	}
	if m := a.Sparse; m != nil {
		dst = fmt.Appendf(dst, "%s matrix coordinate real general\n%d %d %d\n", mtxBanner, rows, cols, m.NNZ())
		for i := range rows {
			columns, values := m.Row(i)
			for k, j := range columns {
				dst = append(appendNumber(fmt.Appendf(dst, "%d %d ", i+1, j+1), values[k]), '\n')
			}
		}
		return dst
	}
	dst = fmt.Appendf(dst, "%s matrix array real general\n%d %d\n", mtxBanner, rows, cols)
	for j := range cols {
		for i := range rows {
			dst = append(appendNumber(dst, a.Dense[i*cols+j]), '\n')
		}
	}
	return dst
}

func TestMatrixMarketRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, n := rapid.IntRange(0, 6).Draw(t, "m"), rapid.IntRange(2, 6).Draw(t, "n")
		values := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 0, 1, -2.5e-7, 1e300}), m*n, m*n).Draw(t, "values")
		for _, a := range []*data.Array{data.Matrix(m, n, values), data.SparseMatrix(sparse.FromDense(m, n, values)), data.Vector(values)} {
			set, list := Read(MatrixMarket, "a.mtx", string(writeMatrixMarket(nil, a)), "")
			if len(list) > 0 {
				t.Fatal(list)
			}
			b := set.Get("a").Array
			if !reflect.DeepEqual(a.Shape, b.Shape) || !sameBits(a.Values(), b.Values()) || (a.Sparse == nil) != (b.Sparse == nil) {
				t.Fatalf("wrote %v, read %v", a, b)
			}
			if a.Sparse != nil && a.Sparse.NNZ() != b.Sparse.NNZ() {
				t.Fatalf("wrote %d entries, read %d", a.Sparse.NNZ(), b.Sparse.NNZ())
			}
		}
	})
}

func sameBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(u, v float64) bool { return math.Float64bits(u) == math.Float64bits(v) })
}
