//go:build !nats

package main

import (
	"context"
	"time"

	"bilevelc/cmd/internal/sweep"
)

// hasQueue says that this program holds the queue of sweeps.
const hasQueue = false

func (a *app) sweepQueue(ctx context.Context, _ *sweep.Folder, _ *sweepFlags, _ func(sweep.Outcome)) error {
	return a.queueProgram(ctx)
}

func (a *app) worker(ctx context.Context, _ natsFlags, _ int, _ time.Duration) error {
	return a.queueProgram(ctx)
}
