package bind

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"bilevelc/ir"
	"bilevelc/ir/check"
	"bilevelc/ir/data"
	"bilevelc/ir/datafile"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
	"bilevelc/parser"
)

const wide = `model wide
set row
set feature
set part = {r in row if split[r] == "train" or split[r] == split[KEY]}
data X: [row, feature] columns x1..x3, "sea level"
data y: [row] column "y (mm)"
data split: text[row]
data effect: [region]
data site: text[row]
set region
upper {
  var x: real in box(-1, 1)
  minimize sum(w) + x
}
lower {
  var w: [feature]
  minimize sumsq(w) + sum(r in part: X[r, :] * w * y[r] * effect[site[r]])
}
`

// wideTable is a table as people have them: its columns and rows in any order, with
// columns that the model does not read.
type wideTable struct {
	head []string
	rows [][]string
}

func (t *wideTable) csv() string {
	out := `"` + strings.Join(t.head, `","`) + "\"\n"
	for _, r := range t.rows {
		out += strings.Join(r, ",") + "\n"
	}
	return out
}

// files is the table in each format that tables come in.
func (t *wideTable) files(test *testing.T) map[string]string {
	test.Helper()
	book := excelize.NewFile()
	table := &data.Table{Rows: len(t.rows)}
	for j, name := range t.head {
		c := data.Column{Name: name}
		cell, _ := excelize.CoordinatesToCellName(j+1, 1)
		book.SetCellValue("Sheet1", cell, name)
		for i, row := range t.rows {
			cell, _ := excelize.CoordinatesToCellName(j+1, i+2)
			if v, err := strconv.ParseFloat(row[j], 64); err == nil {
				c.Cells = append(c.Cells, data.Cell{Text: row[j], Number: v, IsNumber: true})
				book.SetCellValue("Sheet1", cell, v)
			} else {
				c.Cells = append(c.Cells, data.Cell{Text: row[j]})
				book.SetCellValue("Sheet1", cell, row[j])
			}
		}
		table.Columns = append(table.Columns, c)
	}
	var sheet, pq bytes.Buffer
	if err := book.Write(&sheet); err != nil {
		test.Fatal(err)
	}
	if err := datafile.WriteTable(&pq, datafile.Parquet, table); err != nil {
		test.Fatal(err)
	}
	records := "["
	for i, row := range t.rows {
		if i > 0 {
			records += ","
		}
		records += "{"
		for j, name := range t.head {
			if j > 0 {
				records += ","
			}
			if _, err := strconv.ParseFloat(row[j], 64); err == nil {
				records += fmt.Sprintf("%q: %s", name, row[j])
			} else if row[j] == "" {
				records += fmt.Sprintf("%q: null", name)
			} else {
				records += fmt.Sprintf("%q: %q", name, row[j])
			}
		}
		records += "}"
	}
	return map[string]string{"t.csv": t.csv(), "t.xlsx": sheet.String(), "t.parquet": pq.String(), "t.json": records + "]"}
}

func supplyFile(t *testing.T, file, text string) *data.Set {
	t.Helper()
	set, list := datafile.Read(datafile.Auto, file, text, "")
	if list.HasErrors() {
		t.Fatal(list)
	}
	return set
}

// Wide columns, texts and the parts of sets that they select give what the rows of the
// table say, computed here without them, in every format and any order.
func TestWideTables(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	names := []string{"x1", "x2", "x3", "sea level"}
	regions := []string{"north", "south"}
	for range 20 {
		table := wideTable{head: []string{"note", "id", "x1", "x3", "sea level", "x2", "y (mm)", "split", "site"}}
		rng.Shuffle(len(table.head), func(i, j int) { table.head[i], table.head[j] = table.head[j], table.head[i] })
		n := 3 + rng.IntN(6)
		ids := rng.Perm(n)
		column := func(row []string, name string) string { return row[slices.Index(table.head, name)] }
		for k := range n {
			row := make([]string, len(table.head))
			for j, name := range table.head {
				switch name {
				case "id":
					row[j] = strconv.Itoa(100 + ids[k])
				case "note":
					row[j] = "as is"
				case "split":
					row[j] = []string{"train", "valid", "test"}[(k+rng.IntN(2))%3]
				case "site":
					row[j] = regions[rng.IntN(2)]
				default:
					row[j] = strconv.FormatFloat(float64(rng.IntN(64)-32)/8, 'f', -1, 64)
				}
			}
			table.rows = append(table.rows, row)
		}
		table.rows[0][slices.Index(table.head, "split")] = "train"
		effect := map[string]float64{"north": 2, "south": -0.5}
		first, want := column(table.rows[0], "split"), make([]float64, len(names))
		for _, row := range table.rows {
			if s := column(row, "split"); s != "train" && s != first {
				continue
			}
			y, _ := strconv.ParseFloat(column(row, "y (mm)"), 64)
			for j, name := range names {
				v, _ := strconv.ParseFloat(column(row, name), 64)
				want[j] += v * y * effect[column(row, "site")]
			}
		}
		text := strings.Replace(wide, "KEY", column(table.rows[0], "id"), 1)
		for file, body := range table.files(t) {
			set := supplyFile(t, file, body)
			set.Entries = append(set.Entries, supplyFile(t, "effect.csv", "region,effect\nnorth,2\nsouth,-0.5\n").Entries...)
			prob := mustBind(t, compile(t, "wide", text), set)
			got := make([]float64, len(names))
			for j := range names {
				w := make([]float64, len(names))
				w[j] = 1
				at := func(w []float64) float64 {
					v, err := expr.Eval(prob.Lower.Objective, []float64{0}, w)
					if err != nil {
						t.Fatal(err)
					}
					return v.Dense[0]
				}
				got[j] = at(w) - 1
			}
			if !slices.Equal(got, want) { // eighths: exact in doubles
				t.Errorf("%s\n%s\ngot %v, want %v", file, table.csv(), got, want)
			}
			for _, s := range prob.Sets {
				if s.Name == "feature" && fmt.Sprint(s.Axis.Labels) != "[[x1] [x2] [x3] [sea level]]" {
					t.Errorf("%s: features %v", file, s.Axis.Labels)
				}
			}
		}
	}
}

// What is wrong with wide tables and texts says where, and what to write.
func TestWideErrors(t *testing.T) {
	const head = "id,x1,x2,x3,sea level,y (mm),split,site\n"
	const good = head + "a,1,2,3,4,5,train,north\nb,1,2,3,4,5,valid,south\n"
	for _, c := range []struct {
		from, to   string // in the model
		table      string
		code       diag.Code
		at         string
		says, then string // in the summary, and in the detail or the fix
	}{
		{"", "", strings.Replace(good, "b,1,2", "b,1,", 1), diag.DataNotNumber, "t.csv:3:5", "`x2` has no value here", "1 of 2 rows have no value for `x2`: \"b\""},
		{"", "", strings.Replace(good, "b,1,2", "b,1,NA", 1), diag.DataNotNumber, "t.csv:3:5", "`x2` has no value here (`NA`)", "fill the values in"},
		{"", "", strings.Replace(good, "b,1,2", "b,1,nan", 1), diag.DataNotNumber, "t.csv:3:5", "`x2` has no value here (`nan`)", "leave the rows out"},
		{"", "", strings.Replace(good, "b,1,2", "b,1,inf", 1), diag.DataNotFinite, "t.csv:3:5", "`x2` is inf", ""},
		{"", "", strings.Replace(good, "valid", "", 1), diag.DataNotNumber, "t.csv:3:13", "`split` has no value here", ""},
		{"", "", strings.Replace(good, ",x2,", ",x_2,", 1), diag.BindTable, "t.csv:1:4", "has no column `x2`, which `X` is read from", "`x_2`"},
		{"", "", strings.Replace(good, ",x2,", ",x02,", 1), diag.BindTable, "t.csv:1:4", "has no column `x2`, which `X` is read from", "`x02`"},
		{"", "", strings.Replace(good, "north", "east", 1), diag.BindLabels, "wide:17:66", "`site[r]` is \"east\", which is not in `region`", "r = \"a\""},
		{`== "train"`, `== "trian"`, good, diag.BindLabels, "wide:4:37", "no entry of `split` is \"trian\"", "did you mean `\"train\"`"},
		{"data split: text[row]", "data split: vector[2]", good, diag.LabelAsNumber, "", "", "declare it as `data split: text[2]`"},
		{"columns x1..x3, \"sea level\"", "", good, diag.BindNoData, "wide:5:6", "`X` was not supplied", "`data X: [row, feature] columns x1, x2, x3, \"sea level\"`"},
		{" column \"y (mm)\"", "", strings.Replace(good, "y (mm)", "yy", 1), diag.BindExtra, "t.csv:1:23", "column `yy`", "write `column yy` behind its type"},
		{"set feature", "set feature = 1..3", good, diag.BindShape, "wide:5:6", "`X` is read from 4 columns, but its last dimension has 3 entries", ""},
		{"x1..x3, \"sea level\"", "x1..\"y (mm)\"", good, "", "", "", ""},
		{"x1..x3, \"sea level\"", "x1..site", good, diag.BindTable, "t.csv:1:23", "column `y (mm)` stands between `x1` and `site`", "either side"},
	} {
		text := strings.Replace(strings.Replace(wide, c.from, c.to, 1), " or split[r] == split[KEY]", "", 1)
		set := supplyFile(t, "t.csv", c.table)
		set.Entries = append(set.Entries, supplyFile(t, "effect.csv", "region,effect\nnorth,2\nsouth,-0.5\n").Entries...)
		file, list := parser.ParseFile(diag.NewSource("wide", text))
		if !list.HasErrors() {
			_, list = check.Check(file)
		}
		if !list.HasErrors() {
			_, list = Bind(compile(t, "wide", text), set, Options{Seed: 1})
		}
		if c.says == "" && c.then == "" { // up to a column that is data of its own: the ends are meant
			if list.HasErrors() {
				t.Errorf("%s: %v", c.to, list)
			}
			continue
		}
		found := false
		for _, d := range list {
			found = found || d.Code == c.code && (c.at == "" || d.Subject.String() == c.at) && strings.Contains(d.Summary, c.says) &&
				(strings.Contains(d.Detail, c.then) || strings.Contains(d.Fix, c.then))
		}
		if !found || len(list) > 2 {
			t.Errorf("%s -> %s\n%s\ngot %v\nwant %s at %s: %s ... %s", c.from, c.to, c.table, list, c.code, c.at, c.says, c.then)
			for _, d := range list {
				t.Logf("%s %s | %s | %s", d.Code, d.Subject, d.Detail, d.Fix)
			}
		}
	}
}

// The rows of a table without a column of labels are numbered; texts may also come as a
// list, by label, or from the model.
func TestTextsAndRows(t *testing.T) {
	const model = `model texts
set row
data y: [row]
data split: text[row]
set odd = {r in row if split[r] != "b"}
upper {
  var x: real in box(0, 1)
  minimize x + sum(r in odd: y[r])
}
lower { var z: real; minimize (z - x)^2 }
`
	for file, body := range map[string]string{
		"t.csv":  "y,split\n1,a\n2,b\n4,c\n",
		"t.json": `{"row": [1, 2, 3], "y": [1, 2, 4], "split": ["a", "b", "c"]}`,
		"k.json": `{"row": [1, 2, 3], "y": {"3": 4, "1": 1, "2": 2}, "split": {"2": "b", "1": "a", "3": 7}}`,
	} {
		prob := mustBind(t, compile(t, "texts", model), supplyFile(t, file, body))
		v, err := expr.Eval(prob.Upper.Objective, []float64{0}, []float64{0})
		if err != nil || v.Dense[0] != 5 {
			t.Errorf("%s: %v %v", file, v, err)
		}
		if s := prob.Sets[1]; fmt.Sprint(s.Axis.Labels) != "[[1] [3]]" {
			t.Errorf("%s: %v", file, s.Axis.Labels)
		}
	}
	plain := `model plain
param n: int
param rate: real = 2
data X: matrix[n, 3] columns x1..x3
data y: vector[n] column level
upper {
  var x: real in box(0, 1)
  minimize x + sum(X) + rate * sum(y)
}
lower { var z: real; minimize (z - x)^2 }
`
	prob := mustBind(t, compile(t, "plain", plain), supplyFile(t, "t.csv", "x3,x2,x1,level\n1,2,3,1\n4,5,6,2\n"))
	if v, err := expr.Eval(prob.Upper.Objective, []float64{0}, []float64{0}); err != nil || v.Dense[0] != 27 {
		t.Errorf("%v %v", v, err)
	}
	own := strings.Replace(strings.Replace(model, "text[row]", `text[row] = ["a", "b", "c"]`, 1), "set row", "set row = 1..3", 1)
	prob = mustBind(t, compile(t, "texts", own), supplyFile(t, "y.csv", "y\n1\n2\n4\n"))
	if v, err := expr.Eval(prob.Upper.Objective, []float64{0}, []float64{0}); err != nil || v.Dense[0] != 5 {
		t.Errorf("%v %v", v, err)
	}
}

// A set may be made of the pairs of others that a condition selects, and without data
// it stands for some of them.
func TestFilteredSets(t *testing.T) {
	const model = `model filtered
set city = {"Rome", "Oslo", "Riga"}
set hour = 6..8
data size: [city]
data load: [hour] = [1, 7, 8]
set pair = {a in city, b in city if ord(a) < ord(b) and size[a] > 1}
set late = {h in hour if h > 6}
set open within city * hour = {("Rome", 7), ("Oslo", 8)}
set seen = {(c, h) in open if size[c] > 2}
upper {
  var x: [pair] in box(0, 1)
  minimize sum(x) + sum((c, h) in seen: size[c] * h) + sum(h in late: load[h])
}
lower {
  var z: [late]
  minimize sumsq(z) - sum((a, b) in pair: x[a, b])
}
`
	set := &data.Set{}
	set.Add("size", data.Vector([]float64{2, 3, 1}), "test")
	prob := mustBind(t, compile(t, "filtered", model), set)
	got := diag.Join(prob.Sets, "", func(s ir.BoundSet) string { return fmt.Sprint(s.Name, s.Axis.Labels, " ") })
	for _, want := range []string{"pair[[Rome Oslo] [Rome Riga] [Oslo Riga]]", "late[[7] [8]]", "seen[[Oslo 8]]"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
	if v, err := expr.Eval(prob.Upper.Objective, []float64{0, 0, 0}, []float64{0, 0}); err != nil || v.Dense[0] != 24+15 {
		t.Errorf("%v %v", v, err)
	}
	if _, list := Bind(compile(t, "filtered", model), nil, Options{Abstract: true}); list.HasErrors() {
		t.Error(list)
	}
	if _, list := Bind(compile(t, "wide", strings.Replace(wide, ` or split[r] == split[KEY]`, "", 1)), nil, Options{Abstract: true}); list.HasErrors() {
		t.Error(list)
	}
}
