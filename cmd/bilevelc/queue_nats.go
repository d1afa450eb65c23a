//go:build nats

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bilevelc/cmd/internal/sweep"
	"bilevelc/cmd/internal/sweep/queue"
	"bilevelc/runtime/status"
)

// hasQueue says that this program holds the queue of sweeps.
const hasQueue = true

// connect connects with what the flags say.
func connect(f *natsFlags, url, name string) *queue.Conn {
	conn, err := queue.Connect(url, name, f.by)
	hold(err == nil, "the queue at %s: %v", url, err)
	return conn
}

// sweepQueue has workers do the jobs: those of other processes, and --jobs here.
func (a *app) sweepQueue(ctx context.Context, folder *sweep.Folder, f *sweepFlags, watch func(sweep.Outcome)) error {
	url := f.nats.url
	if f.serve {
		at, token, stop, err := queue.Serve(folder, f.listen, f.config)
		hold(err == nil, "--serve: %v", err)
		defer stop()
		url = at
		shown := ""
		if token != "" {
			f.nats.by.Token, shown = token, " --token-file "+token
		}
		a.note("the queue is at %s; start workers with: bilevelc worker --nats %s%s", at, at, shown)
	}
	conn := connect(&f.nats, url, "sweep "+who())
	defer conn.Close()
	if f.jobs > 0 {
		local := connect(&f.nats, url, "worker "+who())
		defer local.Close()
		working, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			w := &queue.Worker{Conn: local, Name: who(), Jobs: f.jobs}
			_ = w.Run(working) // its jobs go to others
		}()
		defer func() { stop(); <-ended }()
	}
	c := &queue.Coordinator{Folder: folder, Conn: conn, Watch: watch, Retry: f.retry, Redeliver: f.nats.redeliver}
	return c.Run(ctx)
}

func (a *app) worker(ctx context.Context, f natsFlags, jobs int, idle time.Duration) error {
	name := who()
	conn := connect(&f, f.url, "worker "+name)
	defer conn.Close()
	a.note("worker %s waits for jobs from %s", name, f.url)
	done, failed := 0, 0
	meter := a.meter("worker "+name, 0, 1) // how many there are the queue knows
	w := &queue.Worker{Conn: conn, Name: name, Jobs: jobs, Idle: idle, Watch: func(o sweep.Outcome) {
		done++
		if o.Err != nil {
			failed++
		}
		meter.at(0, fmt.Sprintf("; done %d, failed %d; the last job took %.3g s", done, failed, o.Seconds))
	}}
	err := w.Run(ctx)
	meter.close()
	a.note("worker %s: done %d, failed %d", name, done, failed)
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return &exitError{Code: status.Interrupted.Exit(false)}
	}
	return err
}
