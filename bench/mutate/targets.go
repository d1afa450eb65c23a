package main

// target is a package whose claims to users are put to the test: the files
// that decide what is said (not those that only decide how fast it is found),
// how many of their possible mutations are drawn, and the packages whose tests
// are asked, its own first.
type target struct {
	dir   string
	files []string // none: all
	draw  int
	tests []string
}

var targets = []target{
	{dir: "runtime/certify", draw: 24, tests: []string{"runtime/tree", "runtime"}},
	{dir: "runtime/activeset", draw: 10, tests: []string{"runtime/pieces", "runtime/tree", "runtime"}},
	{dir: "runtime/kkt", draw: 10, tests: []string{"runtime/pieces", "runtime/tree", "runtime/reduced", "runtime"}},
	{dir: "runtime/pieces", draw: 12, tests: []string{"runtime"}},
	{dir: "runtime/reduced", draw: 12, tests: []string{"runtime"}},
	{dir: "runtime/sequential", draw: 10, tests: []string{"runtime"}},
	{dir: "runtime/tree", draw: 8, files: []string{"node.go", "search.go", "plunge.go", "proof.go"}},
	{dir: "ir/curvature", draw: 24, tests: []string{"runtime"},
		files: []string{"interval.go", "functions.go", "hessian.go", "fusion.go", "opposite.go", "products.go", "jacobian.go", "weights.go", "ranges.go", "domain.go", "spectrum.go", "prove.go", "rank.go"}},
	{dir: "internal/directed", draw: 6, tests: []string{"ir/curvature", "runtime/certify"}},
	{dir: "runtime/lower", draw: 18, tests: []string{"runtime/oracle", "runtime"},
		files: []string{"finish.go", "consistency.go", "cone.go", "onface.go", "face.go", "activeset.go", "projection.go", "polyhedron.go", "domain.go"}},
	{dir: "runtime/oracle", draw: 16, tests: []string{"runtime", "bench/campaign"},
		files: []string{"difference.go", "face.go", "activesetchange.go", "hyper.go", "lagrangian.go", "value.go", "penalty.go", "penalty_model.go", "errors.go", "strict.go"}},
	{dir: "runtime/outer", draw: 18, tests: []string{"runtime", "bench/campaign"},
		files: []string{"certificate.go", "solve.go", "multistart.go", "descent.go"}},
	{dir: "runtime/paper", draw: 12, tests: []string{"bench/campaign"},
		files: []string{"constants.go", "izo.go", "oigrm.go", "pigd.go", "pgd.go", "online.go", "goldstein.go"}},
	{dir: "runtime/central"},
	{dir: "runtime/problem", draw: 4, files: []string{"units.go"}, tests: []string{"runtime"}},
	{dir: "runtime/qp", draw: 12, tests: []string{"runtime/lower", "runtime/outer"}},
	{dir: "codegen", draw: 14, tests: []string{"runtime"},
		files: []string{"algebra.go", "fuse.go", "products.go", "plan.go", "program.go", "runloop.go"}},
	{dir: "autodiff", draw: 14, tests: []string{"codegen"}},
	{dir: "ir/bind", draw: 18, tests: []string{"runtime"},
		files: []string{"rows.go", "affine.go", "product.go", "index.go", "levels.go", "condition.go", "sums.go"}},
	{dir: "runtime", draw: 12, files: []string{"verify.go", "verify_claims.go", "verify_ties.go", "selfcheck.go"}},
	{dir: "bench/studies"},
}

// asked are the packages whose tests are asked.
func (t *target) asked() []string { return append([]string{t.dir}, t.tests...) }
