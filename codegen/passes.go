package codegen

// pass rewrites a form. Every pass keeps the outputs' values up to rounding.
type pass struct {
	set      PassSet
	name     string
	contract string // what holds of its result
	run      func(*form) (*form, error)
}

// The passes, for Options.Off. RowFusion, Accumulation, Fusion and Reuse belong to
// scheduling.
const (
	DeadCode PassSet = 1 << iota
	Algebra
	Sharing
	Transposes
	Symmetry
	Reassociation
	DataFolding
	RowFusion
	Accumulation
	Fusion
	Reuse
	allPasses = 1<<iota - 1
)

// passes run in this order. Algebra and sharing run again after passes that
// expose work to them: once Q' y is known to be Q y, the two are one value, and
// their sum is 2 Q y.
var passes = []pass{
	{DeadCode, "dead code", "every value is needed by an output", simple(deadCode)},
	{Algebra, "algebra", algebraContract, simple(algebra)},
	{Transposes, "transposes", "no product reads a transpose", simple(transposes)},
	{Symmetry, "symmetry", "products with symmetric data are marked and not transposed", symmetry},
	{Sharing, "sharing", sharingContract, simple(shareEqual)},
	{Algebra, "algebra", algebraContract, simple(algebra)},
	{Sharing, "sharing", sharingContract, simple(shareEqual)},
	{Reassociation, "reassociation", "products run in the earlier stage and the cheaper order", simple(reassociate)},
	{Algebra, "algebra", algebraContract, simple(algebra)},
	{Sharing, "sharing", sharingContract, simple(shareEqual)},
	{DataFolding, "data folding", "the data stage holds constants only", foldData},
}

const (
	algebraContract = "numbers stand in sums only, no broadcast feeds an elementwise operation"
	sharingContract = "no two values are equal"
)

func simple(run func(*form) *form) func(*form) (*form, error) {
	return func(f *form) (*form, error) { return run(f), nil }
}

// deadCode drops values that no output needs.
func deadCode(f *form) *form { return f.keep(f.outs, nil) }

// shareEqual makes equal values one.
func shareEqual(f *form) *form {
	return rewrite(f, true, func(r *rewriter, v val) int { return r.emit(v) })
}
