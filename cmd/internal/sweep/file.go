package sweep

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/lang/diag"
)

// File is a plan as it is written by hand, in TOML:
//
//	model = "toll.blv"
//	data = ["roads.csv"]
//	set = {n = 5}
//	seed = 1                      # of all jobs, unless it is varied
//	method = "goldstein"          # and oracle, solver, starts, max_iter, time_limit
//	proof = true                  # and global, local, gap, nodes
//	options = {epsilon = 1e-6}
//
//	[over]                        # a grid: every combination
//	cap = "1:10:1"
//	seed = "1..20"
//	method = ["pgd", "goldstein"]
//
//	[draw]                        # random points, each with the whole grid
//	slope = "uniform(0.5, 2)"
//	[draws]
//	count = 50
//	seed = 7
//
//	[[job]]                       # or a list of jobs
//	cap = 3
//
// Names under over, draw and job are params and data of the model, and seed, start,
// method, oracle, solver and data. Paths are relative to the file.
type File struct {
	Model     string         `toml:"model"`
	Data      []string       `toml:"data"`
	Set       map[string]any `toml:"set"`
	Seed      *int64         `toml:"seed"`
	Method    string         `toml:"method"`
	Oracle    string         `toml:"oracle"`
	Solver    string         `toml:"solver"`
	Starts    int            `toml:"starts"`
	MaxIter   int            `toml:"max_iter"`
	TimeLimit string         `toml:"time_limit"`
	Gap       float64        `toml:"gap"`
	Nodes     int64          `toml:"nodes"`
	Global    bool           `toml:"global"`
	Local     bool           `toml:"local"`
	Proof     bool           `toml:"proof"`
	Options   map[string]any `toml:"options"`
	Over      map[string]any `toml:"over"`
	Draw      map[string]any `toml:"draw"`
	Draws     struct {
		Count int   `toml:"count"`
		Seed  int64 `toml:"seed"`
	} `toml:"draws"`
	Job []map[string]any `toml:"job"`
}

// ParseFile reads a plan. An error says the line; names that mean nothing are errors.
func ParseFile(name, text string) (f *File, fixed Fixed, space Space, err error) {
	defer must.Catch(&err)
	f = &File{}
	meta, err := toml.Decode(text, f)
	if e, ok := err.(toml.ParseError); ok {
		must.Be(false, "%s:%d: %s", name, e.Position.Line, e.Message)
	}
	hold := func(so bool, format string, args ...any) {
		must.Be(so, "%s: %w", name, fmt.Errorf(format, args...))
	}
	if err != nil {
		hold(false, "%s", plainTOML.Replace(err.Error()))
	}
	for _, table := range []string{"set", "over", "draw", "draws", "options"} {
		kind := meta.Type(table)
		hold(kind == "" || kind == "Hash", "%s is a table of names and values", table)
	}
	for _, key := range meta.Undecoded() {
		hold(false, "a plan has no %s; see 'bilevelc sweep --help'", key)
	}
	hold(f.Model != "", `a plan names its model: model = "toll.blv"`)
	fixed = Fixed{Seed: 1, Method: f.Method, Oracle: f.Oracle, Solver: f.Solver, Starts: f.Starts, MaxIter: f.MaxIter, Options: options(f.Options)}
	if f.Seed != nil {
		fixed.Seed = uint64(*f.Seed)
		hold(*f.Seed >= 0, "seed is a whole number from 0")
	}
	fixed.Gap, fixed.Nodes, fixed.Proof = f.Gap, f.Nodes, f.Proof
	hold(!f.Global || !f.Local, "global and local exclude each other")
	fixed.Search = SearchOf(f.Global, f.Local)
	hold(f.Starts >= 0 && f.MaxIter >= 0, "starts and max_iter are at least 1")
	if f.TimeLimit != "" {
		fixed.Limit, err = time.ParseDuration(f.TimeLimit)
		hold(err == nil && fixed.Limit > 0, `time_limit is a positive duration, such as "30s", not %q`, f.TimeLimit)
	}
	for _, key := range slices.Sorted(maps.Keys(f.Set)) {
		fixed.Set = append(fixed.Set, key+"="+spell(f.Set[key]))
	}
	for _, key := range ordered(meta, "over", f.Over) {
		axis := Axis{Name: key}
		if list, ok := f.Over[key].([]any); ok {
			axis.Values = each.Of(list, spell)
		} else {
			axis, err = ParseAxis(key + "=" + spell(f.Over[key]))
			hold(err == nil, "%w", err)
		}
		err = must.Try(axis.check)
		hold(err == nil, "%w", err)
		space.Axes = append(space.Axes, axis)
	}
	for _, key := range ordered(meta, "draw", f.Draw) {
		law, ok := f.Draw[key].(string)
		hold(ok, `draw.%s is a law, such as "uniform(0, 1)"`, key)
		d, err := ParseDraw(key + "=" + law)
		hold(err == nil, "%w", err)
		space.Draw = append(space.Draw, d)
	}
	hold(f.Draws.Seed >= 0, "draws.seed is a whole number from 0")
	space.Draws, space.Seed = f.Draws.Count, uint64(f.Draws.Seed)
	for _, entry := range f.Job {
		point := map[string]string{}
		for key, v := range entry {
			point[key] = spell(v)
		}
		space.List = append(space.List, point)
	}
	return f, fixed, space, nil
}

// plainTOML tells a value of another kind than is asked for without the types of this program.
var plainTOML = strings.NewReplacer("toml: ", "", "incompatible types: TOML value has type ", "it is ", "; destination has type ", ", where this is expected: ",
	"uint64", "a whole number from 0", "int64", "a whole number", "integer", "a whole number", "float64", "a number", "string", "a text", "boolean", "true or false", "bool", "true or false", "slice", "a list", "map", "a table")

// ordered are the keys of a table in the order of the file.
func ordered(meta toml.MetaData, table string, m map[string]any) []string {
	var keys []string
	for _, key := range meta.Keys() {
		if len(key) == 2 && key[0] == table && m[key[1]] != nil && !slices.Contains(keys, key[1]) {
			keys = append(keys, key[1])
		}
	}
	return keys
}

// spell writes a value of TOML as --set takes it.
func spell(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		return "[" + diag.Join(v, ", ", spell) + "]"
	}
	return fmt.Sprint(v)
}

// options are settings as the runtime takes them.
func options(m map[string]any) map[string]any {
	out := map[string]any{}
	for key, v := range m {
		if n, ok := v.(int64); ok {
			v = float64(n)
		}
		out[key] = v
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
