package runtime

import (
	"encoding/json"
	"fmt"
	"reflect"

	"bilevelc/runtime/outer"
)

// Checkpoint is the state of a run that was interrupted or met a limit. A run
// resumed from it, on the same model, data and settings, equals one that was
// never stopped, bit for bit. It encodes to JSON without loss.
type Checkpoint struct {
	Schema   int               `json:"schema"`
	Model    string            `json:"model"`
	Digest   string            `json:"digest"` // of the model and its data
	Oracle   string            `json:"oracle"`
	Solver   string            `json:"solver"`
	Seed     uint64            `json:"seed"`
	Settings map[string]any    `json:"settings"`
	Calls    Calls             `json:"calls"` // so far
	Run      *outer.Checkpoint `json:"run"`
}

// ReadCheckpoint reads a checkpoint.
func ReadCheckpoint(text []byte) (*Checkpoint, error) {
	c := &Checkpoint{}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("not a checkpoint: %w", err)
	}
	if c.Schema != SchemaVersion || c.Run == nil {
		return nil, fmt.Errorf("not a checkpoint of this version")
	}
	return c, nil
}

// adopt takes the methods of a checkpoint where the options leave them open.
func (c *Checkpoint) adopt(opts Options) Options {
	if opts.Method == "" {
		opts.Method = c.Run.Method
	}
	if opts.Oracle == "" {
		opts.Oracle = c.Oracle
	}
	if opts.Solver == "" {
		opts.Solver = c.Solver
	}
	if len(opts.Settings) == 0 {
		opts.Settings = c.Settings
	}
	opts.Seed = c.Seed
	return opts
}

// fits reports a difference that would make the resumed run another one.
func (c *Checkpoint) fits(p *Problem, opts Options, settings map[string]any) error {
	switch {
	case c.Digest != p.Digest():
		return fmt.Errorf("the checkpoint is of another model, or of other data")
	case c.Run.Method != opts.Method || c.Oracle != opts.Oracle || c.Solver != opts.Solver:
		return fmt.Errorf("the checkpoint is of method %s, oracle %s and solver %s", c.Run.Method, c.Oracle, c.Solver)
	case len(c.Settings)+len(settings) > 0 && !reflect.DeepEqual(plain(c.Settings), plain(settings)):
		return fmt.Errorf("the checkpoint has other settings: %v", c.Settings)
	case opts.Starts > 1:
		return fmt.Errorf("a run of several starts cannot be resumed")
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
