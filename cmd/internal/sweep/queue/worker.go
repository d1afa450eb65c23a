package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"bilevelc/cmd/internal/sweep"
	"bilevelc/internal/must"
)

// Worker takes jobs from a queue and sends their results.
type Worker struct {
	Conn  *nats.Conn
	Name  string
	Jobs  int           // at a time; 0: one
	Idle  time.Duration // ends when there is nothing to do for this long; 0: never
	Watch func(sweep.Outcome)

	js jetstream.JetStream
	mu sync.Mutex // of Watch, last
	// last is when a job was last at hand.
	last time.Time
}

// Run ends with the cause of ctx, when the jobs under way have been given back, with an error where the
// server does not let the worker in, or with nil after a time without jobs.
func (w *Worker) Run(ctx context.Context) (err error) {
	defer must.Catch(&err)
	w.js = must.Get(jetstream.New(w.Conn))
	w.last = time.Now()
	runner := &sweep.Runner{Inputs: &inputs{conn: w.Conn, js: w.js}}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var wait sync.WaitGroup
	for range max(1, w.Jobs) {
		wait.Go(func() {
			for ctx.Err() == nil {
				if done, err := w.next(ctx, runner); err != nil {
					end(err)
				} else if done {
					return
				}
			}
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}

// next waits for a job and does it. What the server does not answer is asked again.
func (w *Worker) next(ctx context.Context, runner *sweep.Runner) (done bool, err error) {
	const wait, pause = 2 * time.Second, 300 * time.Millisecond
	one, cancel := context.WithTimeout(ctx, 10*time.Second)
	consumer, err := w.js.Consumer(one, jobsStream, workers)
	cancel()
	if err == nil {
		var batch jetstream.MessageBatch
		if batch, err = consumer.Fetch(1, jetstream.FetchMaxWait(wait)); err == nil {
			for m := range batch.Messages() {
				w.busy()
				err = w.do(ctx, runner, m, consumer.CachedInfo().Config.AckWait)
				w.busy()
			}
			if err != nil {
				return false, err
			}
			err = batch.Error()
		}
	}
	if refused := refusal(w.Conn); err != nil && ctx.Err() == nil && refused != nil {
		return false, refused
	}
	if err != nil && ctx.Err() == nil { // the server is away, or has no sweep yet
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Idle > 0 && time.Since(w.last) > w.Idle, nil
}

func (w *Worker) busy() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = time.Now()
}

// do runs a job while it says to the queue that it does. The job leaves the queue when
// the queue has the result.
func (w *Worker) do(ctx context.Context, runner *sweep.Runner, m jetstream.Msg, patience time.Duration) error {
	var task message
	if err := json.Unmarshal(m.Data(), &task); err != nil {
		return m.Term() // of another version
	}
	alive := make(chan struct{})
	var wait sync.WaitGroup
	quiet := sync.OnceFunc(func() { close(alive); wait.Wait() })
	wait.Go(func() {
		tick := time.NewTicker(max(patience/3, 10*time.Millisecond))
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_ = m.InProgress() // one that is lost is followed by another
				w.busy()
			case <-alive:
				return
			}
		}
	})
	drafts, err := w.drafts(task.Job)
	if err != nil {
		quiet()
		_ = m.Nak()
		return err
	}
	defer os.RemoveAll(drafts)
	document, outcome, err := runner.Do(ctx, task.Job, filepath.Join(drafts, "proof"))
	outcome.Worker = w.Name
	if err != nil && !errors.As(err, new(*sweep.FaultError)) {
		quiet()
		_ = m.Nak() // another worker takes it at once
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("job %s: %w", task.Job.Key, err)
	}
	err = w.send(ctx, task, document, outcome)
	quiet()
	if err != nil {
		_ = m.Nak()
		return nil // ctx has ended
	}
	one, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = m.DoubleAck(one) // one that is lost gives the job to another, whose result changes nothing
	if w.Watch != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.Watch(outcome)
	}
	return nil
}

// drafts makes a folder for the proof that a job asks for; "" where it asks for none.
func (w *Worker) drafts(job sweep.Job) (string, error) {
	if !job.Proof {
		return "", nil
	}
	return os.MkdirTemp("", "bilevelc-")
}

// send gives a result to the queue, however long the server is away.
func (w *Worker) send(ctx context.Context, task message, document []byte, outcome sweep.Outcome) (err error) {
	defer must.Catch(&err)
	m := nats.NewMsg(resultSubject(task.Sweep, task.Job.Key))
	m.Header.Set(headerWorker, w.Name)
	m.Header.Set(headerSeconds, strconv.FormatFloat(outcome.Seconds, 'g', -1, 64))
	if outcome.Err != nil {
		m.Header.Set(headerFault, oneLine(outcome.Err.Error()))
	} else {
		m.Header.Set(headerStatus, outcome.Status.String())
		m.Data = document
	}
	if outcome.Unproved != "" {
		m.Header.Set(headerNoProof, oneLine(outcome.Unproved))
	}
	if outcome.Proof != "" {
		name := task.Sweep + "." + task.Job.Key + ".proof." + nats.NewInbox()
		w.sendFile(ctx, name, outcome.Proof)
		m.Header.Set(headerProof, name)
	}
	persist(ctx, w.Conn, func(ctx context.Context) {
		// What a message may hold, less its headers.
		if limit := int(w.Conn.MaxPayload()) - 4096; limit > 0 && len(document) > limit {
			store := must.Get(w.js.ObjectStore(ctx, largeBucket))
			name := task.Sweep + "." + task.Job.Key + "." + nats.NewInbox()
			must.Get(store.PutBytes(ctx, name, document))
			m.Header.Set(headerLarge, name)
			m.Data = nil
		}
		must.Get(w.js.PublishMsg(ctx, m))
	})
	return nil
}

// sendFile puts a file into the bucket of what is large.
func (w *Worker) sendFile(ctx context.Context, name, path string) {
	persist(ctx, w.Conn, func(ctx context.Context) {
		store := must.Get(w.js.ObjectStore(ctx, largeBucket))
		f, err := os.Open(path)
		if err != nil {
			must.Do(&permanentError{err})
		}
		defer f.Close()
		must.Get(store.Put(ctx, jetstream.ObjectMeta{Name: name}, f))
	})
}

// oneLine keeps a text within a header.
func oneLine(s string) string {
	const most = 2000
	out := []rune(s)
	out = out[:min(len(out), most)]
	for k, r := range out {
		out[k] = max(r, ' ')
	}
	return string(out)
}

// inputs reads what jobs need from the queue's bucket, each once.
type inputs struct {
	conn *nats.Conn
	js   jetstream.JetStream
	mu   sync.Mutex
	have map[string][]byte
}

// Input implements sweep.Inputs.
func (in *inputs) Input(ctx context.Context, hash string) (text []byte, err error) {
	defer must.Catch(&err)
	in.mu.Lock()
	defer in.mu.Unlock()
	if text := in.have[hash]; text != nil {
		return text, nil
	}
	persist(ctx, in.conn, func(ctx context.Context) {
		text = must.Get(must.Get(in.js.ObjectStore(ctx, inputsBucket)).GetBytes(ctx, hash))
	})
	must.Be(sweep.HashOf(text) == hash, "input %s came as another", hash)
	if in.have == nil {
		in.have = map[string][]byte{}
	}
	in.have[hash] = text
	return text, nil
}
