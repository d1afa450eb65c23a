package expr

import (
	"fmt"
	"math"
	"strings"

	"bilevelc/internal/each"
	"bilevelc/ir/data"
	"bilevelc/lang/diag"
)

// Fault is the first place where a value stops being finite: an operation
// whose arguments are finite and whose result is not, with the numbers that
// made it.
type Fault struct {
	Node     *Node
	Entry    int       // of the node's value, row-major
	Value    float64   // NaN, an infinity; the finite value where only the slope is infinite
	Operands []float64 // elementwise operations: the arguments' entries
	Slope    bool      // the value is finite but has no finite derivative
	Where    []VarEntry
	More     bool // further variables take part
}

// VarEntry is one entry of a variable and its value.
type VarEntry struct {
	Name  string // "y[3]"
	Value float64
	Lower bool // its level, and its place in the level's vector
	Place int
}

// Trace returns the first fault in the value of n at x and y, or nil where all
// is finite or data is missing.
func Trace(n *Node, x, y []float64) *Fault {
	return trace(n, x, y, func(_ *Node, _ []*data.Array, _ int, v float64) bool {
		return math.IsNaN(v) || math.IsInf(v, 0)
	}, false)
}

// TraceSlope returns the first place at which n has no finite derivative at x
// and y although its value is finite there, such as sqrt at 0, or nil.
func TraceSlope(n *Node, x, y []float64) *Fault {
	return trace(n, x, y, func(m *Node, args []*data.Array, k int, _ float64) bool {
		if m.Args == nil || m.Args[0].Deps == 0 {
			return false
		}
		switch m.Op { // elementwise: other operations have arguments of other lengths
		case Sqrt:
			return at(args[0], k) == 0
		case Pow:
			e := at(args[1], k)
			return at(args[0], k) == 0 && e < 1 && e != 0
		}
		return false
	}, true)
}

func trace(root *Node, x, y []float64, bad func(*Node, []*data.Array, int, float64) bool, slope bool) *Fault {
	values := map[*Node]*data.Array{}
	for _, n := range Reachable(root) {
		v, err := evalNode(n, values, x, y)
		if err != nil {
			return nil
		}
		values[n] = v
		args := each.Of(n.Args, func(a *Node) *data.Array { return values[a] })
		if v.Sparse != nil { // stored entries only: the others are 0
			for i := range v.Sparse.Rows {
				cols, vals := v.Sparse.Row(i)
				for k, e := range vals {
					if at := i*v.Sparse.Cols + cols[k]; bad(n, args, at, e) {
						return newFault(n, at, e, args, slope, values)
					}
				}
			}
			continue
		}
		for k, e := range v.Dense {
			if bad(n, args, k, e) {
				return newFault(n, k, e, args, slope, values)
			}
		}
	}
	return nil
}

func newFault(n *Node, k int, value float64, args []*data.Array, slope bool, values map[*Node]*data.Array) *Fault {
	f := &Fault{Node: n, Entry: k, Value: value, Slope: slope}
	if c := n.Op.Info().Class; c == Elementwise1 || c == Elementwise2 {
		f.Operands = each.Of(args, func(a *data.Array) float64 { return at(a, k) })
	}
	f.Where, f.More = behind(n, k, values)
	return f
}

// at is entry k of an array, or the only one of a scalar.
func at(a *data.Array, k int) float64 {
	if a.Rank() == 0 {
		return a.Dense[0]
	}
	return a.At(k)
}

// Error is one line, such as "log of -0.2 at model.blv:12:9, where y[3] = -0.2".
func (f *Fault) Error() string {
	var s strings.Builder
	s.WriteString(f.What())
	if f.Node.Span != (diag.Span{}) {
		fmt.Fprintf(&s, " at %s", f.Node.Span)
	}
	if where := f.whereText(); where != "" {
		s.WriteString(", where " + where)
	}
	return s.String()
}

// What names the operation and its operands: "log of -0.2".
func (f *Fault) What() string {
	info := f.Node.Op.Info()
	switch {
	case f.Node.Op == Var:
		return fmt.Sprintf("%s is %.6g", data.EntryName(f.Node.Name, f.Node.Shape.Dims(), f.Entry), f.Value)
	case f.Node.Op == Const && f.Node.Name != "":
		return fmt.Sprintf("%s is %.6g", data.EntryName(f.Node.Name, f.Node.Shape.Dims(), f.Entry), f.Value)
	case len(f.Operands) == 0:
		return fmt.Sprintf("%s gives %.6g", info.Symbol, f.Value)
	}
	var what string
	switch {
	case info.Class == Elementwise1:
		what = fmt.Sprintf("%s of %.6g", info.Symbol, f.Operands[0])
	case f.Node.Op == Div:
		what = fmt.Sprintf("division of %.6g by %.6g", f.Operands[0], f.Operands[1])
	case f.Node.Op == Pow:
		what = fmt.Sprintf("power %.6g of %.6g", f.Operands[1], f.Operands[0])
	default:
		what = fmt.Sprintf("%.6g %s %.6g", f.Operands[0], info.Symbol, f.Operands[1])
	}
	switch {
	case f.Slope:
		return what + " has no finite derivative"
	case math.IsInf(f.Value, 0) && (info.Inside == nil || info.Inside(f.Operands[0], f.Operands[len(f.Operands)-1])):
		return what + " overflows"
	}
	return what
}

// whereText lists the entries of variables behind the fault: "y[3] = -0.2".
func (f *Fault) whereText() string {
	if f.Node.Op == Var {
		return ""
	}
	parts := each.Of(f.Where, func(w VarEntry) string { return fmt.Sprintf("%s = %.6g", w.Name, w.Value) })
	if f.More {
		parts = append(parts, "...")
	}
	return strings.Join(parts, ", ")
}

// Limits of a trace: so many entries of variables fit a message, and so many
// steps are taken to find them.
const (
	shownEntries = 3
	traceSteps   = 100_000
)

type place struct {
	n *Node
	k int
}

// behind finds the entries of variables that entry k of n depends on, the
// nearest first; more reports that there are others.
func behind(n *Node, k int, values map[*Node]*data.Array) (found []VarEntry, more bool) {
	seen := map[place]bool{}
	queue := []place{{n, k}}
	for step := 0; step < len(queue); step++ {
		if step == traceSteps {
			return found, true
		}
		p := queue[step]
		if p.n.Deps == 0 || seen[p] {
			continue
		}
		seen[p] = true
		if p.n.Op == Var {
			if len(found) == shownEntries {
				return found, true
			}
			found = append(found, VarEntry{data.EntryName(p.n.Name, p.n.Shape.Dims(), p.k), at(values[p.n], p.k), p.n.Lower, p.n.Offset + p.k})
			continue
		}
		queue = append(queue, sources(p.n, p.k)...)
	}
	return found, false
}

// sources lists the entries of the arguments that entry k of n is made of: those of the
// first argument, then those of the second.
func sources(n *Node, k int) []place {
	var left, right []place
	n.Terms().Each(k, func(t Summand) bool {
		if t.P >= 0 {
			left = append(left, place{n.Args[0], t.P})
		}
		if t.Q >= 0 {
			right = append(right, place{n.Args[1], t.Q})
		}
		return true
	})
	return append(left, right...)
}
