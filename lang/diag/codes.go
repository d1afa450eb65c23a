package diag

import (
	"fmt"
	"sort"
)

// Entry explains one code. Example is the text that fails with it: a model
// or, where DataFile is set, a model and the data file that it is given.
type Entry struct {
	Code        Code
	Stage       Stage
	Title       string
	Explanation string
	Example     string
	DataFile    string // the name of the data file, whose ending tells its format
	Data        string // its content
}

// Stage tells which part of the compiler reports a code, and so how far its
// example must be taken to fail.
type Stage uint8

// The stages, in the order of the pipeline.
const (
	SyntaxStage Stage = iota // parsing
	CheckStage               // names, shapes, levels, affinity, smoothness
	DataStage                // reading data files
	BindStage                // binding data, numeric shapes
	ProofStage               // convexity and constraint qualification
	RunStage                 // solving
)

func (s Stage) String() string {
	return [...]string{"syntax", "check", "data", "bind", "proof", "run"}[s]
}

// The ranges of codes: E01 syntax, E02 names, E03 types and shapes, E04 levels
// and structure, E05 affine constraints, E06 smoothness, E07 convexity and
// constraint qualification, E08 data, E09 run time.

// registry holds every entry. Each area adds its own in a file codes_*.go:
//
//	var _ = register(
//		Entry{Code: "E0201", Stage: CheckStage, Title: "unknown name", ...},
//	)
var registry = map[Code]Entry{}

// register adds entries while the package is initialised. A code that is there
// already is a bug.
func register(entries ...Entry) bool {
	for _, e := range entries {
		if _, twice := registry[e.Code]; twice {
			panic(fmt.Sprintf("diag: code %s is registered twice", e.Code))
		}
		registry[e.Code] = e
	}
	return true
}

// Lookup returns the entry of a code.
func Lookup(code Code) (Entry, bool) {
	e, ok := registry[code]
	return e, ok
}

// Codes returns all entries in order of code.
func Codes() []Entry {
	all := make([]Entry, 0, len(registry))
	for _, e := range registry {
		all = append(all, e)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Code < all[j].Code })
	return all
}
