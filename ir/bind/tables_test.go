package bind

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bilevelc/ir"
	"bilevelc/ir/data"
	"bilevelc/ir/datafile"
	"bilevelc/lang/diag"
)

const transport = `model transport
set node
set arc(from, to) within node * node
set hour
data supply: [node]
data cost: [arc]
data capacity: [arc]
data price: [node, hour]
data weight: vector[n]
param n: int
upper {
  var x: [arc] in box(0, 1)
  minimize sum(x) + sum(flow) + sum(price) + sum(weight)
}
lower {
  var flow: [arc] in nonneg
  minimize sum((i, j) in arc: (cost[i, j] + x[i, j]) * flow[i, j] + flow[i, j]^2)
  subject to
    balance: forall k in node: sum((i, j) in arc if i == k: flow[i, j]) - sum((i, j) in arc if j == k: flow[i, j]) <= supply[k]
    flow <= capacity
}
`

var transportTables = map[string]string{
	"nodes.csv":   "node;supply\nRome;3\nOslo;-1\nRiga;-2\n",
	"roads.csv":   "cost,from,to,capacity\n1,Rome,Oslo,5\n2,Rome,Riga,6\n3.5,Oslo,Riga,7\n",
	"prices.csv":  "hour,node,price\nnoon,Rome,1\nnoon,Oslo,2\nnoon,Riga,3\nnight,Riga,6\nnight,Oslo,5\nnight,Rome,4\n",
	"weights.csv": "weight\n1\n2\n3\n4\n",
}

// tableSet reads tables, some replaced, as --data does.
func tableSet(t *testing.T, replaced map[string]string) *data.Set {
	t.Helper()
	set := &data.Set{}
	for _, file := range []string{"nodes.csv", "roads.csv", "roads.json", "prices.csv", "weights.csv"} {
		text, other := replaced[file]
		if !other {
			text = transportTables[file]
		}
		if text == "" {
			continue
		}
		more, list := datafile.Read(datafile.Auto, file, text, "")
		if list.HasErrors() {
			t.Fatal(list)
		}
		set.Entries = append(set.Entries, more.Entries...)
	}
	return set
}

// Tables give sets in the order of their rows and arrays by column, whatever
// the order of the columns and of the rows.
func TestTables(t *testing.T) {
	prob := mustBind(t, compile(t, "transport", transport), tableSet(t, nil))
	got := map[string][]float64{}
	for _, d := range prob.Data {
		got[d.Name] = d.Array.Values()
	}
	want := map[string][]float64{"supply": {3, -1, -2}, "cost": {1, 2, 3.5}, "capacity": {5, 6, 7}, "weight": {1, 2, 3, 4}, "n": {4},
		"price": {1, 4, 2, 5, 3, 6}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	sets := diag.Join(prob.Sets, "", func(s ir.BoundSet) string { return fmt.Sprintf("%s %v %s\n", s.Name, s.Axis.Labels, s.Origin) })
	if want := "node [[Rome] [Oslo] [Riga]] nodes.csv\narc [[Rome Oslo] [Rome Riga] [Oslo Riga]] roads.csv\nhour [[noon] [night]] prices.csv\n"; sets != want {
		t.Errorf("got %s\nwant %s", sets, want)
	}
}

// Without a table of the nodes, they are those that the arcs name, in order of
// appearance; key columns of other names are taken where they are clear.
func TestTablesWithoutNames(t *testing.T) {
	text := strings.Replace(transport, "(from, to)", "", 1)
	text = strings.Replace(strings.Replace(text, "data supply: [node]\n", "", 1), "<= supply[k]", "<= 1", 1)
	set := tableSet(t, map[string]string{"nodes.csv": "", "roads.csv": "tail,head,cost,capacity\nRome,Oslo,1,5\nOslo,Riga,3.5,7\n"})
	prob := mustBind(t, compile(t, "transport", text), set)
	if got := fmt.Sprint(prob.Sets[0].Axis.Labels, prob.Sets[1].Axis.Labels); got != "[[Rome] [Oslo] [Riga]] [[Rome Oslo] [Oslo Riga]]" {
		t.Errorf("%s", got)
	}
}

// A column that numbers the rows is fine.
func TestTableWithRowNumbers(t *testing.T) {
	for _, name := range []string{"id", "Id", "ID"} {
		set := tableSet(t, map[string]string{"roads.csv": name + ",from,to,cost,capacity\n1,Rome,Oslo,1,5\n2,Rome,Riga,2,6\n3,Oslo,Riga,3,7\n"})
		if prob := mustBind(t, compile(t, "transport", transport), set); prob.Sets[1].Axis.Size != 3 {
			t.Errorf("%v", prob.Sets)
		}
	}
}

// What is wrong with a table is reported at the file, the row and the column.
func TestTableErrors(t *testing.T) {
	for _, c := range []struct {
		file, text string
		code       diag.Code
		at, says   string
	}{
		{"roads.csv", "from,to,cost,capacity\nRome,Oslo,1,5\nRome,Riga,two,6\n", diag.DataNotNumber, "roads.csv:3:11", "`cost` is `two`"},
		{"roads.csv", "from,to,cost,capacity\nRome,Oslo,two,6\n", diag.DataNotNumber, "roads.csv:2:11", "if the column holds texts"},
		{"roads.csv", "from;to;cost;capacity\nRome;Oslo;1;6\nRome;Riga;5,5;6\n", diag.DataNotNumber, "roads.csv:3:11", "write numbers with a decimal point"},
		{"roads.csv", "from,to,cost,capacity\nRome,Oslo,$5,6\n", diag.DataNotNumber, "roads.csv:2:11", "write numbers with a decimal point"},
		{"roads.csv", "from,to,cost,capacity\nRome,Oslo,\"1,200\",6\n", diag.DataNotNumber, "roads.csv:2:12", "write numbers with a decimal point"},
		{"roads.csv", "from,to,cost,capacity,cost\nRome,Oslo,1,5,2\n", diag.DataDuplicate, "roads.csv:1:23", "roads.csv has two columns `cost`"},
		{"roads.csv", "from,to,cost,capacity,from\nRome,Oslo,1,5,Riga\n", diag.DataDuplicate, "roads.csv:1:23", "has two columns `from`"},
		{"roads.csv", "from,to,cost,capacity\nRome,Oslo,,5\n", diag.DataNotNumber, "roads.csv:2:11", "`cost` has no value here"},
		{"roads.json", "[{\"from\": \"Rome\", \"to\": \"Oslo\", \"capacity\": 1},\n{\"from\": \"Rome\", \"to\": \"Riga\", \"capacity\": 1, \"cost\": 1}]", diag.DataNotNumber, "roads.json:1:2", "`cost` has no value here"},
		{"roads.json", "[{\"from\": \"Rome\", \"to\": \"Oslo\", \"capacity\": 1, \"cost\": 1},\n{\"cost\": null, \"from\": \"Rome\", \"to\": \"Riga\", \"capacity\": 1}]", diag.DataNotNumber, "roads.json:2:10", "`cost` has no value here"},
		{"roads.csv", "from,to,cost,capacity\nRome,Oslo,inf,5\n", diag.DataNotFinite, "roads.csv:2:11", "`cost`"},
		{"roads.csv", "from,to,cost,capacity\nRome,,1,5\n", diag.BindTable, "roads.csv:2:6", "no label here"},
		{"roads.csv", "from,to,cost,capactiy\nRome,Oslo,1,5\n", diag.BindExtra, "roads.csv:1:14", "column `capactiy`"},
		{"roads.csv", "a,b,c,cost,capacity\nRome,x,Oslo,1,5\n", diag.BindTable, "roads.csv:1:1", "has no column `from`"},
		{"roads.csv", "origin,to,cost,capacity\nRome,Oslo,1,5\n", diag.BindTable, "roads.csv:1:1", "has no column `from`, which the set `arc` names"},
		{"roads.csv", "from,to,cost,capacity\nRome,Oslo,1e999,5\n", diag.DataNotFinite, "roads.csv:2:11", "`cost` is 1e999, which is not a finite number"},
		{"prices.csv", "a,b,c,price\nnoon,Rome,x,1\n", diag.BindTable, "prices.csv:1:1", "not clear"},
		{"roads.csv", "from,to,cost,capacity\nRome,Oslo,1,5\nRome,Oslo,2,5\n", diag.BindLabels, "roads.csv:3:11", "is given twice"},
		{"roads.csv", "from,to,cost,capacity\nRome,Paris,1,5\n", diag.BindLabels, "roads.csv:2:6", "has \"Paris\", which is not in `node`"},
		{"prices.csv", "hour,node,price\nnoon,Rome,1\nnoon,Oslo,2\nnoon,Rigga,3\n", diag.BindLabels, "prices.csv:4:12", "has \"Rigga\", which is not in `node` (nodes.csv)"},
		{"prices.csv", "hour,node,price\nnoon,Rome,1\nnoon,Oslo,2\n", diag.BindLabels, "transport:8:6", "`price[\"Riga\", \"noon\"]` has no value"},
		{"nodes.csv", "Node\nRome\nOslo\n", diag.BindTable, "nodes.csv:1:1", "did you mean `node`? The column is spelled `Node`"},
		{"weights.csv", "height\n1\n", diag.BindTable, "weights.csv:1:1", "no column that the model declares"},
	} {
		_, list := Bind(compile(t, "transport", transport), tableSet(t, map[string]string{c.file: c.text}), Options{Seed: 1})
		if found := slices.ContainsFunc(list, func(d *diag.Diagnostic) bool {
			return d.Code == c.code && d.Subject.String() == c.at && strings.Contains(d.Summary+d.Fix, c.says)
		}); !found || len(list) > 2 {
			t.Errorf("%s\n%s\ngot %v\nwant %s at %s: %s", c.file, c.text, list, c.code, c.at, c.says)
		}
	}
}

// A column that cannot be read is an error where the model reads it, and nowhere else.
func TestColumnsThatCannotBeRead(t *testing.T) {
	set := tableSet(t, nil)
	roads := set.Entries[1].Table
	roads.Columns = append(roads.Columns, data.Column{Name: "day", Cells: make([]data.Cell, roads.Rows), Fault: "it holds dates"})
	mustBind(t, compile(t, "transport", transport), set)
	for _, k := range []int{0, 1} { // of numbers, of labels
		roads.Columns[k].Fault = "it holds dates"
		_, list := Bind(compile(t, "transport", transport), set, Options{})
		if len(list) != 1 || list[0].Code != diag.DataSheet || list[0].Subject.String() != fmt.Sprintf("roads.csv:1:%d", 1+5*k) || !strings.Contains(list[0].Summary, "it holds dates") {
			t.Errorf("column %d: %v", k, list)
		}
		roads.Columns[k].Fault = ""
	}
}

// A table without rows is one of no elements and no numbers.
func TestTableWithoutRows(t *testing.T) {
	text := strings.NewReplacer("  var x", "  var more: real in box(0, 1)\n  var x", "  var flow", "  var also: real\n  var flow",
		"+ flow[i, j]^2)", "+ flow[i, j]^2) + also^2").Replace(transport)
	prob := mustBind(t, compile(t, "transport", text), tableSet(t, map[string]string{
		"nodes.csv": "node;supply\n", "roads.csv": "cost,from,to,capacity\n", "prices.csv": "hour,node,price\n", "weights.csv": "weight\n"}))
	for _, s := range prob.Sets {
		if s.Axis.Size != 0 {
			t.Errorf("%s has %d elements", s.Name, s.Axis.Size)
		}
	}
}

// On request, what is not declared is left out.
func TestIgnoreUndeclared(t *testing.T) {
	set := tableSet(t, map[string]string{"nodes.csv": "node,supply\nRome,1\nOslo,1\nRiga,1\n", "roads.csv": "id,from,to,cost,note,capacity\n7,Rome,Oslo,1,good,5\n"})
	set.Add("other", data.Scalar(1), "test")
	prob, list := Bind(compile(t, "transport", transport), set, Options{Seed: 1, IgnoreUndeclared: true})
	if list.HasErrors() || prob.Lower.Dim != 1 {
		t.Errorf("%v", list)
	}
}

// The labels of a set that is a part of a set of tuples are as many as those of a tuple.
func TestTableOverAPartOfTuples(t *testing.T) {
	set, list := datafile.Read(datafile.Auto, "tolls.csv", "from,to,toll\nOslo,Riga,5\nRome,Riga,7\n", "")
	if list.HasErrors() {
		t.Fatal(list)
	}
	prob := mustBind(t, compile(t, "part", `model part
set node = {"Rome", "Oslo", "Riga"}
set road within node * node = {("Rome", "Oslo"), ("Oslo", "Riga"), ("Rome", "Riga")}
data far: [road] = [1, 2, 3]
set long = {(i, j) in road if far[i, j] > 1}
data toll: [long]
upper {
  var x: real in box(0, 1)
  minimize x^2 + sum(toll)
}
lower {
  var y: real
  minimize (y - x)^2
}
`), set)
	if got := prob.Data[len(prob.Data)-1]; !reflect.DeepEqual(got.Array.Values(), []float64{5, 7}) {
		t.Errorf("%s is %v", got.Name, got.Array.Values())
	}
}

// A label is the text of its file, whether in a table or a list: postal codes keep their
// zeros, and 01 is not 1. Over a set of numbers both are the number 1.
func TestLabelsKeepTheirText(t *testing.T) {
	const rest = "upper {\n  var x: [zip] in box(0, 1)\n  minimize sum(x) + sum(y)\n}\nlower {\n  var y: [zip]\n  minimize sumsq(y - x)\n}\n"
	for _, c := range []struct{ declared, file, text, want string }{
		{"set zip\ndata w: [zip]\n", "w.csv", "zip,w\n01,7\n1,8\n+1,9\n1e3,10\n", "[[01] [1] [+1] [1e3]]"},
		{"set zip\n", "zip.csv", "01\n1\n-0\n", "[[01] [1] [-0]]"},
		{"set zip\n", "zip.csv", "1\n2\n", "[[1] [2]]"},
		{"data z: text[3]\nset zip = {\"a\", \"b\"}\nset same = {i in row if z[i] == \"01\"}\nset row = 1..3\n", "z.csv", "01\n1\n02\n", "[[a] [b]]"},
		{"set zip = 1..2\ndata w: [zip]\n", "w.csv", "zip,w\n02,7\n01,8\n", "[]"},
		{"set hour = 1..3\nset zip within hour\ndata w: [zip]\n", "w.csv", "zip,w\n03,7\n+1,8\n", "[[3] [1]]"},
		{"set hour = 1..3\nset zip(a, b) within hour * hour\ndata w: [zip]\n", "w.csv", "a,b,w\n03,1,7\n+1,02,8\n", "[[3 1] [1 2]]"},
	} {
		set, list := datafile.Read(datafile.Auto, c.file, c.text, "")
		if len(list) > 0 {
			t.Fatal(list)
		}
		prob := mustBind(t, compile(t, "zips", "model zips\n"+c.declared+rest), set)
		for _, s := range prob.Sets {
			if got := fmt.Sprint(s.Axis.Labels); s.Name == "zip" && got != c.want {
				t.Errorf("%s of %q: %s, not %s", c.file, c.text, got, c.want)
			}
			if s.Name == "same" && s.Axis.Size != 1 {
				t.Errorf("%d texts are 01", s.Axis.Size)
			}
		}
	}
	b := compile(t, "zips", "model zips\nset zip = 1..2\ndata w: [zip]\n"+rest)
	set, _ := datafile.Read(datafile.Auto, "w.csv", "zip,w\n01,7\n1,8\n", "")
	if _, list := Bind(b, set, Options{}); !list.HasErrors() || !strings.Contains(list.Error(), "given twice") {
		t.Errorf("%v", list)
	}
}
