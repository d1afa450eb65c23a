package assist

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"bilevelc/internal/each"
	"bilevelc/ir/check"
	"bilevelc/lang"
	"bilevelc/parser"
	"bilevelc/runtime"
	"bilevelc/stdlib"
)

// A WordKind tells what a word of the language is.
type WordKind uint8

// The kinds of words.
const (
	FunctionWord WordKind = iota
	KeywordWord
	VariableSetWord // box, nonneg, ...
	GeneratorWord
	MethodWord
	SettingWord
)

// A Word is something the language or the library calls by a name.
type Word struct {
	Name      string
	Kind      WordKind
	Signature string // one form a line
	Doc       string
	Example   string
}

// Words lists the functions of the library and of the language, the keywords, the
// sets of variables, generators, methods and their settings, in order of name.
func Words() []Word { return allWords() }

// WordsNamed are the words of a name: a function, a keyword, ...
func WordsNamed(name string) []Word {
	return each.Where(allWords(), func(w Word) bool { return w.Name == name })
}

var allWords = sync.OnceValue(func() []Word {
	var out []Word
	builtins := func(kind WordKind, list []check.Builtin) {
		for _, b := range list {
			doc := b.Doc
			if b.Domain != "" {
				doc += "; needs " + b.Domain
			}
			if !b.Smooth {
				doc += "; not smooth: for data, lets over data and the report"
			}
			if n := len(out); n > 0 && out[n-1].Name == b.Name && out[n-1].Kind == kind {
				out[n-1].Signature += "\n" + b.Signature
				out[n-1].Doc += "\n" + doc
				continue
			}
			out = append(out, Word{Name: b.Name, Kind: kind, Signature: b.Signature, Doc: doc})
		}
	}
	builtins(FunctionWord, check.Builtins())
	builtins(VariableSetWord, check.Sets())
	builtins(GeneratorWord, check.Generators())
	for _, f := range stdlib.Functions() {
		out = append(out, Word{Name: f.Name, Kind: FunctionWord, Signature: f.Signature, Doc: f.Doc, Example: f.Example})
	}
	for _, k := range append(parser.Keywords(), "set", "within", "integer", "binary", "text", "column", "columns") {
		out = append(out, Word{Name: k, Kind: KeywordWord, Doc: keywordDocs[k]})
	}
	seen := map[string]int{}
	setting := func(name, doc string) {
		if i, known := seen[name]; known {
			if !strings.Contains(out[i].Doc, doc) {
				out[i].Doc += "\n" + doc
			}
			return
		}
		seen[name] = len(out)
		out = append(out, Word{Name: name, Kind: SettingWord, Doc: doc})
	}
	for _, kind := range []string{"method", "oracle", "solver"} {
		setting(kind, "the "+kind+" of the run")
	}
	setting("ties", "which of its best answers a follower takes that has several: `optimistic`, the best for the leader, `pessimistic`, the worst, or `least_norm`")
	setting("tau", "with `ties`: how much the rule weighs")
	for _, m := range runtime.Methods() {
		out = append(out, Word{Name: m.Name, Kind: MethodWord, Signature: m.Kind + " = " + m.Name, Doc: m.Summary + " (" + m.Reference + ")"})
		for _, s := range m.Settings {
			setting(s.Name, fmt.Sprintf("%s %s: %s; %s, default %v", m.Kind, m.Name, s.Doc, s.Range(), s.Default))
		}
	}
	slices.SortStableFunc(out, func(a, b Word) int { return strings.Compare(a.Name, b.Name) })
	return out
})

// keywordDocs say what a keyword starts.
var keywordDocs = map[string]string{
	"model":    "`model NAME` names the model, first and once",
	"param":    "`param n: int = 5` is a scalar that is fixed when the model is bound",
	"data":     "`data c: vector[n] = [1, 2, 3]` is an array, supplied, listed or drawn",
	"set":      "`set city = {\"Rome\", \"Oslo\"}` is what arrays and sums are indexed by",
	"within":   "`set port within city` is a part of a set, `within city * city` a set of tuples",
	"let":      "`let gap = y - x` names an expression",
	"fn":       "`fn twice(z) = 2 * z` is a function",
	"upper":    "`upper { }` is the leader: its variables, objective and constraints",
	"lower":    "`lower { }` is the follower, who answers the leader with what is best for itself",
	"solve":    "`solve { }` holds the defaults of a run",
	"report":   "`report { }` names what to print at the solution",
	"var":      "`var x: vector[n] in box(0, 1)` is a decision variable",
	"minimize": "`minimize EXPRESSION` is the objective of a level", "maximize": "`maximize EXPRESSION` is the objective of a level",
	"subject": "`subject to` is followed by constraints, one a line",
	"forall":  "`forall i in 1..n: RELATION` is a family of constraints", "in": "`i in 1..n` ranges an index, `in box(0, 1)` restricts a variable",
	"if": "`if c then a else b` chooses by data and indices", "then": "`if c then a else b`", "else": "`if c then a else b`",
	"and": "of conditions", "or": "of conditions", "not": "of a condition",
	"integer": "`var k: vector[n] integer in box(0, 5)` takes whole numbers only; the leader's alone",
	"binary":  "`var on: vector[n] binary` takes the values 0 and 1 only; the leader's alone",
	"real":    "a number", "int": "an integer: sizes, indices, ranges", "vector": "`vector[n]`, a column of n numbers", "matrix": "`matrix[m, n]`, m rows of n numbers",
	"text":   "`data split: text[row]` holds texts, which are compared: `if split[r] == \"train\"`",
	"column": "`data level: [row] column \"Level (mm)\"` is read from that column of a table", "columns": "`data X: [row, feature] columns x1..x8` is read from these columns of a table",
}

// isName tells whether a text can be a name of a model.
func isName(text string) bool {
	return lang.IsName(text) && !slices.Contains(parser.Keywords(), text)
}
