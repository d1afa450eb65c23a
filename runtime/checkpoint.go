package runtime

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"bilevelc/internal/jsonfault"
	"bilevelc/internal/must"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/tree"
)

// Checkpoint is the state of a run that has not ended. A run resumed from it, on
// the same model, data and settings, equals one that was never stopped, bit for
// bit, its calls included. It encodes to JSON without loss, with a digest.
type Checkpoint struct {
	Model    string             `json:"model"`
	Digest   string             `json:"digest"` // of the model and its data
	Method   string             `json:"method"`
	Oracle   string             `json:"oracle"`
	Solver   string             `json:"solver"`
	Seed     uint64             `json:"seed"`
	Settings map[string]any     `json:"settings"`
	Start    []float64          `json:"start,omitempty"` // where the caller said; nil: where the model does, or chosen
	Coupling *CouplingState     `json:"coupling,omitempty"`
	Starts   []outer.StartState `json:"starts"` // how far each start has come
	// Automatic says that Starts has room for the most starts that there may be, and
	// that the run ends after as many as outer.MultiStart asks for.
	Automatic bool `json:"automatic,omitempty"`
	// Open says that nobody has said where the run begins, nor how: it begins at the end of a path (ahead).
	Open bool `json:"open,omitempty"`
	// Ahead are the calls that the path took.
	Ahead Calls `json:"ahead"`
	// Search is how far the search for the global optimum has come, of a run on the KKT system; nil before it. What comes before it is done again: it takes little, and
	// is the same.
	Search *SearchState `json:"search,omitempty"`
}

// SearchState is a search for the global optimum between two rounds, with what was asked of it.
type SearchState struct {
	Gap   float64     `json:"gap"`
	Nodes int64       `json:"nodes"`
	Kind  Search      `json:"kind"`
	Tree  *tree.State `json:"tree,omitempty"`
}

// checkpointSchema is the version of the checkpoint document.
const checkpointSchema = 12

// envelope is the document of a checkpoint: its state, and the SHA-256 of the
// state's text without blanks.
type envelope struct {
	Schema int             `json:"schema"`
	SHA256 string          `json:"sha256"`
	State  json.RawMessage `json:"state"`
}

// MarshalJSON writes the checkpoint's document.
func (c *Checkpoint) MarshalJSON() (_ []byte, err error) {
	defer must.Catch(&err)
	type plain Checkpoint
	state := must.Get(json.Marshal((*plain)(c)))
	sum := sha256.Sum256(state)
	return json.Marshal(envelope{Schema: checkpointSchema, SHA256: hex.EncodeToString(sum[:]), State: state})
}

// UnmarshalJSON reads a checkpoint's document. One that was changed in any way is
// refused.
func (c *Checkpoint) UnmarshalJSON(text []byte) (err error) {
	defer must.Catch(&err)
	readable := func(err error) { must.Be(err == nil, "not a checkpoint: %w", err) }
	var e envelope
	readable(strictly(text, &e))
	must.Be(e.Schema == checkpointSchema, "a checkpoint of schema %d; this version reads schema %d", e.Schema, checkpointSchema)
	var state bytes.Buffer
	readable(json.Compact(&state, e.State))
	sum := sha256.Sum256(state.Bytes())
	must.Be(e.SHA256 == hex.EncodeToString(sum[:]), "the checkpoint is damaged: its digest is not that of its state")
	type plain Checkpoint
	var p plain
	readable(strictly(state.Bytes(), &p))
	*c = Checkpoint(p)
	return nil
}

// strictly decodes a document without fields that it does not know.
func strictly(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return jsonfault.Plain(d.Decode(into))
}

// ReadCheckpoint reads a checkpoint.
func ReadCheckpoint(text []byte) (*Checkpoint, error) {
	if !json.Valid(text) {
		return nil, errors.New("not a checkpoint: it is not JSON, or not all of it")
	}
	c := &Checkpoint{}
	return c, c.UnmarshalJSON(text)
}

// completeOptions takes the choices of a checkpoint where the options leave them open.
func (c *Checkpoint) completeOptions(opts Options) Options {
	opts.Method, opts.Oracle, opts.Solver = cmp.Or(opts.Method, c.Method), cmp.Or(opts.Oracle, c.Oracle), cmp.Or(opts.Solver, c.Solver)
	if len(opts.Settings) == 0 {
		opts.Settings = c.Settings
	}
	opts.Starts, opts.Seed = cmp.Or(opts.Starts, len(c.Starts)), c.Seed
	return opts
}

// fits reports a difference that would make the resumed run another one.
func (c *Checkpoint) fits(p *Problem, opts Options, settings map[string]any) error {
	err := c.fitsRun(p, opts)
	switch {
	case err != nil:
		return err
	case c.Method != opts.Method || c.Oracle != opts.Oracle || c.Solver != opts.Solver:
		return fmt.Errorf("the checkpoint is of method %s, oracle %s and solver %s", c.Method, c.Oracle, c.Solver)
	case len(c.Settings)+len(settings) > 0 && !reflect.DeepEqual(plain(c.Settings), plain(settings)):
		return fmt.Errorf("the checkpoint has other settings: %v", c.Settings)
	}
	return nil
}

// fitsRun is fits for what is asked of every run, whatever it is solved with.
func (c *Checkpoint) fitsRun(p *Problem, opts Options) error {
	switch {
	case c.Digest != p.Digest():
		return errors.New("the checkpoint is of another model, or of other data")
	case opts.Start != nil:
		return errors.New("a run that goes on has its start already")
	case opts.Starts != 0 && opts.Starts != len(c.Starts):
		return fmt.Errorf("the checkpoint is of %d starts, not %d", len(c.Starts), opts.Starts)
	case min(c.Ahead.F, c.Ahead.GradF, c.Ahead.G, c.Ahead.GradG) < 0:
		return errors.New("the checkpoint counts fewer than no calls")
	case c.Start != nil && len(c.Start) != p.IR.Upper.Dim:
		return fmt.Errorf("the checkpoint's start has %d entries, x has %d", len(c.Start), p.IR.Upper.Dim)
	}
	return nil
}

// plain makes settings comparable with ones that went through JSON.
func plain(settings map[string]any) map[string]any {
	out := map[string]any{}
	for name, v := range settings {
		if i, ok := v.(int); ok {
			v = float64(i)
		}
		out[name] = v
	}
	return out
}
