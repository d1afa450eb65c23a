// Package queue hands the jobs of sweeps to workers on any machine through NATS
// JetStream. The folder of a sweep stays the truth: a coordinator puts what is missing
// there into the queue, takes results out of it and writes them, and can do so again
// from nothing after any loss of the queue.
//
//	stream BILEVELC_JOBS     bilevelc.jobs.SWEEP.KEY: at most one message a job, gone when
//	                         a worker has its result in the stream of results
//	stream BILEVELC_RESULTS  bilevelc.results.SWEEP.KEY: gone when the folder has it
//	bucket bilevelc-inputs   models and data by their SHA-256
//	bucket bilevelc-large    results that are too large for a message, and proofs
//
// A job is delivered at least once: a worker that gives no sign of life loses its job
// to another. Its result is kept exactly once.
package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"bilevelc/cmd/internal/sweep"
	"bilevelc/internal/must"
)

const (
	jobsStream    = "BILEVELC_JOBS"
	resultsStream = "BILEVELC_RESULTS"
	workers       = "workers" // the consumer that all workers share
	inputsBucket  = "bilevelc-inputs"
	largeBucket   = "bilevelc-large"

	// Headers of a result.
	headerWorker  = "Bilevelc-Worker"
	headerSeconds = "Bilevelc-Seconds"
	headerStatus  = "Bilevelc-Status"
	headerFault   = "Bilevelc-Fault" // why there is none
	headerLarge   = "Bilevelc-Large" // the document is in the bucket, under this name
	headerProof   = "Bilevelc-Proof" // and the proof under this one
	headerNoProof = "Bilevelc-Unproved"
)

// deliveries bounds how often a job is given to workers: one that ends this many of
// them ends the next one, too.
const deliveries = 10

func jobSubject(id, key string) string    { return "bilevelc.jobs." + id + "." + key }
func resultSubject(id, key string) string { return "bilevelc.results." + id + "." + key }

// message is a job on its way to a worker.
type message struct {
	Sweep string    `json:"sweep"`
	Job   sweep.Job `json:"job"`
}

// Conn is a connection to a queue.
type Conn = nats.Conn

// Connect connects to the servers at url, and again whenever the connection is lost.
func Connect(url, name string, by sweep.Security) (*nats.Conn, error) {
	options := []nats.Option{nats.Name(name), nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true),
		nats.ReconnectWait(200 * time.Millisecond), nats.Timeout(5 * time.Second)}
	if by.Token != "" {
		options = append(options, nats.TokenHandler(func() string {
			found, _ := readToken(by.Token)
			return found // "" the server refuses; it makes the file before it listens
		}))
	}
	if by.Credentials != "" {
		options = append(options, nats.UserCredentials(by.Credentials))
	}
	if by.CA != "" {
		options = append(options, nats.RootCAs(by.CA))
	}
	if by.Cert != "" || by.Key != "" {
		options = append(options, nats.ClientCert(by.Cert, by.Key))
	}
	return nats.Connect(url, options...)
}

// setup makes the streams, the consumer and the buckets where they are not there yet.
func setup(ctx context.Context, js jetstream.JetStream, redeliver time.Duration) {
	made := func(what string, err error) { must.Be(err == nil, "%s: %w", what, err) }
	_, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: jobsStream, Subjects: []string{"bilevelc.jobs.*.*"},
		Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage,
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true})
	made("the stream of jobs", err)
	_, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: resultsStream, Subjects: []string{"bilevelc.results.*.*"},
		Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage})
	made("the stream of results", err)
	_, err = js.CreateOrUpdateConsumer(ctx, jobsStream, jetstream.ConsumerConfig{Durable: workers, AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: redeliver, MaxDeliver: deliveries, MaxAckPending: 100_000})
	made("the consumer of jobs", err)
	for _, bucket := range []string{inputsBucket, largeBucket} {
		_, err = js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: bucket, Storage: jetstream.FileStorage})
		made("the bucket "+bucket, err)
	}
}

// refusal is why the server does not let this process in: a client that is refused each time
// closes its connection. nil while the connection is there, or may come back.
func refusal(conn *nats.Conn) error {
	if !conn.IsClosed() {
		return nil
	}
	return fmt.Errorf("the queue refuses %q: %w", conn.Opts.Name, cmp.Or(conn.LastError(), nats.ErrConnectionClosed))
}

// persist repeats what needs the server until it succeeds: the server may be away for a
// while. The end of ctx ends it (package must), and so does what another try would meet again.
func persist(ctx context.Context, conn *nats.Conn, what func(context.Context)) {
	const (
		patience = 10 * time.Second // for one answer
		pause    = 300 * time.Millisecond
	)
	for {
		one, cancel := context.WithTimeout(ctx, patience)
		err := must.Try(func() { what(one) })
		cancel()
		if err == nil {
			return
		}
		if refused, ok := errors.AsType[*permanentError](err); ok {
			must.Do(refused.err)
		}
		must.Do(refusal(conn))
		select {
		case <-ctx.Done():
			must.Do(context.Cause(ctx))
		case <-time.After(pause):
		}
	}
}

// permanentError is an error that another try would meet again.
type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
