package bind

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"bilevelc/ir/check"
	"bilevelc/ir/data"
	"bilevelc/ir/datafile"
	"bilevelc/lang/diag"
	"bilevelc/parser"
)

// manySets uses what the language has for labels, blocks, arrays of
// comprehensions and followers, in one model.
const manySets = `model many
set city = {"Rome", "Oslo", "Riga"}
set port within city = {"Oslo", "Riga"}
set hour = 0..2
set road(from, to) within city * city = {("Rome", "Oslo"), ("Oslo", "Riga")}
data cost: [road] = [1, 2]
data cube: [city, hour, port] ~ uniform(0, 1)
data A: matrix[2, 3] = [[1, 2, 3], [4, 5, 6]]
let wide = [A; [1, 2, 3]']
let table = [c in city, h in hour: cube[c, h, "Oslo"] + ord(c)]
fn at(c, h) = cube[c, h, "Riga"]
upper {
  var x: [road, hour] in box(0, inf)
  minimize sumsq(x) + sum((i, j) in road, h in hour if i != "Riga": x[i, j, h] * y[i]) + sum(r in road: sumsq(flow[r, :]))
}
lower base {
  var y: [city] in nonneg
  minimize sumsq(y - 1) + sum(p in port: at(p, 1) * y[p]) + quad(wide * wide', [y[port_first]; 2; 3])
}
lower firm[c in city, k in 1..2] {
  var flow: vector[3] in simplex(k)
  minimize sumsq(flow - x["Rome", "Oslo", 0]) + flow[k] * table[c, 2]
  subject to
    top: forall h in 1..3 if ord(c) > 1: flow[h] <= cube[prev(c), 2, "Oslo"] + 2
}
report {
  next_one = sum(c in city if ord(c) < card(city): y[next(c)])
  busy = sum(c in city if y[c] > 0.1: 1)
}
`

// Models over sets that are changed at random places bind or are refused, with
// and without data; nothing panics and every message has a place.
func TestMutatedSets(t *testing.T) {
	many := strings.ReplaceAll(manySets, "port_first", `"Oslo"`)
	many = strings.Replace(many, "sum(r in road: sumsq(flow[r, :]))", "sumsq(flow)", 1)
	net := strings.Replace(network, "sum(flow[_, :])", "sum(flow)", 1)
	netData := `{"city": ["Rome", "Oslo"], "road": [["Oslo", "Rome"], ["Rome", "Oslo"]], "toll": [["Rome", "Oslo"]], "distance": [1, 2], "demand": [[1, 2, 3], [4, 5, 6]]}`
	bases := []struct{ text, data string }{{many, `{}`}, {net, netData}, {transport, ""}}
	word := regexp.MustCompile(`"[^"]*"|[A-Za-z_]\w*|\d+(\.\d+)?|\.[*/^]|\.\.|[-+*/^'\[\](),:<>=;{}]`)
	bound := 0
	for seed := range uint64(600) {
		rng := rand.New(rand.NewPCG(seed, 11))
		base := bases[seed%3]
		text := base.text
		for range rng.IntN(3) {
			tokens := word.FindAllStringIndex(text, -1)
			at, from := tokens[rng.IntN(len(tokens))], tokens[rng.IntN(len(tokens))]
			text = text[:at[0]] + text[from[0]:from[1]] + text[at[1]:]
		}
		file, list := parser.ParseFile(diag.NewSource("m.blv", text))
		p, more := check.Check(file)
		if list.HasErrors() || more.HasErrors() {
			continue
		}
		set := &data.Set{}
		if base.data != "" {
			set, _ = datafile.Read(datafile.JSON, "m.json", base.data, "")
		} else if rng.IntN(2) == 0 {
			set = tableSet(t, nil)
		}
		bindHostile(t, p, set)
		bound++
	}
	if bound < 100 {
		t.Errorf("only %d models passed the checker", bound)
	}
}
