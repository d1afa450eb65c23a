package codegen

// pass rewrites a form. Every pass keeps the outputs' values up to rounding.
type pass struct {
	set      passSet
	name     string
	contract string // what holds of its result
	run      func(*form) *form
}

// The passes, for Options.off. Row fusion, accumulation, fusion and reuse belong to
// scheduling.
const (
	deadCodePass passSet = 1 << iota
	algebraPass
	sharingPass
	transposesPass
	symmetryPass
	reassociationPass
	dataFoldingPass
	rowFusionPass
	accumulationPass
	fusionPass
	reusePass
	allPasses = 1<<iota - 1
)

// passes run in this order. Algebra and sharing run again after passes that
// expose work to them: once Q' y is known to be Q y, the two are one value, and
// their sum is 2 Q y.
var passes = []pass{
	{deadCodePass, "dead code", "every value is needed by an output", deadCode},
	{algebraPass, "algebra", algebraContract, algebra},
	{transposesPass, "transposes", "no product reads a transpose", transposes},
	{symmetryPass, "symmetry", "products with symmetric data are marked and not transposed", symmetry},
	{sharingPass, "sharing", sharingContract, shareEqual},
	{algebraPass, "algebra", algebraContract, algebra},
	{sharingPass, "sharing", sharingContract, shareEqual},
	{reassociationPass, "reassociation", "products run in the earlier stage and the cheaper order", reassociate},
	{algebraPass, "algebra", algebraContract, algebra},
	{sharingPass, "sharing", sharingContract, shareEqual},
	{dataFoldingPass, "data folding", "the data stage holds constants only", foldData},
}

const (
	algebraContract = "numbers stand in sums only, no broadcast feeds an elementwise operation"
	sharingContract = "no two values are equal"
)

// deadCode drops values that no output needs.
func deadCode(f *form) *form { return f.keep(f.outs, nil) }

// shareEqual makes equal values one.
func shareEqual(f *form) *form {
	return rewrite(f, true, func(r *rewriter, v val) int { return r.emit(v) })
}
