package check

import (
	"bilevelc/internal/each"
	"bilevelc/lang/diag"
)

// A family is a kind of set, or of generator, by its name, with what its arguments are.
type family struct {
	Builtin
	args []string
	use  string // how it is written, where its arguments are wrong
}

// sets are what a variable may be declared in.
var sets = []family{
	{Builtin{"box", "box(lo, hi)", "entries between two bounds, each a number or an array of the variable's shape; `inf` is no bound", "", true},
		[]string{"lower bound", "upper bound"}, "write `box(lo, hi)`"},
	{Builtin{"nonneg", "nonneg", "entries >= 0", "", true}, nil, "write `nonneg`"},
	{Builtin{"simplex", "simplex(s)", "entries >= 0 that add up to s", "", true},
		[]string{"sum"}, "write `simplex(s)`, the vectors of nonnegative entries that add up to s"},
	{Builtin{"ball", "ball(r)", "Euclidean length at most r; of upper variables only", "", true},
		[]string{"radius"}, "write `ball(r)`, the vectors of length at most r"},
	{Builtin{"free", "free", "no restriction", "", true}, nil, "write `free`"},
}

// generators are the seeded random sources.
var generators = []family{
	{Builtin{"normal", "normal(mean, deviation)", "normal numbers, entry by entry, from the seed and the array's name", "", true}, []string{"mean", "deviation"}, ""},
	{Builtin{"uniform", "uniform(low, high)", "uniform numbers, entry by entry, from the seed and the array's name", "", true}, []string{"low", "high"}, ""},
}

// familyOf finds one by name, or nil and what to write instead.
func familyOf(name string, list []family) (f *family, fix string) {
	var names []string
	for i := range list {
		if list[i].Name == name {
			return &list[i], ""
		}
		names = append(names, list[i].Name)
	}
	return nil, diag.Meant(name, names)
}

func builtinsOf(list []family) []Builtin {
	return each.Of(list, func(f family) Builtin { return f.Builtin })
}

// Sets lists what a variable may be declared in, for help and completion.
func Sets() []Builtin { return builtinsOf(sets) }

// Generators lists the sources of random data, for help and completion.
func Generators() []Builtin { return builtinsOf(generators) }
