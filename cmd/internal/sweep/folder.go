package sweep

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"bilevelc/internal/atomicfile"
	"bilevelc/internal/each"
	"bilevelc/internal/jsonfault"
	"bilevelc/internal/must"
	"bilevelc/runtime"
)

// Folder is a sweep on the disk. Several processes, on machines that share the disk,
// may use it at a time.
type Folder struct {
	Path string
	Plan *Plan

	who     string // of the journal
	mu      sync.Mutex
	journal *os.File
}

const (
	planName    = "plan.json"
	inputsName  = "inputs"
	resultsName = "results"
	failedName  = "failed"
	journalName = "journal"

	unfinishedName = "unfinished" // documents on their way into results
)

// ErrOtherPlan says that a folder holds another sweep.
var ErrOtherPlan = errors.New("the folder holds a sweep with another plan")

// HashOf is the name of an input under inputs/.
func HashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Create makes a sweep, or opens it where it is there with the same plan; a plan with
// further jobs over the same axes extends it. who names this process in the journal.
func Create(path string, plan *Plan, inputs map[string][]byte, who string) (f *Folder, err error) {
	defer must.Catch(&err)
	before, err := Open(path, who)
	if !errors.Is(err, fs.ErrNotExist) {
		must.Do(err)
		plan.mustExtend(before)
	}
	f = &Folder{Path: path, who: who}
	for _, dir := range []string{inputsName, resultsName, failedName, journalName, unfinishedName} {
		must.Do(os.MkdirAll(filepath.Join(path, dir), 0o777))
	}
	for hash, text := range inputs {
		must.Be(HashOf(text) == hash, "sweep: an input is not of its hash")
		if there, err := f.Input(context.Background(), hash); err != nil || len(there) != len(text) {
			must.Do(atomicfile.Replace(filepath.Join(path, inputsName, hash), text, f.unfinished(hash)))
		}
	}
	name, full := filepath.Join(path, planName), *plan
	text := func(id string) []byte {
		full.ID = id
		return append(must.Get(json.MarshalIndent(&full, "", " ")), '\n')
	}
	if before == nil { // another process may make it at this moment: the first one's stands
		err := atomicfile.Create(name, text(rand.Text()[:12]), f.unfinished(planName))
		if err == nil || !errors.Is(err, fs.ErrExist) {
			must.Do(err)
			return Open(path, who)
		}
		before = must.Get(Open(path, who))
		plan.mustExtend(before)
	}
	if !before.Plan.extends(plan) {
		must.Do(atomicfile.Replace(name, text(before.Plan.ID), f.unfinished(planName)))
	}
	return Open(path, who)
}

// mustExtend ends what needs a plan that is not that of a folder, nor extends it.
func (p *Plan) mustExtend(before *Folder) {
	must.Be(p.extends(before.Plan), "%s: %w, over %s: %s; name another folder with --dir, or delete this", before.Path, ErrOtherPlan,
		strings.Join(before.Plan.Axes, ", "), p.differs(before.Plan))
}

// differs says in what a plan differs from one that it does not extend.
func (p *Plan) differs(before *Plan) string {
	if !slices.Equal(p.Axes, before.Axes) {
		return "this one is over " + cmp.Or(strings.Join(p.Axes, ", "), "nothing")
	}
	at := map[string]Fixed{}
	for _, j := range before.Jobs {
		at[strings.Join(j.At, "\x00")] = j.Fixed
	}
	for _, j := range p.Jobs {
		f, ok := at[strings.Join(j.At, "\x00")]
		switch {
		case !ok:
		case f.Model.Hash != j.Model.Hash:
			return "the model has been changed since"
		case !slices.EqualFunc(f.Data, j.Data, func(a, b Input) bool { return a.Hash == b.Hash }):
			return "the data are not those of then"
		case !slices.Equal(f.Set, j.Set):
			return "what --set gives is not what it gave then"
		case j.Key != f.key():
			return "the options are not those of then"
		}
	}
	return "it has points that this one has not"
}

// extends reports that a plan has all jobs of another one, at the same axes.
func (p *Plan) extends(before *Plan) bool {
	if strings.Join(p.Axes, "\x00") != strings.Join(before.Axes, "\x00") {
		return false
	}
	has := map[string]bool{}
	for _, j := range p.Jobs {
		has[j.Key] = true
	}
	return !slices.ContainsFunc(before.Jobs, func(j Job) bool { return !has[j.Key] })
}

// Open opens a sweep that is there. Its plan is checked: every job is of its key.
func Open(path, who string) (f *Folder, err error) {
	defer must.Catch(&err)
	plan, name := &Plan{}, filepath.Join(path, planName)
	err = json.NewDecoder(bytes.NewReader(must.Get(os.ReadFile(name)))).Decode(plan)
	must.Be(err == nil, "%s: %w", name, jsonfault.Plain(err))
	must.Be(plan.Schema == schema && plan.ID != "", "%s: a plan of schema %d; this version reads %d", path, plan.Schema, schema)
	for i, j := range plan.Jobs {
		must.Be(j.Key == j.key() && len(j.At) == len(plan.Axes), "%s: job %d is not what its key %s says: the plan was changed by hand", name, i+1, j.Key)
	}
	return &Folder{Path: path, Plan: plan, who: who}, nil
}

// Close closes the journal.
func (f *Folder) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.journal == nil {
		return nil
	}
	err := f.journal.Close()
	f.journal = nil
	return err
}

// Input implements Inputs. What is read is checked against its hash.
func (f *Folder) Input(_ context.Context, hash string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(f.Path, inputsName, filepath.Base(hash)))
	if err == nil && HashOf(text) != hash {
		err = fmt.Errorf("%s: input %s was changed", f.Path, hash)
	}
	return text, err
}

func (f *Folder) resultPath(key string) string {
	return filepath.Join(f.Path, resultsName, filepath.Base(key)+".json")
}

// proofName is the file with a job's proof, beside its document, where verify looks for it.
func (j Job) proofName() string { return filepath.Base(j.Key) + ".proof" }

func (f *Folder) proofPath(job Job) string {
	return filepath.Join(f.Path, resultsName, job.proofName())
}

// ProofDraft is this process's own file for a job's proof, until it has its place.
func (f *Folder) ProofDraft(job Job) string { return f.unfinished(job.proofName()) }

// unfinished is this process's own file for what will have a name in results.
func (f *Folder) unfinished(name string) string {
	return filepath.Join(f.Path, unfinishedName, name+"."+fileName(f.who))
}

// putProof gives a job's proof its place. Processes that do the same job at a time have the same proof.
func (f *Folder) putProof(job Job, file string) error {
	if err := os.Rename(file, f.proofPath(job)); err != nil {
		return err
	}
	return atomicfile.SyncFolder(filepath.Join(f.Path, resultsName))
}

func (f *Folder) failedPath(key string) string {
	return filepath.Join(f.Path, failedName, filepath.Base(key)+".json")
}

// Has reports whether a job has its result; a file that is damaged is none.
func (f *Folder) Has(key string) bool {
	text, err := os.ReadFile(f.resultPath(key))
	return err == nil && sealOf(text) != ""
}

// Missing lists a shard's jobs without a result, in the order of the plan; with failed, also
// those that cannot have one.
func (f *Folder) Missing(s Shard, failed bool) []Job {
	there, without := names(filepath.Join(f.Path, resultsName)), map[string]bool{}
	if !failed {
		without = names(filepath.Join(f.Path, failedName))
	}
	return each.Where(s.Pick(f.Plan), func(j Job) bool { return !without[j.Key] && !(there[j.Key] && f.Has(j.Key)) })
}

// names are the keys of the documents in a folder.
func names(dir string) map[string]bool {
	out := map[string]bool{}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if key, ok := strings.CutSuffix(e.Name(), ".json"); ok {
			out[key] = true
		}
	}
	return out
}

// Put writes the document of a job, once: where another process was faster, its
// document stays, unless it is damaged. same reports that both say the same, by their seals.
func (f *Folder) Put(key string, document []byte) (same bool, err error) {
	path, seal := f.resultPath(key), sealOf(document)
	before, err := os.ReadFile(path)
	switch there := sealOf(before); {
	case there != "":
		return there == seal, nil
	case seal == "":
		return false, fmt.Errorf("sweep: what was given for job %s is no result document", key)
	case err == nil:
		return true, atomicfile.Replace(path, document, f.unfinished(filepath.Base(key)))
	}
	switch err := atomicfile.Create(path, document, f.unfinished(filepath.Base(key))); {
	case errors.Is(err, fs.ErrExist):
		return f.Put(key, document)
	case err != nil:
		return false, err
	}
	_ = os.Remove(f.failedPath(key)) // of an earlier try
	return true, nil
}

// fileName is a name that any file system takes.
func fileName(who string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '-'
	}, who)
}

// sealOf is the seal that a document carries.
func sealOf(document []byte) string {
	var d struct{ Seal string }
	if json.Unmarshal(document, &d) != nil {
		return ""
	}
	return d.Seal
}

// failure is a document under failed/.
type failure struct {
	Key   string    `json:"key"`
	Error string    `json:"error"`
	Time  time.Time `json:"time"`
}

// Fail notes why a job can have no result.
func (f *Folder) Fail(key string, why error) error {
	text := must.Get(json.Marshal(failure{key, why.Error(), time.Now().UTC()})) // of texts
	return atomicfile.Replace(f.failedPath(key), append(text, '\n'), f.unfinished(filepath.Base(key)+".failed"))
}

// Failure is why a job has no result; "" where nothing is known.
func (f *Folder) Failure(key string) string {
	var d failure
	text, err := os.ReadFile(f.failedPath(key))
	if err != nil || json.Unmarshal(text, &d) != nil {
		return ""
	}
	return d.Error
}

// Result reads the document of a job; nil without an error where there is none yet.
func (f *Folder) Result(key string) (*runtime.Result, error) {
	text, err := os.ReadFile(f.resultPath(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := &runtime.Result{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w; `bilevelc sweep` does its job again", f.resultPath(key), jsonfault.Plain(err))
	}
	return r, nil
}

// Event is a line of a journal.
type Event struct {
	Time    time.Time `json:"time"`
	Event   string    `json:"event"` // began, done, again (a result that was there), differs, failed
	Key     string    `json:"key"`
	Worker  string    `json:"worker,omitempty"`
	Status  string    `json:"status,omitempty"`
	Seconds float64   `json:"seconds,omitempty"`
	Seal    string    `json:"seal,omitempty"`
	// Unproved is why a job has no proof that it was to have.
	Unproved string `json:"unproved,omitempty"`
	Error    string `json:"error,omitempty"`
}

// note adds an event to the journal of this process.
func (f *Folder) note(e Event) (err error) {
	defer must.Catch(&err)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.journal == nil {
		f.journal = must.Get(os.OpenFile(filepath.Join(f.Path, journalName, fileName(f.who)+".jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666))
	}
	e.Time = time.Now().UTC()
	text := must.Get(json.Marshal(e))
	_, err = f.journal.Write(append(text, '\n'))
	return err
}
