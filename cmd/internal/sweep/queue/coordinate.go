package queue

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"bilevelc/cmd/internal/sweep"
	"bilevelc/internal/atomicfile"
	"bilevelc/internal/must"
	"bilevelc/runtime"
)

// Coordinator brings the results of a folder's missing jobs into it.
type Coordinator struct {
	Folder *sweep.Folder
	Conn   *nats.Conn
	// Redeliver is how long after a worker's last sign of life its job goes to another
	// one; 0: 30 s.
	Redeliver time.Duration
	// Watch, where not nil, is told of each end.
	Watch func(sweep.Outcome)
	// Retry includes jobs that failed before.
	Retry bool

	js   jetstream.JetStream
	open map[string]sweep.Job // missing, by key
}

// Run ends when no job is missing, with the cause of ctx, or at an error of the folder.
func (c *Coordinator) Run(ctx context.Context) (err error) {
	defer must.Catch(&err)
	c.js = must.Get(jetstream.New(c.Conn))
	c.Redeliver = cmp.Or(c.Redeliver, sweep.DefaultRedeliver)
	persist(ctx, c.Conn, func(ctx context.Context) { setup(ctx, c.js, c.Redeliver) })
	c.open = map[string]sweep.Job{}
	missing := c.Folder.Missing(sweep.Shard{}, c.Retry)
	for _, j := range missing {
		c.open[j.Key] = j
	}
	c.upload(ctx, missing)
	for _, j := range missing {
		c.publish(ctx, j)
	}
	quiet := 0
	for len(c.open) > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		// Nothing comes for some seconds. Where nobody works on anything, and it stays so,
		// what is missing is not on its way any more.
		if c.receive(ctx) > 0 || !c.idle(ctx) {
			quiet = 0
		} else if quiet++; quiet >= 3 {
			quiet = 0
			c.revive(ctx)
		}
	}
	return nil
}

// upload gives the queue what the jobs read.
func (c *Coordinator) upload(ctx context.Context, jobs []sweep.Job) {
	seen := map[string]bool{}
	for _, j := range jobs {
		for _, input := range append([]sweep.Input{j.Model}, j.Data...) {
			if seen[input.Hash] {
				continue
			}
			seen[input.Hash] = true
			text := must.Get(c.Folder.Input(ctx, input.Hash))
			persist(ctx, c.Conn, func(ctx context.Context) {
				store := must.Get(c.js.ObjectStore(ctx, inputsBucket))
				if _, err := store.GetInfo(ctx, input.Hash); err != nil {
					must.Get(store.PutBytes(ctx, input.Hash, text))
				}
			})
		}
	}
}

// publish puts a job into the queue, unless it is there.
func (c *Coordinator) publish(ctx context.Context, j sweep.Job) {
	text := must.Get(json.Marshal(message{c.Folder.Plan.ID, j}))
	persist(ctx, c.Conn, func(ctx context.Context) {
		_, err := c.js.Publish(ctx, jobSubject(c.Folder.Plan.ID, j.Key), text)
		if refused, ok := errors.AsType[*jetstream.APIError](err); !ok || !strings.Contains(refused.Description, "per subject") {
			must.Do(err)
		}
	})
}

// receive writes the results that have come, waiting for some seconds for the first.
// Only what the folder has is taken out of the queue.
func (c *Coordinator) receive(ctx context.Context) (n int) {
	const wait, most = 2 * time.Second, 64
	name := "folder-" + c.Folder.Plan.ID
	var batch jetstream.MessageBatch
	persist(ctx, c.Conn, func(ctx context.Context) {
		consumer := must.Get(c.js.CreateOrUpdateConsumer(ctx, resultsStream, jetstream.ConsumerConfig{Durable: name,
			FilterSubject: resultSubject(c.Folder.Plan.ID, "*"), AckPolicy: jetstream.AckExplicitPolicy, AckWait: 10 * time.Second}))
		batch = must.Get(consumer.Fetch(most, jetstream.FetchMaxWait(wait)))
	})
	for m := range batch.Messages() {
		n++
		must.Do(c.take(ctx, m))
	}
	return n // an error of the batch is a server that is away: the next one tells
}

// take writes one result.
func (c *Coordinator) take(ctx context.Context, m jetstream.Msg) error {
	key := m.Subject()[strings.LastIndexByte(m.Subject(), '.')+1:]
	job, known := c.Folder.Plan.Find(key)
	if !known {
		return m.Ack()
	}
	h := m.Headers()
	outcome := sweep.Outcome{Job: job, Worker: h.Get(headerWorker)}
	outcome.Seconds, _ = strconv.ParseFloat(h.Get(headerSeconds), 64)
	document := bytes.Clone(m.Data())
	outcome.Unproved = h.Get(headerNoProof)
	large, proof := h.Get(headerLarge), h.Get(headerProof)
	switch {
	case h.Get(headerFault) != "":
		document, outcome.Err = nil, &sweep.FaultError{Err: errors.New(h.Get(headerFault))}
	case large != "":
		store, err := c.js.ObjectStore(ctx, largeBucket)
		if err == nil {
			document, err = store.GetBytes(ctx, large)
		}
		if errors.Is(err, jetstream.ErrObjectNotFound) && c.Folder.Has(key) {
			return m.Ack() // it was taken before
		}
		if err != nil {
			return nil // it comes again
		}
	}
	if proof != "" && !c.Folder.Has(key) {
		outcome.Proof = c.Folder.ProofDraft(job)
		if err := c.load(ctx, proof, outcome.Proof); errors.As(err, new(*fs.PathError)) {
			return err
		} else if err != nil {
			return nil // it comes again
		}
	}
	if document != nil {
		var r struct{ Status runtime.Status }
		if err := json.Unmarshal(document, &r); err != nil {
			return fmt.Errorf("worker %s sent what is no result: %w", outcome.Worker, err)
		}
		outcome.Status = r.Status
	}
	if document == nil && c.Folder.Has(key) {
		return m.Ack()
	}
	if err := c.Folder.Keep(document, outcome); err != nil {
		return err
	}
	_ = m.Ack() // one that is lost brings the result again, which is there then
	for _, name := range []string{large, proof} {
		if name == "" {
			continue
		}
		if store, err := c.js.ObjectStore(ctx, largeBucket); err == nil {
			_ = store.Delete(ctx, name)
		}
	}
	if _, missing := c.open[key]; missing {
		c.ended(outcome)
	}
	return nil
}

// ended takes a job from those that are missing.
func (c *Coordinator) ended(o sweep.Outcome) {
	delete(c.open, o.Job.Key)
	if c.Watch != nil {
		c.Watch(o)
	}
}

// load writes what the bucket of what is large has under a name into a file.
func (c *Coordinator) load(ctx context.Context, name, path string) (err error) {
	defer must.Catch(&err)
	store := must.Get(c.js.ObjectStore(ctx, largeBucket))
	return atomicfile.Stream(path, func(w io.Writer) (err error) {
		defer must.Catch(&err)
		from := must.Get(store.Get(ctx, name))
		defer from.Close()
		_, err = io.Copy(w, from) // its end is an error where the digest is another
		return err
	})
}

// idle reports that no worker has a job, and none waits for one.
func (c *Coordinator) idle(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	consumer, err := c.js.Consumer(ctx, jobsStream, workers)
	if err != nil {
		return errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound)
	}
	info, err := consumer.Info(ctx)
	return err == nil && info.NumPending == 0 && info.NumAckPending == 0
}

// revive deals with jobs that are missing while nobody works: those that are still in
// the queue have been delivered too often, and are given up; the others were lost with
// a part of the queue, and are put into it again.
func (c *Coordinator) revive(ctx context.Context) {
	persist(ctx, c.Conn, func(ctx context.Context) { setup(ctx, c.js, c.Redeliver) })
	for key, job := range c.open {
		exhausted := false
		persist(ctx, c.Conn, func(ctx context.Context) {
			stream := must.Get(c.js.Stream(ctx, jobsStream))
			m, err := stream.GetLastMsgForSubject(ctx, jobSubject(c.Folder.Plan.ID, key))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				return
			}
			must.Do(err)
			exhausted = true
			must.Do(stream.DeleteMsg(ctx, m.Sequence))
		})
		if !exhausted {
			c.publish(ctx, job)
			continue
		}
		outcome := sweep.Outcome{Job: job, Err: &sweep.FaultError{Err: fmt.Errorf("given up after %d workers got it and gave no result", deliveries)}}
		must.Do(c.Folder.Keep(nil, outcome))
		c.ended(outcome)
	}
}
