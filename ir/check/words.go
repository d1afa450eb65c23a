package check

// Sets lists what a variable may be declared in, for help and completion.
func Sets() []Builtin {
	return []Builtin{
		{"box", "box(lo, hi)", "entries between two bounds, each a number or an array of the variable's shape; `inf` is no bound", "", true},
		{"nonneg", "nonneg", "entries >= 0", "", true},
		{"simplex", "simplex(s)", "entries >= 0 that add up to s", "", true},
		{"ball", "ball(r)", "Euclidean length at most r; of upper variables only", "", true},
		{"free", "free", "no restriction", "", true},
	}
}

// Generators lists the sources of random data, for help and completion.
func Generators() []Builtin {
	return []Builtin{
		{"normal", "normal(mean, deviation)", "normal numbers, entry by entry, from the seed and the array's name", "", true},
		{"uniform", "uniform(low, high)", "uniform numbers, entry by entry, from the seed and the array's name", "", true},
	}
}
