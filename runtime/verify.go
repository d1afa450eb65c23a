package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/must"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/named"
	"bilevelc/runtime/qp"
)

// Digest identifies the model's text and the data it was bound to.
func (p *Problem) Digest() string {
	p.shared.once.Do(func() {
		if p.shared.digest == "" {
			p.shared.digest = p.sum()
		}
	})
	return p.shared.digest
}

func (p *Problem) sum() string {
	h := sha256.New()
	h.Write([]byte(p.IR.Program.File.Source.Text))
	word := make([]byte, 8)
	for _, s := range p.IR.Sets {
		fmt.Fprintf(h, "\x00%s %d %q\x00", s.Name, s.Axis.Size, s.Axis.Labels)
	}
	for _, d := range p.IR.Data {
		if d.Texts != nil {
			fmt.Fprintf(h, "\x00%s %q\x00", d.Name, d.Texts)
			continue
		}
		fmt.Fprintf(h, "\x00%s %v\x00", d.Name, d.Array.Shape)
		if d.Array.Sparse != nil {
			for i := range d.Array.Sparse.Rows {
				for j, v := range d.Array.Sparse.Entries(i) {
					binary.LittleEndian.PutUint64(word, math.Float64bits(v))
					fmt.Fprintf(h, "%d,%d:%x ", i, j, word)
				}
			}
			continue
		}
		for _, v := range d.Array.Dense {
			binary.LittleEndian.PutUint64(word, math.Float64bits(v))
			h.Write(word)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// NoPointError says that nothing of a result can be checked: it has neither a point nor what shows that there is none.
type NoPointError struct{ Why string }

func (e *NoPointError) Error() string { return e.Why }

// Verify evaluates every claim of a result of this problem again, with code
// that shares nothing with the solvers; the further answers of a follower with ties, which are
// not in the document, are found by a lower solver, and shown to be answers by multipliers. The error says that the document is
// not one of this problem.
func (p *Problem) Verify(r *Result) (*certify.Report, error) { return p.verifyWith(r, nil) }

// verifyWith is Verify, with the proof of a global bound where that is not nil.
func (p *Problem) verifyWith(r *Result, proof *proofText) (_ *certify.Report, err error) {
	defer must.Catch(&err)
	if p.exact != nil && (r.onSystem() || !r.HasPoint()) {
		return p.exact.verifyWith(r, proof)
	}
	if !r.HasPoint() {
		p, done := p.borrow(context.Background())
		defer done()
		c := &claims{p: p, r: r, read: r, report: &certify.Report{}}
		if proof == nil {
			if shown := c.contradiction(); shown != nil {
				return shown, nil
			}
			how := ""
			if r.Status == Infeasible && p.contradiction() == qp.Solved {
				how = "; linear constraints of both levels do not contradict each other"
			}
			if r.Status == Infeasible && r.Global != nil && math.IsInf(float64(r.Global.Bound), 0) {
				how += "; a proof that a run writes (--proof) can be verified"
			}
			return nil, &NoPointError{fmt.Sprintf("the result holds no point to verify: %s (%s)%s", r.Status, r.Reason, how)}
		}
		c.infeasible(proof)
		return c.report, nil
	}
	p, done := p.borrow(context.Background())
	defer done()
	p = p.counted()
	read, ordered := r, *r
	ordered.Result = *named.InOrder(p.IR, &r.Result)
	r = &ordered
	doc := &certify.Document{GradientError: float64(r.Stationarity.GradientError), Certificate: r.Certificate,
		Solved: r.Status == Solved, Stationary: r.Method != "", Strict: r.Stationarity.Strict, Epsilon: r.asked(), Radius: p.radius(r), Relative: relativeRadius(r.Method),
		Rough: r.rough(), Unbounded: r.Status == Unbounded, Tied: p.exactTies != ""}
	doc.X = must.Get(named.Vector(&p.IR.Upper, r.Upper.Variables))
	doc.Y = must.Get(named.Vector(&p.IR.Lower, r.Lower.Variables))
	doc.Y = p.units.Enter(doc.Y)
	multipliers, lower := r.Lower.Multipliers, r.Lower.Objective
	if p.equivalent() {
		e := r.Lower.Equivalent
		if e == nil {
			return nil, fmt.Errorf("the result lacks the multipliers of what was solved in the place of the lower level")
		}
		multipliers, lower = e.Multipliers, e.Objective
	}
	doc.Lambda = must.Get(named.ReadMultipliers(p.IR.Rows, multipliers))
	must.Do(p.restore(doc))
	_, upperSign := sense(&p.IR.Upper)
	_, lowerSign := sense(&p.IR.Lower)
	if doc.Upper, doc.Lower = upperSign*float64(r.Upper.Objective), float64(lower); !p.equivalent() {
		doc.Lower *= lowerSign
	}
	if len(r.Upper.Hypergradient) > 0 {
		doc.Hypergradient = must.Get(named.Vector(&p.IR.Upper, r.Upper.Hypergradient))
		floats.Scale(upperSign, doc.Hypergradient)
	}
	doc.Coupled = p.coupledClaims(r)
	if p.ties != nil { // the document's objective is without what was added to it
		doc.Lower += p.Numeric.G.Value(doc.X, doc.Y) - p.ties.g.Value(doc.X, doc.Y)
	}
	report := certify.Verify(doc, p.Numeric)
	if !linalg.Finite(doc.X) || !linalg.Finite(doc.Y) || !linalg.Finite(doc.Lambda) {
		return report, nil // which says so: programs at such a point have no data
	}
	c := &claims{p: p, r: r, read: read, doc: doc, h: make([]float64, p.Numeric.Rows.Len()), report: report}
	p.Numeric.Rows.Residual(c.h, doc.X, doc.Y)
	c.all()
	c.global(proof)
	report.Calls = p.Numeric.Calls()
	return report, nil
}

// worstDifference is the largest difference of two vectors and its place; a
// NaN on one side only differs by +Inf, and so do vectors of other lengths.
func worstDifference(a, b []float64) (at int, worst float64) {
	if len(a) != len(b) {
		return 0, math.Inf(1)
	}
	for i := range a {
		if d := apart(a[i], b[i]); d > worst {
			at, worst = i, d
		}
	}
	return at, worst
}

// apart is how far two numbers are; infinities and NaN agree with themselves alone.
func apart(a, b float64) float64 {
	d := math.Abs(a - b)
	switch {
	case a == b || math.IsNaN(a) && math.IsNaN(b):
		return 0
	case math.IsNaN(d):
		return math.Inf(1)
	}
	return d
}
