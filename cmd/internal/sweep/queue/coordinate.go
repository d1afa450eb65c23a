package queue

import (
	"bytes"
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
	if c.Redeliver == 0 {
		c.Redeliver = sweep.DefaultRedeliver
	}
	must.Do(persist(ctx, c.Conn, func(ctx context.Context) error { return setup(ctx, c.js, c.Redeliver) }))
	c.open = map[string]sweep.Job{}
	missing := c.Folder.Missing(sweep.Shard{}, c.Retry)
	for _, j := range missing {
		c.open[j.Key] = j
	}
	must.Do(c.upload(ctx, missing))
	for _, j := range missing {
		must.Do(c.publish(ctx, j))
	}
	quiet := 0
	for len(c.open) > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n := must.Get(c.receive(ctx))
		if n > 0 {
			quiet = 0
			continue
		}
		// Nothing came for some seconds. Where nobody works on anything, and it stays so,
		// what is missing is not on its way any more.
		if !c.idle(ctx) {
			quiet = 0
		} else if quiet++; quiet >= 3 {
			quiet = 0
			must.Do(c.revive(ctx))
		}
	}
	return nil
}

// upload gives the queue what the jobs read.
func (c *Coordinator) upload(ctx context.Context, jobs []sweep.Job) error {
	seen := map[string]bool{}
	put := func(hash string) error {
		if seen[hash] {
			return nil
		}
		seen[hash] = true
		text, err := c.Folder.Input(ctx, hash)
		if err != nil {
			return err
		}
		return persist(ctx, c.Conn, func(ctx context.Context) error {
			store, err := c.js.ObjectStore(ctx, inputsBucket)
			if err != nil {
				return err
			}
			if _, err := store.GetInfo(ctx, hash); err == nil {
				return nil
			}
			_, err = store.PutBytes(ctx, hash, text)
			return err
		})
	}
	for _, j := range jobs {
		if err := put(j.Model.Hash); err != nil {
			return err
		}
		for _, d := range j.Data {
			if err := put(d.Hash); err != nil {
				return err
			}
		}
	}
	return nil
}

// publish puts a job into the queue, unless it is there.
func (c *Coordinator) publish(ctx context.Context, j sweep.Job) error {
	text, err := json.Marshal(message{c.Folder.Plan.ID, j})
	if err != nil {
		return err
	}
	return persist(ctx, c.Conn, func(ctx context.Context) error {
		_, err := c.js.Publish(ctx, jobSubject(c.Folder.Plan.ID, j.Key), text)
		if refused, ok := errors.AsType[*jetstream.APIError](err); ok && strings.Contains(refused.Description, "per subject") {
			return nil
		}
		return err
	})
}

// receive writes the results that have come, waiting for some seconds for the first.
// Only what the folder has is taken out of the queue.
func (c *Coordinator) receive(ctx context.Context) (n int, err error) {
	const wait, most = 2 * time.Second, 64
	name := "folder-" + c.Folder.Plan.ID
	var batch jetstream.MessageBatch
	err = persist(ctx, c.Conn, func(ctx context.Context) error {
		consumer, err := c.js.CreateOrUpdateConsumer(ctx, resultsStream, jetstream.ConsumerConfig{Durable: name,
			FilterSubject: resultSubject(c.Folder.Plan.ID, "*"), AckPolicy: jetstream.AckExplicitPolicy, AckWait: 10 * time.Second})
		if err != nil {
			return err
		}
		batch, err = consumer.Fetch(most, jetstream.FetchMaxWait(wait))
		return err
	})
	if err != nil {
		return 0, err
	}
	for m := range batch.Messages() {
		n++
		if err := c.take(ctx, m); err != nil {
			return n, err
		}
	}
	return n, nil // an error of the batch is a server that is away: the next one tells
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
		var file *fs.PathError
		if err := c.load(ctx, proof, outcome.Proof); errors.As(err, &file) {
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
		delete(c.open, key)
		if c.Watch != nil {
			c.Watch(outcome)
		}
	}
	return nil
}

// load writes what the bucket of what is large has under a name into a file.
func (c *Coordinator) load(ctx context.Context, name, path string) error {
	store, err := c.js.ObjectStore(ctx, largeBucket)
	if err != nil {
		return err
	}
	return atomicfile.Stream(path, func(w io.Writer) error {
		from, err := store.Get(ctx, name)
		if err != nil {
			return err
		}
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
func (c *Coordinator) revive(ctx context.Context) (err error) {
	defer must.Catch(&err)
	must.Do(persist(ctx, c.Conn, func(ctx context.Context) error { return setup(ctx, c.js, c.Redeliver) }))
	for key, job := range c.open {
		exhausted := false
		must.Do(persist(ctx, c.Conn, func(ctx context.Context) error {
			stream, err := c.js.Stream(ctx, jobsStream)
			if err != nil {
				return err
			}
			m, err := stream.GetLastMsgForSubject(ctx, jobSubject(c.Folder.Plan.ID, key))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				return nil
			}
			if err != nil {
				return err
			}
			exhausted = true
			return stream.DeleteMsg(ctx, m.Sequence)
		}))
		if !exhausted {
			must.Do(c.publish(ctx, job))
			continue
		}
		outcome := sweep.Outcome{Job: job, Err: &sweep.FaultError{Err: fmt.Errorf("given up after %d workers got it and gave no result", deliveries)}}
		must.Do(c.Folder.Keep(nil, outcome))
		delete(c.open, key)
		if c.Watch != nil {
			c.Watch(outcome)
		}
	}
	return nil
}
