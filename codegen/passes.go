package codegen

// pass rewrites a form. Every pass keeps the outputs' values up to rounding.
type pass struct {
	set      PassSet
	name     string
	contract string // what holds of its result
	run      func(*form) (*form, error)
}

// The passes, for Options.Off.
const (
	Fusion PassSet = 1 << iota
	Reuse
	DeadCode
)

// passes run in this order.
var passes = []pass{
	{DeadCode, "dead code", "every value is needed by an output", func(f *form) (*form, error) {
		g := f.keep(f.outs, nil)
		return g, nil
	}},
}
