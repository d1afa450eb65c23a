//go:build !nats

package main

import (
	"context"
	"strings"
	"testing"
)

// Without the program that holds the queue a command that needs it names the command that builds it.
func TestQueueIsNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var out, errs strings.Builder
	code := run(context.Background(), []string{"worker", "--nats", "nats://127.0.0.1:1"}, stdio{strings.NewReader(""), &out, &errs})
	if code != exitUsage || !strings.Contains(errs.String(), "go build -tags nats -o DIR/bilevelc-queue ./cmd/bilevelc") {
		t.Errorf("%d, %s", code, errs.String())
	}
}
