package runtime

import (
	"context"
	"fmt"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/ir"
	"bilevelc/ir/curvature"
	"bilevelc/ir/data"
)

// origin is what a problem was bound from, for Update.
type origin struct {
	model *Model
	set   *data.Set
	opts  BindOptions
}

// Update is the problem with new numbers for some of its data, of the shapes that they
// have; p stays as it is. It gives what Bind gives, at a part of the cost: gradient
// graphs are taken over, compiled programs where their numbers are the same, and
// proofs where nothing that they depend on has changed; the other claims are proved
// again, and what Bind refuses is refused. Data that change what the model is made of,
// such as a condition that selects other rows, cost as much as Bind.
//
// Where the second derivatives of f or g have changed, and couple more than 40
// variables, the constants are proved by one factorization as a rule. They hold, and may
// be weaker than Bind's: a modulus by half of it at most, a bound by half. Steps and
// error bounds follow them, so that results then agree with those of Bind to the
// tolerances of a run, and not to the last bit.
//
// The error is a diag.List for data that the model refuses, and a *UsageError for data
// that change the shape of x, y or the rows: those need Bind.
func (p *Problem) Update(d Data) (_ *Problem, err error) {
	defer must.Catch(&err)
	return p.UpdateSet(context.Background(), must.Get(d.Set()))
}

// UpdateSet is Update with arrays that were read from files, given up when ctx ends:
// the error is then its cause.
func (p *Problem) UpdateSet(ctx context.Context, changed *data.Set) (*Problem, error) {
	if p.origin == nil {
		return nil, &UsageError{Err: fmt.Errorf("the problem was not made by Bind")}
	}
	kept := each.Where(p.origin.set.Entries, func(e data.Entry) bool { return changed.Get(e.Name) == nil })
	opts := p.origin.opts
	opts.Context = ctx
	return p.origin.model.bindAfter(&data.Set{Entries: append(kept, changed.Entries...)}, opts, p)
}

// sameShapes is an error where two bound problems do not have the same variables and
// rows.
func sameShapes(before, after *ir.Problem) error {
	for _, level := range [][2]*ir.Level{{&before.Upper, &after.Upper}, {&before.Lower, &after.Lower}} {
		if len(level[0].Vars) != len(level[1].Vars) { // hidden ones of kinks that data switch on or off
			return &UsageError{Err: fmt.Errorf("the data change how many functions with kinks there are: bind them anew")}
		}
		for i, v := range level[0].Vars {
			if w := level[1].Vars[i]; v.Shape != w.Shape {
				return &UsageError{Err: fmt.Errorf("the data make %s a %s, which was a %s: bind them anew", v.Name, w.Shape, v.Shape)}
			}
		}
	}
	return nil
}

// earlier is what proofs may take over from a problem; nil from none.
func (p *Problem) earlier() *curvature.Earlier {
	if p == nil {
		return nil
	}
	return &curvature.Earlier{Problem: p.IR, Proof: p.Proof}
}
