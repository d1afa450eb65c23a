package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"bilevelc/runtime"
)

// Outcome is how a job ended, for those who watch.
type Outcome struct {
	Job     Job
	Status  runtime.Status // of its result
	Seconds float64
	Worker  string
	Err     error // a *FaultError, or nil
}

// Do runs a job and returns its document.
func (r *Runner) Do(ctx context.Context, job Job) (document []byte, outcome Outcome, err error) {
	began := time.Now()
	result, err := r.Run(ctx, job)
	outcome = Outcome{Job: job, Seconds: time.Since(began).Seconds()}
	if err != nil {
		outcome.Err = err
		return nil, outcome, err
	}
	outcome.Status = result.Status
	document, err = json.Marshal(result)
	return append(document, '\n'), outcome, err
}

// Keep writes what a job ended with into the folder, and into its journal: a document,
// or, where that is nil, the fault in the outcome.
func (f *Folder) Keep(document []byte, o Outcome) error {
	e := Event{Key: o.Job.Key, Worker: o.Worker, Seconds: o.Seconds}
	if document == nil {
		if err := f.Fail(o.Job.Key, o.Err); err != nil {
			return err
		}
		e.Event, e.Error = "failed", o.Err.Error()
		return f.note(e)
	}
	again := f.Has(o.Job.Key)
	same, err := f.Put(o.Job.Key, document)
	if err != nil {
		return err
	}
	e.Event, e.Status, e.Seal = "done", o.Status.String(), sealOf(document)
	switch {
	case !same:
		e.Event = "differs"
	case again:
		e.Event = "again"
	}
	if err := f.note(e); err != nil {
		return err
	}
	if !same {
		return fmt.Errorf("job %s gave another result than the one that is there: was it run by another version, or under a time limit?", o.Job.Key)
	}
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
				document, outcome, err := runner.Do(ctx, job)
				outcome.Worker = f.who
				var fault *FaultError
				if err == nil || errors.As(err, &fault) {
					err = f.Keep(document, outcome)
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
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
