package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"bilevelc/internal/must"
	"bilevelc/runtime"
	"bilevelc/runtime/method"
)

// evaluation is the answer of evaluate. Accuracy, and those of the products, are
// estimates of errors.
type evaluation struct {
	Objective   runtime.Number `json:"objective"`
	Accuracy    runtime.Number `json:"accuracy"`
	X           []float64      `json:"x"`
	Y           []float64      `json:"y"`
	Lambda      []float64      `json:"lambda"`
	Upper       runtime.Values `json:"upper"`
	Lower       runtime.Values `json:"lower"`
	Multipliers runtime.Values `json:"multipliers"`
	Kinks       []string       `json:"kinks"`
	Gradient    *product       `json:"gradient,omitempty"`
	VJP         *product       `json:"vjp,omitempty"`
	JVP         *tangent       `json:"jvp,omitempty"`
	Calls       runtime.Calls  `json:"calls"` // of the problem's evaluations so far
}

type product struct {
	Value    []float64      `json:"value"`
	Accuracy runtime.Number `json:"accuracy"`
	// Kink is there where the value is of one of the branches that meet.
	Kink string `json:"kink,omitempty"`
}

type tangent struct {
	Objective      runtime.Number `json:"objective"`
	Y              []float64      `json:"y"`
	Lambda         []float64      `json:"lambda"`
	AccuracyY      runtime.Number `json:"accuracy_y"`
	AccuracyLambda runtime.Number `json:"accuracy_lambda"`
}

func (s *server) evaluate(t *task) any {
	var p struct {
		Problem  string          `json:"problem"`
		X        json.RawMessage `json:"x"`
		Oracle   string          `json:"oracle"`
		Solver   string          `json:"solver"`
		Options  method.Values   `json:"options"`
		Gradient bool            `json:"gradient"`
		VJP      *struct {
			Y      json.RawMessage `json:"y"`
			Lambda json.RawMessage `json:"lambda"`
		} `json:"vjp"`
		JVP json.RawMessage `json:"jvp"`
	}
	must.Do(decode(t.Params, &p))
	b := s.problem(p.Problem)
	x := b.upper("x", p.X)
	asked := must.Get(json.Marshal(map[string]any{"oracle": p.Oracle, "solver": p.Solver, "options": p.Options}))
	e, layer := b.at(t, string(asked), runtime.Options{Oracle: p.Oracle, Solver: p.Solver, Settings: p.Options, Seed: 1}, x)
	out := &evaluation{Objective: runtime.Number(e.F), Accuracy: runtime.Number(e.Accuracy), X: e.X, Y: e.Y, Lambda: e.Lambda, Kinks: append([]string{}, e.Kinks...)}
	out.Upper, out.Lower, out.Multipliers = b.Named(e)
	if p.Gradient {
		out.Gradient = productOf(e.Gradient(t.ctx))
	}
	if p.VJP != nil {
		dy, dlambda := vector("vjp.y", p.VJP.Y), vector("vjp.lambda", p.VJP.Lambda)
		out.VJP = productOf(e.VJP(t.ctx, dy, dlambda))
	}
	if len(p.JVP) > 0 {
		d, err := e.JVP(t.ctx, vector("jvp", p.JVP))
		var kink *runtime.KinkError
		if errors.As(err, &kink) { // there is no derivative that way
			err = &runtime.UsageError{Err: err}
		}
		must.Do(err)
		out.JVP = &tangent{Objective: runtime.Number(d.F), Y: d.Y, Lambda: d.Lambda, AccuracyY: runtime.Number(d.AccuracyY), AccuracyLambda: runtime.Number(d.AccuracyLambda)}
	}
	out.Calls = layer.Calls()
	return out
}

// productOf is a product with the kink at which it was taken, if it was.
func productOf(value []float64, accuracy float64, err error) *product {
	p := &product{Value: value, Accuracy: runtime.Number(accuracy)}
	if kink, ok := errors.AsType[*runtime.KinkError](err); ok && value != nil {
		p.Kink = kink.Error()
		return p
	}
	must.Do(err)
	return p
}

// upper reads x: by name, or as one vector in the order of the declarations.
func (b *bound) upper(name string, text json.RawMessage) []float64 {
	if text = bytes.TrimSpace(text); len(text) > 0 && text[0] == '{' {
		if packed, ok := unpack(text); ok {
			return packed.flat(name)
		}
		var named runtime.Values
		err := json.Unmarshal(text, &named)
		hold(err == nil, "params: %s: %v", name, err)
		return must.Get(b.Vector(named))
	}
	return vector(name, text)
}

// at evaluates at x, unless the last evaluation was there: a gradient is often asked for
// after the value.
func (b *bound) at(t *task, methods string, opts runtime.Options, x []float64) (*runtime.Evaluation, *runtime.Layer) {
	layer := b.layers[methods]
	if layer == nil {
		layer = must.Get(b.Layer(opts))
	}
	if e := b.points[methods]; e != nil && slices.Equal(e.X, x) {
		return e, layer
	}
	e, err := layer.Evaluate(t.ctx, x)
	if err != nil && t.ctx.Err() != nil {
		delete(b.layers, methods) // it was stopped midway
		must.Do(err)
	}
	if b.layers == nil {
		b.layers, b.points = map[string]*runtime.Layer{}, map[string]*runtime.Evaluation{}
	}
	b.layers[methods] = layer
	must.Do(err)
	b.points[methods] = e
	return e, layer
}
