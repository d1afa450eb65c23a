package runtime

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/lang/diag"
	"bilevelc/runtime/document"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/named"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/status"
	"bilevelc/runtime/tolerance"
)

// Along is a line of upper points: one entry of x takes values from From to To, Step
// apart, both ends included where they are met; the other entries stay.
type Along struct {
	Entry string  `json:"entry"` // as results name it: toll, x[3], flow["Rome", "Oslo"]
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Step  float64 `json:"step"`
}

// maxLine bounds the points of a line, each of which keeps the follower's answer.
const maxLine = 100_000

// ParseAlong reads ENTRY=FROM:TO:STEP, as in x[3]=0:5:0.1. The error says what is
// wrong with the text.
func ParseAlong(text string) (a Along, err error) {
	defer must.Catch(&err)
	at := strings.LastIndexByte(text, '=')
	parts := strings.Split(text[at+1:], ":")
	must.Be(at > 0 && len(parts) == 3, "%q is not ENTRY=FROM:TO:STEP, as in x[3]=0:5:0.1", text)
	a.Entry = strings.TrimSpace(text[:at])
	for k, into := range []*float64{&a.From, &a.To, &a.Step} {
		*into, err = strconv.ParseFloat(strings.TrimSpace(parts[k]), 64)
		must.Be(err == nil, "%q is not a number, in ENTRY=FROM:TO:STEP", parts[k])
	}
	_, err = a.places()
	return a, err
}

// places are the values that the entry takes.
func (a Along) places() (_ []float64, err error) {
	defer must.Catch(&err)
	must.Be(linalg.Finite([]float64{a.From, a.To, a.Step}), "the line of %s from %v to %v by %v is not finite", a.Entry, a.From, a.To, a.Step)
	span := a.To/2 - a.From/2 // halves: the ends may be far apart
	if span == 0 {
		return []float64{a.From}, nil
	}
	must.Be(a.Step != 0 && a.Step > 0 == (span > 0), "steps of %v do not lead from %v to %v", a.Step, a.From, a.To)
	// The last step may miss the end by the rounding of a decimal step, a few units
	// in the last place for each of the steps.
	steps := 2 * (span / a.Step)
	must.Be(steps < maxLine, "a line of %.3g points is longer than the %d that one may have", steps+1, maxLine)
	n := int(math.Floor(steps * (1 + 1e-12)))
	out := each.Below(n+1, func(k int) float64 { return a.From + float64(k)*a.Step })
	if math.Abs(out[n]-a.To) <= 1e-9*math.Abs(a.Step) {
		out[n] = a.To
	}
	return out, nil
}

// LinePoint is F and the follower's answer at one point of a line. Where there is no
// answer Status and Reason say why, and the rest is empty.
type LinePoint struct {
	At          Number   `json:"at"`        // the value of the entry
	Objective   Number   `json:"objective"` // F in the user's sense
	Lower       Number   `json:"lower"`     // g in the user's sense
	Variables   Values   `json:"variables"` // of the lower level
	Multipliers Values   `json:"multipliers"`
	Active      []string `json:"active"`
	Strict      bool     `json:"strict_complementarity"` // without it F may have a kink here
	Status      Status   `json:"status"`
	Reason      string   `json:"reason,omitempty"`
}

// Line is F and the follower's answer along a line of upper points.
type Line struct {
	Schema int         `json:"schema"`
	Model  string      `json:"model"`
	Along  Along       `json:"along"`
	Sense  string      `json:"sense"` // of F
	Upper  Values      `json:"upper"` // the point that the line goes through
	Points []LinePoint `json:"points"`
	Calls  Calls       `json:"calls"`
	Time   float64     `json:"time"` // seconds
	Digest string      `json:"digest"`
}

// Along evaluates F, the follower's answer and its multipliers along a line through
// an upper point, without solving the upper level. Each lower solve starts from the
// one before. A point without an answer is part of the line and says why; only the
// end of ctx ends it early, with its cause and the points so far. Entries of at that
// the line sets may be missing where they are a whole variable. Of the options the
// lower solver and its settings count.
func (p *Problem) Along(ctx context.Context, at Values, a Along, opts Options) (_ *Line, err error) {
	defer must.Catch(&err)
	watch := stopwatch{last: time.Now()}
	places, err := a.places()
	must.Do(usage(err))
	j, name, err := p.upperEntry(a.Entry)
	must.Do(usage(err))
	a.Entry = name
	if v := named.Find(&p.IR.Upper, name); v != nil { // without an index: a number
		if _, given := at.Get(name); !given {
			at = append(at[:len(at):len(at)], Value{Name: name, Data: []float64{a.From}})
		}
	}
	x := must.Get(p.upperPoint(at))
	of, own, err := p.apart().evaluator(opts, false)
	must.Do(err)
	word, sign := sense(&p.IR.Upper)
	_, lowerSign := sense(&p.IR.Lower)
	line := &Line{Schema: SchemaVersion, Model: p.IR.Name, Along: a, Sense: word, Upper: named.Variables(&p.IR.Upper, x, 1), Digest: p.Digest()}
	defer func() { line.Calls, line.Time = of.Calls(), watch.lap() }()
	for _, t := range places {
		x[j] = t
		out := LinePoint{At: Number(t), Objective: Number(math.NaN()), Lower: Number(math.NaN())}
		a, err := of.evaluate(ctx, x)
		switch {
		case ctx.Err() != nil:
			return line, context.Cause(ctx)
		case err == nil:
			pt := a.at()
			y := own.units.Leave(pt.Lower.Y)
			out.Status = Solved
			if pt.Lower.Status != lower.Solved {
				out.Status, out.Reason = NumericalFailure, pt.Lower.Reason
			}
			out.Objective, out.Lower, out.Strict = Number(sign*pt.F+0), Number(lowerSign*p.ownValue(pt.Lower.Value, pt.X, y)+0), pt.Strict
			out.Variables = named.Variables(&p.IR.Lower, y, 1)
			out.Multipliers = named.Multipliers(p.IR.Rows, p.ownMultipliers(pt.X, y, pt.Lower.Lambda))
			active, _ := pt.Rows()
			out.Active = named.RowNames(p.IR.Rows, active)
		default:
			if out.Status = statusAt(err); out.Status == status.Running {
				return line, err
			}
			out.Reason = err.Error()
		}
		line.Points = append(line.Points, out)
	}
	return line, nil
}

// statusAt is what an error at one point says of it; Running where it is no outcome of
// a lower solve.
func statusAt(err error) Status {
	switch {
	case errors.As(err, new(*oracle.InfeasibleError)):
		return Infeasible
	case errors.As(err, new(*oracle.UnboundedError)):
		return Unbounded
	case errors.As(err, new(*oracle.LowerError)):
		return NumericalFailure
	}
	return status.Running
}

// upperEntry finds an entry of x by its name, with or without blanks and with or
// without quotes around labels, and gives its place and its name as results write it.
func (p *Problem) upperEntry(text string) (j int, name string, err error) {
	plain := strings.NewReplacer(" ", "", "\t", "", `"`, "")
	want := plain.Replace(text)
	var names []string
	found := -1
	for j, entry := range entryNames(&p.IR.Upper) {
		if entry == text {
			return j, entry, nil
		}
		if plain.Replace(entry) == want {
			if found >= 0 {
				return 0, "", fmt.Errorf("%s may be %s or %s: write it as one of them", text, name, entry)
			}
			found, name = j, entry
		}
		names = append(names, entry)
	}
	if found >= 0 {
		return found, name, nil
	}
	if v := named.Find(&p.IR.Upper, want); v != nil {
		return 0, "", fmt.Errorf("%s is %s: name one entry of it, as in %s", want, document.ShapeWords(v.Shape.Dims()), v.EntryName(0))
	}
	base, _, _ := strings.Cut(want, "[")
	if v := named.Find(&p.IR.Upper, base); v != nil {
		own := each.Below(v.Shape.Len(), v.EntryName)
		if len(own) > tolerance.MostNamed {
			own = append(own[:tolerance.MostNamed-1:tolerance.MostNamed-1], "...", own[len(own)-1])
		}
		return 0, "", fmt.Errorf("the upper level has no entry %s: it has %s", text, strings.Join(own, ", "))
	}
	return 0, "", fmt.Errorf("the upper level has no entry %s%s", text, diag.DidYouMean(text, names))
}
