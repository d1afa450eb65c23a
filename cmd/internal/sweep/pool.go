package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"bilevelc/internal/atomicfile"
	"bilevelc/internal/must"
	"bilevelc/runtime"
)

// Outcome is how a job ended, for those who watch.
type Outcome struct {
	Job     Job
	Status  runtime.Status // of its result
	Seconds float64
	Worker  string
	Err     error // a *FaultError, or nil
	// Proof is the file with the proof that the job asks for, not yet in its place;
	// where there is none, Unproved says why.
	Proof, Unproved string
}

// Do runs a job and returns its document. A proof that it asks for goes into the file
// proof, which the caller removes if it does not keep it.
func (r *Runner) Do(ctx context.Context, job Job, proof string) (document []byte, outcome Outcome, err error) {
	began := time.Now()
	result, err := r.Run(ctx, job)
	if err == nil && job.Proof {
		outcome.Proof, outcome.Unproved, err = prove(ctx, result, proof)
		if outcome.Proof != "" {
			result.Global.Proof = job.proofName()
		}
	}
	outcome.Job, outcome.Seconds = job, time.Since(began).Seconds()
	if err != nil {
		outcome.Err = err
		return nil, outcome, err
	}
	outcome.Status = result.Status
	document, err = json.Marshal(result)
	return append(document, '\n'), outcome, err
}

// prove writes the proof of a result's bound to a file. The error is one of the file, or
// the cause of ctx.
func prove(ctx context.Context, r *runtime.Result, path string) (proof, why string, err error) {
	err = atomicfile.Stream(path, func(w io.Writer) error { return r.WriteProof(ctx, w) })
	switch {
	case err == nil:
		return path, "", nil
	case ctx.Err() != nil:
		return "", "", context.Cause(ctx)
	case errors.As(err, new(*fs.PathError)):
		return "", "", err
	}
	return "", err.Error(), nil
}

// Keep writes what a job ended with into the folder, and into its journal: a document,
// or, where that is nil, the fault in the outcome. A proof comes into its place before the
// document that names it.
func (f *Folder) Keep(document []byte, o Outcome) (err error) {
	defer must.Catch(&err)
	e := Event{Key: o.Job.Key, Worker: o.Worker, Seconds: o.Seconds}
	if document == nil {
		must.Do(f.Fail(o.Job.Key, o.Err))
		e.Event, e.Error = "failed", o.Err.Error()
		return f.note(e)
	}
	again := f.Has(o.Job.Key)
	if o.Proof != "" && !again {
		must.Do(f.putProof(o.Job, o.Proof))
	}
	same := must.Get(f.Put(o.Job.Key, document))
	e.Event, e.Status, e.Seal, e.Unproved = "done", o.Status.String(), sealOf(document), o.Unproved
	switch {
	case !same:
		e.Event = "differs"
	case again:
		e.Event = "again"
	}
	must.Do(f.note(e))
	must.Be(same, "job %s gave another result than the one that is there: was it run by another version, or under a time limit?", o.Job.Key)
	return nil
}

// Run runs jobs on as many goroutines as workers says, and tells watch of each end, one
// call at a time; nil for nobody. It ends when all are done, at an error of reading or
// writing, or with the cause of ctx.
func (f *Folder) Run(ctx context.Context, jobs []Job, workers int, watch func(Outcome)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	runner := &Runner{Inputs: f}
	next := make(chan Job)
	var mu sync.Mutex
	var wait sync.WaitGroup
	for range max(1, min(workers, len(jobs))) {
		wait.Go(func() {
			for job := range next {
				document, outcome, err := runner.Do(ctx, job, f.ProofDraft(job))
				outcome.Worker = f.who
				if err == nil || errors.As(err, new(*FaultError)) {
					err = f.Keep(document, outcome)
				}
				if outcome.Proof != "" { // of a job that another process did
					_ = os.Remove(outcome.Proof)
				}
				if err != nil {
					stop(err)
					return
				}
				if watch != nil {
					mu.Lock()
					watch(outcome)
					mu.Unlock()
				}
			}
		})
	}
	for _, job := range jobs {
		select {
		case next <- job:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	wait.Wait()
	return context.Cause(ctx)
}
