package certify

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"bilevelc/internal/must"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// TreeReport is what a proof of a global bound was found to show.
type TreeReport struct {
	// Bound is a lower bound of f over all x and optimistic answers: what the leaves show, rounded down; +Inf where they show that nothing is
	// feasible.
	Bound    float64
	Branches int64
	Leaves   int64 // with a bound
	Empty    int64 // without a point
	Depth    int
	// Terms is the sum of the absolute terms of f at a point of the system, beside which differences of f are rounding.
	Terms func(x, y, lambda []float64) float64
}

// TreeError is what is wrong with a proof, at a line of it.
type TreeError struct {
	Line int
	Err  error
}

func (e *TreeError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns what is wrong.
func (e *TreeError) Unwrap() error { return e.Err }

// VerifyTree reads a proof of a global lower bound, one JSON object a line, and evaluates it from the problem alone. The first line is
//
//	{"tree": 1, "model": "..", "digest": "..", "duality": true}
//
// the digest being that of the model and data that the proof is of (it must be the one given, where that is not ""), and duality saying that the bounds are
// those of f with its products of x, y and lambda cancelled by strong duality. "shares": {"at": [..], "val": [..]} says how much of the sum of the products of multipliers and slacks of a block of the lower level,
// that of an entry of y, bounds have beside f. All but the version may
// be absent. Lines for the squares that make an f convex that is not may come next, or a constraint of the leader ("curved": its place; "negated": the other sign of an equation), and direction k is the k-th of them:
//
//	{"concave": {"weight": s, "of": {..}, "lo": l, "hi": u}}   s > 0, and a vector v over the columns: with w = v'z in [l, u], -s w^2 >= s (l u - (l + u) w)
//
// So may lines for constraints of the leader with their products of x, y and lambda cancelled by strong duality:
//
//	{"dual": {"curved": i, "negated": true}}
//
// So may lines for points inside of the constraints of parts of the lower level, which bound multipliers and y (treeInterior):
//
//	{"interior": {"answer": j, "at": {..}, "by": [{"entry": c, "of": {..}}], "curvature": {..}, "squares": {..}, "multipliers": {..}, "slopes": [{"entry": c, "of": {..}}]}}
//
// So may lines for segments, answers of parts of the lower level along an entry of x (treeSegment):
//
//	{"segment": {"answer": j, "entry": c, "from": a, "to": b, "at": {..}, "by": {..}, "multipliers": {..}, "slopes": {..}, "curvature": {..}, "squares": {..}}}
//
// So may lines for choices, equations of the lower level with options for which f has columns as products:
//
//	{"choice": {"row": i}}
//
// And lines for columns that are products, p = x_c t, of a multiplier or an entry of y, with rows p - v t for levels v, and rows of strong duality
// with them:
//
//	{"product": {"entry": c, "multiplier": i, "levels": [..]}}              t = lambda_i
//	{"product": {"entry": c, "answer": j, "above": l, "levels": [..]}}      t = y_j - l, of "other": j in the place of "answer" x_j - l; with "below" u - y_j,
//	                                                                        with neither y_j; with "most": u, "tops": [..] also rows (x_c - v)(u - t), with
//	                                                                        "f": true f has the column in the place of its product
//	{"slope": {"answer": j, "entry": c}}                                   the coefficient T of x_c in strong duality of that part, and x_c T (treeCoefficient)
//	{"strong": {"answer": j}}                                               of the part of the lower level with y_j, where g is linear in it
//	{"strong": {"row": i, "times": c}}                                      an equation of the lower level times x_c
//	{"strong": {"upper": i, "answer": j}}                                   a row of X times y_j >= 0
//	{"strong": {"answer": j, "against": k}}                                 the option y_j costs the follower no more than the option y_k where it is taken
//
// The tree follows, a parent before its children and all of
// the first child before the second:
//
//	{"pair": i}             row i of the lower level: first its slack is zero, then its multiplier
//	{"option": i}           row y_t >= 0 of a choice: first y_t is 0, then all other options are, and its multiplier
//	{"entry": j, "at": v}   entry j of x: first x_j <= v, then x_j >= v, of an integer entry x_j >= v + 1
//	{"along": k, "at": v}   direction k: first w <= v, then w >= v
//	{"range": {..}}         before what is to come of a node, where the slope of strong duality is on it (treeRange)
//	{"bound": {..}}         a leaf, with weights that bound f there
//	{"empty": {..}}         a leaf, with weights that show that it has no point
//	{"followed": true}      a leaf on which segments show all that f reads of the follower
//
// A leaf may have multiples of the leader's quadratic constraints beside f ("curved"), >= 0 but of equations.
//
// Where f is a sum, there may be a tree for each of its parts, each behind a line of its own and with squares, products and rows of its own behind that. Every column is in one of the parts, and
// f has no products of columns of different ones, so that it is the sum of its terms in each (its constant is the first one's), and at least the sum of their bounds; or one of the trees shows that
// nothing is feasible.
//
//	{"part": {"columns": [..], "duality": true}}
//
// Every point of the system is in a leaf of a tree, since the children of a branch cover it; where interiors let multipliers be basic, one with the same x and y, and the same of what the leader reads. The memory it takes does not depend on the
// number of lines. Followers have linear rows, so their answers satisfy the system, whether g is convex or not. What is wrong with a proof is a
// *TreeError.
func VerifyTree(p *problem.Problem, r io.Reader, digest string) (*TreeReport, error) {
	in, v := &treeReader{from: bufio.NewReaderSize(r, 1<<16)}, NewTreeVerifier(p, digest)
	if err := must.Try(func() {
		for {
			text, err := in.next(v.most)
			if errors.Is(err, io.EOF) && v.begun {
				must.Get(v.Report())
				return
			}
			must.Be(err == nil || v.begun, "no proof of a bound: %w", err)
			must.Do(err)
			v.next(text)
		}
	}); err != nil {
		return nil, &TreeError{max(1, in.line), err}
	}
	return &v.report, nil
}

// TreeVerifier is VerifyTree line by line, for one who writes them.
type TreeVerifier struct {
	treeVerification
	digest string
	begun  bool
	most   int // bytes of a line
}

// NewTreeVerifier is ready for the first line of a proof, which has to be of the problem's digest where that is not "".
func NewTreeVerifier(p *problem.Problem, digest string) *TreeVerifier {
	return &TreeVerifier{treeVerification{p: p, owned: make([]bool, treeColumns(p)), least: math.Inf(-1)}, digest, false, 1 << 16}
}

// Take takes the next line. A leaf that it refuses, as one that shows less than a least bound of f, may be followed by another one in its place, or by a branch.
func (t *TreeVerifier) Take(line []byte, least float64) error {
	t.least = least
	return must.Try(func() { t.next(line) })
}

func (t *TreeVerifier) next(line []byte) {
	if !t.begun {
		t.head(line)
		return
	}
	v := &t.treeVerification
	var next treeLine
	must.Do(decode(line, &next))
	must.Be(next.Part != nil || !v.done, "the proof goes on after its leaves cover everything")
	switch {
	case next.Part != nil:
		v.beginPart(&next)
		return
	case v.leaf == nil && next.adds():
		v.add(&next)
		return
	case v.leaf == nil:
		v.open()
		t.most = longestLine(v.p) + 40*(v.added.lift.room()+len(v.added.squares))
	}
	v.take(&next)
}

// head takes the first line.
func (t *TreeVerifier) head(line []byte) {
	var head struct {
		Tree    int           `json:"tree"`
		Model   string        `json:"model"`
		Digest  string        `json:"digest"`
		Duality bool          `json:"duality"`
		Shares  *sparseVector `json:"shares"`
	}
	err := decode(line, &head)
	must.Be(err == nil, "no proof of a bound: %w", err)
	must.Be(head.Tree == 1, "version %d of the proof is not known", head.Tree)
	must.Be(t.digest == "" || head.Digest == t.digest, "the proof is of another model, or of other data (model `%s`, digest %.12s)", head.Model, head.Digest)
	t.begun, t.most = true, longestLine(t.p)
	t.begin(nil, head.Duality, head.Shares)
}

// Report is what the lines so far show, where they are a proof.
func (t *TreeVerifier) Report() (*TreeReport, error) {
	if !t.begun || !t.complete() {
		return nil, errors.New("the proof ends before its leaves cover everything")
	}
	return &t.report, nil
}

// begin makes ready for the tree of a part of f, or of all of it.
func (v *treeVerification) begin(part *treePart, duality bool, shares *sparseVector) {
	v.added, v.leaf, v.done, v.shown = treeAdded{part: part, duality: duality, shares: shares, lift: &treeLift{}}, nil, false, math.Inf(1)
	v.convex = false
}

// beginPart begins with a part of f that is named.
func (v *treeVerification) beginPart(next *treeLine) {
	part := next.Part
	must.Be(next.count() == 1, "neither a part nor a branch")
	if part.first = v.added.part == nil; part.first {
		must.Be(v.leaf == nil && !v.added.duality && v.added.shares == nil && v.added.lines == 0, "a part of f within a tree")
	} else {
		must.Be(v.done, "a part of f within a tree")
	}
	must.Be(len(part.Columns) > 0, "a part of f without columns")
	for _, j := range part.Columns {
		must.Be(j >= 0 && j < len(v.owned) && !v.owned[j], "column %d is none, or in two places", j)
		v.owned[j] = true
	}
	v.begin(part, part.Duality, part.Shares)
}

// complete reports that the trees that were read are a proof.
func (v *treeVerification) complete() bool {
	return v.done && (v.added.part == nil || math.IsInf(v.report.Bound, 1) || !slices.Contains(v.owned, false))
}

// add takes what a tree adds to the model.
func (v *treeVerification) add(next *treeLine) {
	p, a := v.p, &v.added
	a.lines++
	must.Be(next.count() == 1, "neither a branch nor a leaf")
	switch {
	case next.Interior != nil:
		listed(&a.interiors, next.Interior, p.Dy, "interiors than entries of y")
	case next.Segment != nil:
		listed(&a.segments, next.Segment, tolerance.MostNumbers/(p.Dy+p.Rows.Len()), "segments than can be kept")
	case next.Choice != nil:
		listed(&a.choices, next.Choice, p.Rows.Len(), "choices than rows")
	case next.Dual != nil:
		listed(&a.dual, next.Dual, quadraticSides(p), "constraints than there are")
	case next.Concave != nil:
		listed(&a.squares, next.Concave, treeColumns(p)*(1+quadraticSides(p)), "directions than columns")
	case next.Product != nil:
		listed(&a.lift.products, next.Product, p.Dx*(p.Rows.Len()+p.Dy), "products than pairs of factors")
	case next.Slope != nil:
		listed(&a.lift.slopes, next.Slope, p.Dx*p.Dy, "slopes than entries of x and parts")
	default:
		listed(&a.lift.strong, next.Strong, treeColumns(p)+p.Dx*p.Dy+p.Dy*(len(p.X.Kind)+p.Dy), "rows of strong duality than pairs of factors")
	}
}

// listed puts another of a kind on the list, of which there may be so many at the most.
func listed[T any](list *[]T, one *T, most int, what string) {
	*list = append(*list, *one)
	must.Be(len(*list) <= most, "more %s", what)
}

// open makes the model of a tree.
func (v *treeVerification) open() {
	if v.model == nil {
		v.model = newTreeModel(v.p)
	}
	t := v.model.of(&v.added)
	v.leaf = newTreeLeaf(t)
	others := v.report.Terms
	v.report.Terms = func(x, y, lambda []float64) float64 {
		sum := t.terms(x, y, lambda)
		if others != nil {
			sum += others(x, y, lambda)
		}
		return sum
	}
}

// treeVerification is the place in a proof: the part of f whose tree is being read, and in that the branches whose children are.
type treeVerification struct {
	p      *problem.Problem
	report TreeReport
	model  *treeModel // nil before the first tree
	owned  []bool     // columns of parts so far
	some   bool       // a tree has ended

	added  treeAdded
	leaf   *treeLeaf // nil before the tree
	stack  []treeBranch
	shown  float64 // the least bound of its leaves
	least  float64 // what a leaf is to show
	convex bool    // f is shown to be so, but for its deficit: a leaf with a bound asks for it, one that is empty does not
	done   bool
}

// treeAdded is what the lines before a tree say.
type treeAdded struct {
	part      *treePart // nil: all of f
	duality   bool
	shares    *sparseVector
	interiors []treeInterior
	segments  []treeSegment
	choices   []treeChoice
	squares   []treeSquare
	dual      []treeSide
	lift      *treeLift
	lines     int
}

// treeBranch is a branch on the way to the present place.
type treeBranch struct {
	second func() // makes what its second child says; nil while that is being read
	before int    // changes of the leaf before its own
}

func (v *treeVerification) take(next *treeLine) {
	must.Be(next.count() == 1 && (next.At != nil) == (next.Entry != nil || next.Along != nil) && !next.adds(), "neither a branch nor a leaf")
	must.Be(next.Bound == nil && !next.Followed || v.model.known, "f is not quadratic")
	l, inf := v.leaf, math.Inf(1)
	switch {
	case next.Pair != nil:
		i := *next.Pair
		v.branches(i)
		v.enter(func() { l.hold(i, slackZero) }, func() { l.hold(i, multiplierZero) })
	case next.Option != nil:
		i := *next.Option
		of := l.t.options[i]
		must.Be(of != nil, "row %d is no option", i)
		v.branches(i)
		v.enter(func() { l.hold(i, slackZero) }, func() {
			l.hold(i, multiplierZero)
			for _, other := range of.bounds {
				if l.side[other] == 0 {
					l.hold(other, slackZero)
				}
			}
		})
	case next.Entry != nil:
		j, at := *next.Entry, *next.At
		must.Be(j >= 0 && j < v.p.Dx, "there is no entry %d of x", j)
		whole := integer(v.p, j)
		must.Be(isNumber(at) && (!whole || at == math.Floor(at) && math.Abs(at) < 1<<52), "entry %d splits at %v", j, at) // at + 1 is exact
		from := at
		if whole {
			from++
		}
		v.enter(func() { l.split(j, interval{-inf, at}) }, func() { l.split(j, interval{from, inf}) })
	case next.Range != nil:
		l.take(next.Range)
	case next.Along != nil:
		k, at := *next.Along, *next.At
		must.Be(k >= 0 && k < len(l.along), "there is no direction %d", k)
		must.Be(isNumber(at), "direction %d splits at %v", k, at)
		r := &l.along[k]
		v.enter(func() { l.narrow(&r.lo, &r.hi, interval{-inf, at}) }, func() { l.narrow(&r.lo, &r.hi, interval{at, inf}) })
	case next.Bound != nil:
		if !v.convex {
			l.t.convexity(l.t.plain, l.t.lo, l.t.hi)
			v.convex = true
		}
		l.load(next.Bound, false)
		v.end(l.bound(), &v.report.Leaves)
	case next.Followed:
		v.end(l.followed(), &v.report.Leaves)
	default:
		l.load(next.Empty, true)
		v.end(l.bound(), &v.report.Empty)
	}
}

// branches holds that there may be a branch on row i here.
func (v *treeVerification) branches(i int) {
	must.Be(i >= 0 && i < len(v.leaf.side) && v.p.Rows.Kind[i] == problem.AtMost, "row %d is no pair", i)
	must.Be(v.leaf.side[i] == 0, "row %d is fixed already", i)
}

// enter goes to the first child of a branch; second makes what the other one says.
func (v *treeVerification) enter(first, second func()) {
	v.report.Branches++
	v.stack = append(v.stack, treeBranch{second, len(v.leaf.undo)})
	v.report.Depth = max(v.report.Depth, len(v.stack))
	first()
}

// end takes the bound of a leaf, of which there is one more, and goes on to the next child that is not read.
func (v *treeVerification) end(bound float64, leaves *int64) {
	must.Be(bound >= v.least, "a leaf shows %v, not %v", bound, v.least)
	v.shown = math.Min(v.shown, bound)
	*leaves++
	for len(v.stack) > 0 {
		b := &v.stack[len(v.stack)-1]
		v.leaf.back(b.before)
		if second := b.second; second != nil {
			b.second = nil
			second()
			return
		}
		v.stack = v.stack[:len(v.stack)-1]
	}
	switch total := &v.report.Bound; {
	case !v.some:
		*total, v.some = v.shown, true
	case math.IsInf(*total, 1) || math.IsInf(v.shown, 1):
		*total = math.Inf(1)
	default:
		*total = point(*total).add(point(v.shown)).lo
	}
	v.done = true
}

// treeReader reads a proof line by line.
type treeReader struct {
	from *bufio.Reader
	text []byte
	line int
}

// next is the next line that is not blank, of so many bytes at most; io.EOF after the last.
func (r *treeReader) next(most int) ([]byte, error) {
	for {
		r.line++
		r.text = r.text[:0]
		for {
			part, err := r.from.ReadSlice('\n')
			r.text = append(r.text, part...)
			if len(r.text) > most {
				return nil, errors.New("the line is longer than one of this model's proofs can be")
			}
			if err == nil {
				break
			}
			if errors.Is(err, io.EOF) && len(r.text) > 0 {
				break
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				return nil, err
			}
		}
		if text := bytes.TrimSpace(r.text); len(text) > 0 {
			return text, nil
		}
	}
}

// decode reads the object of a line.
func decode(line []byte, into any) error {
	in := json.NewDecoder(bytes.NewReader(line))
	in.DisallowUnknownFields()
	if err := in.Decode(into); err != nil {
		return errors.New("no whole JSON object of a proof: " + strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON object")
	}
	return nil
}

// treeLine is one object of the tree.
type treeLine struct {
	Pair     *int         `json:"pair"`
	Option   *int         `json:"option"`
	Entry    *int         `json:"entry"`
	Along    *int         `json:"along"`
	Range    *treeRange   `json:"range"`
	At       *float64     `json:"at"`
	Bound    *treeWeights `json:"bound"`
	Empty    *treeWeights `json:"empty"`
	Followed bool         `json:"followed"`
	// Lines before a tree.
	Part     *treePart        `json:"part"`
	Choice   *treeChoice      `json:"choice"`
	Concave  *treeSquare      `json:"concave"`
	Dual     *treeSide        `json:"dual"`
	Interior *treeInterior    `json:"interior"`
	Segment  *treeSegment     `json:"segment"`
	Product  *treeProduct     `json:"product"`
	Slope    *treeCoefficient `json:"slope"`
	Strong   *treeStrong      `json:"strong"`
}

// adds reports whether it is a line before a tree, other than one of a part.
func (l *treeLine) adds() bool {
	return l.Interior != nil || l.Segment != nil || l.Choice != nil || l.Concave != nil || l.Dual != nil || l.Product != nil || l.Slope != nil || l.Strong != nil
}

// count is how many things the line says.
func (l *treeLine) count() (n int) {
	for _, is := range [...]bool{l.Pair != nil, l.Option != nil, l.Choice != nil, l.Entry != nil, l.Along != nil, l.Bound != nil, l.Empty != nil, l.Part != nil, l.Interior != nil, l.Segment != nil, l.Followed, l.Concave != nil, l.Dual != nil, l.Product != nil, l.Slope != nil, l.Strong != nil, l.Range != nil} {
		if is {
			n++
		}
	}
	return n
}
