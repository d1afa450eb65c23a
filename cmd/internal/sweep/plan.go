package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
)

// Input is a file that jobs read: the model, or data.
type Input struct {
	Name string `json:"name"` // as the user gave it: a path, or name=path
	Hash string `json:"hash"` // SHA-256 of its bytes; the file is inputs/HASH
}

// Fixed is what all jobs of a sweep have in common, unless an axis says otherwise.
type Fixed struct {
	Model   Input          `json:"model"`
	Data    []Input        `json:"data,omitempty"`
	Set     []string       `json:"set,omitempty"` // name=value, as of --set
	Seed    uint64         `json:"seed"`
	Method  string         `json:"method,omitempty"`
	Oracle  string         `json:"oracle,omitempty"`
	Solver  string         `json:"solver,omitempty"`
	Starts  int            `json:"starts,omitempty"`
	Start   int            `json:"start,omitempty"` // the one of the starts that is meant, from 1; 0: all
	MaxIter int            `json:"max_iter,omitempty"`
	Limit   time.Duration  `json:"time_limit,omitempty"` // of one job; what it ends is not the same twice
	Gap     float64        `json:"gap,omitempty"`        // these four are of the search for the global optimum, as of solve's flags
	Nodes   int64          `json:"nodes,omitempty"`
	Search  string         `json:"search,omitempty"` // Global, Local, or "" for the default
	Proof   bool           `json:"proof,omitempty"`  // a proof of the bound beside each result
	Options map[string]any `json:"options,omitempty"`
}

// How far a job searches for the global optimum, where Fixed says: until it is proved, or not at all.
const (
	Global = "global"
	Local  = "local"
)

// SearchOf is Fixed.Search by what was asked for.
func SearchOf(global, local bool) string {
	switch {
	case global:
		return Global
	case local:
		return Local
	}
	return ""
}

// searches reports what is asked of the search for the global optimum that no job can do.
func (f Fixed) searches(axes []string) {
	asks := f.Gap != 0 || f.Nodes != 0 || f.Proof || f.Search == Global
	must.Be(f.Gap >= 0 && !math.IsInf(f.Gap, 1) && f.Nodes >= 0, "a gap and a number of nodes are above 0")
	must.Be(f.Search != Local || !asks, "local leaves out the search that gap, nodes and proof are about")
	must.Be(!asks || !slices.Contains(axes, "start"), "one start of a run finds no bound on F: global, gap, nodes and proof go without the axis `start`")
}

// Job is one run. Key is the SHA-256 of Fixed, so that a job is what it computes,
// whatever sweep it is in; At is where it stands on the axes.
type Job struct {
	Key string `json:"key"`
	Fixed
	At []string `json:"at"` // a value an axis, in the order of Plan.Axes
}

// Plan is all jobs of a sweep.
type Plan struct {
	Schema int `json:"schema"`
	// ID is the folder's own name in a queue, made with it.
	ID   string   `json:"id"`
	Axes []string `json:"axes"`
	Jobs []Job    `json:"jobs"`
}

// schema of plan.json.
const schema = 1

// Space is what to run over: the grid of Axes, times Draws random points, or the
// points of a List.
type Space struct {
	Axes  []Axis
	Draw  []Draw
	Draws int
	Seed  uint64              // of the draws
	List  []map[string]string // names and values of each job
	// Data are the files that the values of the axis `data` name.
	Data map[string]Input
}

// NewPlan makes the jobs. Two that are the same are one.
func NewPlan(fixed Fixed, over Space) (p *Plan, err error) {
	defer must.Catch(&err)
	p = &Plan{Schema: schema}
	add := func(name string) {
		must.Be(!slices.Contains(p.Axes, name), "%s is varied twice", name)
		p.Axes = append(p.Axes, name)
	}
	jobs := 1
	for _, a := range over.Axes {
		a.check()
		add(a.Name)
		jobs *= len(a.Values)
		must.Be(jobs <= mostJobs, "the grid has more than the %d jobs that a sweep may have", mostJobs)
	}
	points := [][]string{{}}
	times := func(n int, more func(k int) []string) {
		var next [][]string
		for _, p := range points {
			for k := range n {
				next = append(next, append(slices.Clone(p), more(k)...))
			}
		}
		points = next
	}
	for _, a := range over.Axes {
		times(len(a.Values), func(k int) []string { return a.Values[k : k+1] })
	}
	if len(over.Draw) > 0 || over.Draws > 0 {
		must.Be(len(over.Draw) > 0 && over.Draws >= 1 && over.Draws <= mostJobs/len(points),
			"random points need something to draw, and how often, at most %d times here: there are %d laws and %d draws", mostJobs/len(points), len(over.Draw), over.Draws)
		for _, d := range over.Draw {
			add(d.Name)
		}
		rng := rand.New(rand.NewPCG(over.Seed, 0))
		drawn := each.Below(over.Draws, func(int) []string {
			return each.Of(over.Draw, func(d Draw) string { return d.value(rng) })
		})
		times(over.Draws, func(k int) []string { return drawn[k] })
	}
	if len(over.List) > 0 {
		must.Be(len(p.Axes) == 0, "a list of jobs goes without a grid and without draws")
		for _, entry := range over.List {
			for name := range entry {
				if !slices.Contains(p.Axes, name) {
					p.Axes = append(p.Axes, name)
				}
			}
		}
		slices.Sort(p.Axes)
		points = each.Of(over.List, func(entry map[string]string) []string {
			return each.Of(p.Axes, func(name string) string { return entry[name] })
		})
	}
	fixed.searches(p.Axes)
	seen := map[string]bool{}
	for _, at := range points {
		job := fixed.at(p.Axes, at, over.Data)
		if !seen[job.Key] {
			p.Jobs = append(p.Jobs, job)
		}
		seen[job.Key] = true
	}
	return p, nil
}

// at is the job at a point; an empty value leaves what is fixed.
func (f Fixed) at(axes, at []string, files map[string]Input) Job {
	job := Job{Fixed: f, At: at}
	job.Data, job.Set = slices.Clone(f.Data), slices.Clone(f.Set)
	for k, name := range axes {
		value := at[k]
		if value == "" {
			continue
		}
		var err error
		switch name {
		case "seed":
			job.Seed, err = strconv.ParseUint(value, 10, 64)
		case "start":
			job.Start, err = strconv.Atoi(value)
			if err == nil && job.Start < 1 {
				err = fmt.Errorf("starts count from 1")
			}
		case "method":
			job.Method = value
		case "oracle":
			job.Oracle = value
		case "solver":
			job.Solver = value
		case "data":
			file, ok := files[value]
			if !ok {
				err = fmt.Errorf("there is no such file among the inputs")
			}
			job.Data = append(job.Data, file)
		default:
			job.Set = append(job.Set, name+"="+value)
		}
		must.Be(err == nil, "%s = %s: %w", name, value, err)
	}
	job.Key = job.key()
	return job
}

// key is the hash of what decides the result: not of the names of files.
func (f Fixed) key() string {
	content := f
	content.Model.Name = ""
	content.Data = nil
	for _, d := range f.Data {
		d.Name = bindingName(d.Name)
		content.Data = append(content.Data, d)
	}
	text := must.Get(json.Marshal(content)) // maps are written in order; options are numbers and texts
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Place is where a job stands on the axes: "cap=1 seed=2".
func (p *Plan) Place(j Job) string {
	var at []string
	for k, axis := range p.Axes {
		if j.At[k] != "" {
			at = append(at, axis+"="+j.At[k])
		}
	}
	return strings.Join(at, " ")
}

// Find returns the job of a key.
func (p *Plan) Find(key string) (Job, bool) {
	if k := slices.IndexFunc(p.Jobs, func(j Job) bool { return j.Key == key }); k >= 0 {
		return p.Jobs[k], true
	}
	return Job{}, false
}
