package certify

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"bilevelc/runtime/problem"
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
// those of f with its products of x, y and lambda cancelled by strong duality. All but the version may
// be absent. Lines for the squares that make an f convex that is not may come next, and direction k is the k-th of them:
//
//	{"concave": {"weight": s, "of": {..}, "lo": l, "hi": u}}   s > 0, and a vector v over the columns: with w = v'z in [l, u], -s w^2 >= s (l u - (l + u) w)
//
// So may lines for columns that are products, p = x_c t, of a multiplier or an entry of y, with rows p - v t for levels v, and rows of strong duality
// with them:
//
//	{"product": {"entry": c, "multiplier": i, "levels": [..]}}              t = lambda_i
//	{"product": {"entry": c, "answer": j, "above": l, "levels": [..]}}      t = y_j - l; with "below" u - y_j, with neither y_j
//	{"strong": {"answer": j}}                                               of the part of the lower level with y_j, where g is linear in it
//	{"strong": {"answer": j, "times": c}}                                   stationarity in y_j times x_c
//
// The tree follows, a parent before its children and all of
// the first child before the second:
//
//	{"pair": i}             row i of the lower level: first its slack is zero, then its multiplier
//	{"entry": j, "at": v}   integer entry j of x: first x_j <= v, then x_j >= v + 1
//	{"along": k, "at": v}   direction k: first w <= v, then w >= v
//	{"bound": {..}}         a leaf, with weights that bound f there
//	{"empty": {..}}         a leaf, with weights that show that it has no point
//
// A leaf may have multiples >= 0 of the leader's convex quadratic constraints beside f ("curved").
//
// Every point of the system is in a leaf, since the children of a branch cover it. The memory it takes does not depend on the
// number of lines. Followers have linear rows, so their answers satisfy the system, whether g is convex or not. What is wrong with a proof is a
// *TreeError.
func VerifyTree(p *problem.Problem, r io.Reader, digest string) (*TreeReport, error) {
	in := &treeReader{from: bufio.NewReaderSize(r, 1<<16), most: 1 << 16}
	var head struct {
		Tree    int    `json:"tree"`
		Model   string `json:"model"`
		Digest  string `json:"digest"`
		Duality bool   `json:"duality"`
	}
	if err := in.next(&head); err != nil {
		return nil, in.wrong(fmt.Errorf("no proof of a bound: %w", err))
	}
	switch {
	case head.Tree != 1:
		return nil, in.wrong(fmt.Errorf("version %d of the proof is not known", head.Tree))
	case digest != "" && head.Digest != digest:
		return nil, in.wrong(fmt.Errorf("the proof is of another model, or of other data (model `%s`, digest %.12s)", head.Model, head.Digest))
	}
	in.most = longestLine(p)
	v := &treeVerification{report: TreeReport{Bound: math.Inf(1)}, p: p}
	var squares []treeSquare
	lift := &treeLift{}
	for !v.done {
		var next treeLine
		err := in.next(&next)
		if errors.Is(err, io.EOF) {
			err = errors.New("the proof ends before its leaves cover everything")
		}
		switch {
		case err != nil:
		case next.Concave != nil && v.leaf == nil:
			if squares = append(squares, *next.Concave); len(squares) > treeColumns(p) {
				err = errors.New("more directions than columns")
			}
		case next.Product != nil && v.leaf == nil:
			if lift.products = append(lift.products, *next.Product); len(lift.products) > p.Dx*(p.Rows.Len()+p.Dy) {
				err = errors.New("more products than pairs of factors")
			}
		case next.Strong != nil && v.leaf == nil:
			if lift.strong = append(lift.strong, *next.Strong); len(lift.strong) > treeColumns(p)+p.Dx*p.Dy {
				err = errors.New("more rows of strong duality than pairs of factors")
			}
		default:
			if v.leaf == nil {
				var t *treeModel
				if t, err = newTreeModel(p, head.Duality, squares, lift); err != nil {
					break
				}
				in.most += 40 * lift.room()
				v.leaf, v.report.Terms = newTreeLeaf(t), t.terms
			}
			err = v.take(&next)
		}
		if err != nil {
			return nil, in.wrong(err)
		}
	}
	switch err := in.next(new(json.RawMessage)); {
	case err == nil:
		return nil, in.wrong(errors.New("the proof goes on after its leaves cover everything"))
	case !errors.Is(err, io.EOF):
		return nil, in.wrong(err)
	}
	return &v.report, nil
}

// treeReader reads a proof line by line.
type treeReader struct {
	from *bufio.Reader
	text []byte
	line int
	most int // bytes of a line
}

func (r *treeReader) wrong(err error) error { return &TreeError{max(1, r.line), err} }

// next decodes the next line that is not blank; io.EOF after the last.
func (r *treeReader) next(into any) error {
	for {
		r.line++
		r.text = r.text[:0]
		for {
			part, err := r.from.ReadSlice('\n')
			r.text = append(r.text, part...)
			if len(r.text) > r.most {
				return errors.New("the line is longer than one of this model's proofs can be")
			}
			if err == nil {
				break
			}
			if errors.Is(err, io.EOF) && len(r.text) > 0 {
				break
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				return err
			}
		}
		if text := bytes.TrimSpace(r.text); len(text) > 0 {
			in := json.NewDecoder(bytes.NewReader(text))
			in.DisallowUnknownFields()
			if err := in.Decode(into); err != nil {
				return errors.New("no whole JSON object of a proof: " + strings.TrimPrefix(err.Error(), "json: "))
			}
			if _, err := in.Token(); !errors.Is(err, io.EOF) {
				return errors.New("more than one JSON object")
			}
			return nil
		}
	}
}

// treeLine is one object of the tree.
type treeLine struct {
	Pair  *int         `json:"pair"`
	Entry *int         `json:"entry"`
	Along *int         `json:"along"`
	At    *float64     `json:"at"`
	Bound *treeWeights `json:"bound"`
	Empty *treeWeights `json:"empty"`
	// Lines before the tree.
	Concave *treeSquare  `json:"concave"`
	Product *treeProduct `json:"product"`
	Strong  *treeStrong  `json:"strong"`
}

// treeVerification is the place in a tree: the branches whose children are being read.
type treeVerification struct {
	p      *problem.Problem
	report TreeReport
	leaf   *treeLeaf
	stack  []treeBranch
	done   bool
}

// treeBranch is a branch on the way to the present place; undo is what to restore when its child ends.
type treeBranch struct {
	pair   int // row, or -1
	entry  int // integer entry of x, or -1
	along  int // direction, where both are -1
	at     float64
	second bool // the second child is being read
	col    int  // whose box changed, or -1
	lo, hi float64
}

func (v *treeVerification) take(next *treeLine) error {
	count := 0
	for _, is := range [...]bool{next.Pair != nil, next.Entry != nil, next.Along != nil, next.Bound != nil, next.Empty != nil} {
		if is {
			count++
		}
	}
	if count != 1 || (next.At != nil) != (next.Entry != nil || next.Along != nil) || next.Concave != nil || next.Product != nil || next.Strong != nil {
		return fmt.Errorf("neither a branch nor a leaf")
	}
	switch {
	case next.Pair != nil:
		i := *next.Pair
		if i < 0 || i >= len(v.leaf.side) || v.p.Rows.Kind[i] != problem.AtMost {
			return fmt.Errorf("row %d is no pair", i)
		}
		if v.leaf.side[i] != 0 {
			return fmt.Errorf("row %d is fixed already", i)
		}
		v.enter(treeBranch{pair: i, entry: -1})
	case next.Entry != nil:
		j := *next.Entry
		if j < 0 || j >= v.p.Dx || !integer(v.p, j) {
			return fmt.Errorf("entry %d of x is not integer", j)
		}
		if at := *next.At; at != math.Floor(at) || !(math.Abs(at) < 1<<52) { // at + 1 is exact
			return fmt.Errorf("entry %d splits at %v", j, at)
		}
		v.enter(treeBranch{pair: -1, entry: j, at: *next.At})
	case next.Along != nil:
		k := *next.Along
		if k < 0 || k >= len(v.leaf.t.squares) {
			return fmt.Errorf("there is no direction %d", k)
		}
		if math.IsNaN(*next.At) || math.IsInf(*next.At, 0) {
			return fmt.Errorf("direction %d splits at %v", k, *next.At)
		}
		v.enter(treeBranch{pair: -1, entry: -1, along: k, at: *next.At})
	case next.Bound != nil:
		v.report.Leaves++
		return v.end(next.Bound, false)
	default:
		v.report.Empty++
		return v.end(next.Empty, true)
	}
	return nil
}

// enter goes to the first child of a branch.
func (v *treeVerification) enter(b treeBranch) {
	v.report.Branches++
	v.stack = append(v.stack, b)
	v.report.Depth = max(v.report.Depth, len(v.stack))
	v.hold(&v.stack[len(v.stack)-1])
}

// hold makes what the present child of b says.
func (v *treeVerification) hold(b *treeBranch) {
	l := v.leaf
	if b.pair >= 0 {
		side := int8(1)
		if b.second {
			side = 2
		}
		b.col, b.lo, b.hi = l.hold(b.pair, side)
		return
	}
	if b.entry < 0 {
		r := &l.along[b.along]
		if !b.second { // what is kept is the range of the parent
			b.lo, b.hi = r.lo, r.hi
		}
		if r.lo, r.hi = b.lo, b.hi; b.second {
			r.lo = math.Max(r.lo, b.at)
		} else {
			r.hi = math.Min(r.hi, b.at)
		}
		b.col = -1
		return
	}
	b.col, b.lo, b.hi = b.entry, l.lo[b.entry], l.hi[b.entry]
	if b.second {
		l.lo[b.entry] = math.Max(b.lo, b.at+1)
	} else {
		l.hi[b.entry] = math.Min(b.hi, b.at)
	}
}

// release undoes hold.
func (v *treeVerification) release(b *treeBranch) {
	if b.pair >= 0 {
		v.leaf.side[b.pair] = 0
	}
	if b.pair < 0 && b.entry < 0 {
		v.leaf.along[b.along] = interval{b.lo, b.hi}
	}
	if b.col >= 0 {
		v.leaf.lo[b.col], v.leaf.hi[b.col] = b.lo, b.hi
	}
}

// end evaluates a leaf, and goes on to the next child that is not read.
func (v *treeVerification) end(w *treeWeights, empty bool) error {
	if err := v.leaf.load(w, empty); err != nil {
		return err
	}
	bound, err := v.leaf.bound()
	if err != nil {
		return err
	}
	v.report.Bound = math.Min(v.report.Bound, bound)
	for len(v.stack) > 0 {
		b := &v.stack[len(v.stack)-1]
		v.release(b)
		if !b.second {
			b.second = true
			v.hold(b)
			return nil
		}
		v.stack = v.stack[:len(v.stack)-1]
	}
	v.done = true
	return nil
}
