package document

import (
	"fmt"
	"math"
	"strings"

	"bilevelc/lang/diag"
	"bilevelc/runtime/status"
)

// Global is a bound on the objective over all x, found by branch and bound on the KKT system (package tree), in the user's own sense.
type Global struct {
	// Proved says that no feasible point is better than the result's by more than Within.
	Proved bool   `json:"proved"`
	Bound  Number `json:"bound"` // no feasible point is better; infinite where nothing is known, and where nothing is feasible
	Gap    Number `json:"gap"`   // of objective and bound, relative to the objective (where that is rounding of its terms, to these)
	Nodes  int64  `json:"nodes"`
	Why    string `json:"why,omitempty"` // in words, where nothing is proved

	// Within is the gap that was asked for, or where something is proved and rounding of relaxations leaves a larger one, that.
	Within Number `json:"within,omitempty"`
	// Proof is the file that holds the proof of Bound, as its writer named it; "" where none was written. Result.WriteProof writes it.
	Proof string `json:"proof,omitempty"`
	// ProofSeal is the SHA-256 sum of the proof that Result.WriteProof wrote, in hexadecimal digits.
	ProofSeal string `json:"proof_seal,omitempty"`
	// Trace is how bound and objective went with the nodes, as far as they were seen to; Phases.Bound has the times.
	Trace []BoundPoint `json:"trace,omitempty"`
}

// BoundPoint is a search at some number of nodes.
type BoundPoint struct {
	Nodes int64  `json:"nodes"`
	Bound Number `json:"bound"`
	Best  Number `json:"best"` // infinite where no point was known
}

// The rules by which ties are broken, in the words of `ties`.
const (
	Optimistic  = "optimistic"
	LeastNorm   = "least_norm"
	Pessimistic = "pessimistic"
)

// Ties is what a result says of a follower that is not strongly convex.
type Ties struct {
	Rule string `json:"rule"` // optimistic or least_norm
	// Tau is the last regularization; WeightF and WeightNorm are a and b in
	// g + a f + b/2 |y|^2, both objectives minimized.
	// All are 0 where nothing was added, and the follower's own answer is the one of the system.
	Tau        Number `json:"tau"`
	WeightF    Number `json:"weight_f"`
	WeightNorm Number `json:"weight_norm"`
	// Loss is what the follower loses against its true optimum at this x, found by
	// the proximal point method (Rockafellar 1976): exact where Exact is set, as it
	// ends after finitely many steps where g is linear, and at least that otherwise.
	// Where nothing was added it is what this answer, and those best and worst for the leader, lose at most: ties are decided to 1e-9 of the follower's terms.
	Loss  Number `json:"loss"`
	Exact bool   `json:"exact"`
	// Unique says that the follower has no other answer at this x: shown by the signs of slacks and multipliers where nothing was added, else that tilting it in two
	// opposite random directions gives the same answer.
	// Where the upper level reads multipliers it says, too, that these take no other values; UniqueAnswer and UniqueMultipliers are then its two parts, nil else.
	Unique            bool  `json:"unique"`
	UniqueAnswer      *bool `json:"unique_answer,omitempty"`
	UniqueMultipliers *bool `json:"unique_multipliers,omitempty"`
	// Optimistic and Pessimistic are the upper objective at the follower's answers
	// that are best and worst for the leader, NaN where they were not found.
	Optimistic  Number `json:"best"`
	Pessimistic Number `json:"worst"`
	// Safe is an x next to this one at which the follower has one answer; nil where that is so here, or none was found.
	Safe *SafePoint `json:"safe,omitempty"`
}

// SafePoint is an x near the solution at which the follower has one answer only.
type SafePoint struct {
	Variables Values `json:"variables"` // of the upper level
	Objective Number `json:"objective"` // F there
	Distance  Number `json:"distance"`  // of x from the solution, in the max norm
}

// EntrySensitivity is how F and the follower's answer react to one entry of x. Right
// is the derivative as the entry rises. Left is there only where the answer is not
// differentiable: the derivative, for a unit that the entry rises, as it falls.
type EntrySensitivity struct {
	Entry string `json:"entry"`
	Right *Rates `json:"right"`
	Left  *Rates `json:"left,omitempty"`
}

// Slopes are dF/dx as the entry falls and as it rises; what is rounding beside the other is 0.
func (e EntrySensitivity) Slopes() (left, right float64) {
	right = float64(e.Right.Objective)
	if e.Left == nil {
		return right, right
	}
	both := Value{Data: []float64{float64(e.Left.Objective), right}}.Rounded().Data
	return both[0], both[1]
}

// Rates are derivatives along an entry of x: dF/dx in the user's sense, dy*/dx,
// dlambda*/dx. Where there are none Reason says why, and the rest is empty.
type Rates struct {
	Objective   Number `json:"objective"`
	Variables   Values `json:"variables"`   // of the lower level
	Multipliers Values `json:"multipliers"` // in the user's sign
	// Estimates of errors, in the Euclidean norm.
	ErrorVariables   Number `json:"error_variables"`
	ErrorMultipliers Number `json:"error_multipliers"`
	Reason           string `json:"reason,omitempty"`
}

// Phases say where the time of a result went, in seconds of wall time. Reading is
// known to the command line alone; it is 0 for a program that embeds the runtime.
type Phases struct {
	Read    float64 `json:"read"`    // of the model and its data
	Compile float64 `json:"compile"` // of the model, and of f and g
	Bind    float64 `json:"bind"`    // of the data to the model
	Prove   float64 `json:"prove"`   // of convexity, constants and ranks
	Solve   float64 `json:"solve"`   // from the start to the end of the method
	Certify float64 `json:"certify"` // of the result, and its description
	// Trace are the seconds from the start of the method to each point of Result.Trace.
	Trace []float64 `json:"trace,omitempty"`
	// Bound are the seconds from the start of the search for the global optimum to each point of Result.Global.Trace.
	Bound []float64 `json:"bound,omitempty"`
	Seal  string    `json:"seal"` // of the times of a document; see Result.Seal
}

// Total is the sum of the phases.
func (p Phases) Total() float64 {
	return p.Read + p.Compile + p.Bind + p.Prove + p.Solve + p.Certify
}

// Text are the phases in words.
func (p Phases) Text() string {
	return fmt.Sprintf("read %.3g, compile %.3g, bind %.3g, prove %.3g, solve %.3g, certify %.3g", p.Read, p.Compile, p.Bind, p.Prove, p.Solve, p.Certify)
}

// Inputs tell what a result is about, so that it can be verified later.
type Inputs struct {
	Model    string   `json:"model"`          // path
	Data     []string `json:"data,omitempty"` // as given: file or name=file
	Set      []string `json:"set,omitempty"`
	DataSeed uint64   `json:"data_seed"`
	Ignore   bool     `json:"ignore_undeclared,omitempty"` // what the model does not declare was left out
}

// Reason is why a result whose optimum is proved is solved.
func (g *Global) Reason() string {
	return fmt.Sprintf("global optimum, proved within %s by %s", g.Within.Brief(), g.nodes())
}

func (g *Global) nodes() string { return diag.Count(int(g.Nodes), "node", "nodes") }

// Text says what is known of the global optimum in one line, beside an objective of f.
func (g *Global) Text(f Number) string {
	switch {
	case g.Proved && math.Abs(float64(f-g.Bound)) > 2*float64(g.Within)*math.Abs(float64(f)):
		return fmt.Sprintf("proved within %s of a thousandth of the terms of F, which cancel in it: bound %s, %s", g.Within.Brief(), g.Bound.Text(), g.nodes())
	case g.Proved:
		return fmt.Sprintf("proved within %s, %s", g.Within.Brief(), g.nodes())
	case math.IsInf(float64(g.Bound), 0) || math.IsNaN(float64(g.Bound)):
		return "no bound: " + g.Why
	case math.IsInf(float64(g.Gap), 0):
		return fmt.Sprintf("bound %s, %s", g.Bound.Text(), g.nodes())
	}
	more := g.Why
	if strings.HasPrefix(g.Why, status.Spent) {
		more = "more with --nodes or --global"
	}
	return fmt.Sprintf("bound %s, gap %s %%, %s; %s", g.Bound.Text(), Number(100*float64(g.Gap)).Brief(), g.nodes(), more)
}
