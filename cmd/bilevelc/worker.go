package main

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bilevelc/cmd/internal/sweep"
)

// natsFlags say where a queue is, and who asks.
type natsFlags struct {
	url       string
	by        sweep.Security
	redeliver time.Duration
}

func (f *natsFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.url, "nats", "", "NATS servers of the queue, with JetStream: nats://host:4222, or tls://user:password@host:4222")
	fs.StringVar(&f.by.Token, "token-file", "", "file of the queue's token: that of --serve is queue.token in the sweep's folder")
	fs.StringVar(&f.by.Credentials, "creds", "", "NATS credentials file")
	fs.StringVar(&f.by.CA, "tls-ca", "", "certificates that the server's is checked against (PEM)")
	fs.StringVar(&f.by.Cert, "tls-cert", "", "this side's certificate (PEM)")
	fs.StringVar(&f.by.Key, "tls-key", "", "and its key (PEM)")
	fs.DurationVar(&f.redeliver, "redeliver", sweep.DefaultRedeliver, "a worker that gives no sign of life for this long loses its job to another")
}

// valid refuses what contradicts itself.
func (f *natsFlags) valid() {
	hold((f.by.Cert == "") == (f.by.Key == ""), "--tls-cert and --tls-key go together")
	hold(f.redeliver > 0, "--redeliver is a positive duration, not %v", f.redeliver)
}

func (a *app) workerCommand() *cobra.Command {
	var f natsFlags
	var jobs int
	var idle time.Duration
	cmd := &cobra.Command{
		Use:   "worker --nats URL",
		Short: "Run jobs of sweeps that a queue hands out",
		Long: `worker takes jobs from the queue of 'bilevelc sweep --serve', or of NATS servers with
JetStream that 'bilevelc sweep --nats' uses, until it is ended. It needs no disk: models
and data come with the queue, and results go back to it. It may be killed at any time:
its jobs go to others. While the server is away it waits.`,
		Example: `  bilevelc worker --nats nats://127.0.0.1:4222 --token-file toll.sweep/queue.token --jobs 4
  bilevelc worker --nats tls://queue.example:4222 --creds worker.creds --tls-ca ca.pem --idle 10m`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			hold(f.url != "", "a worker needs --nats URL\nSee 'bilevelc worker --help'.")
			hold(jobs >= 1, "--jobs is at least 1, not %d", jobs)
			hold(idle >= 0, "--idle is not negative")
			f.valid()
			return a.worker(cmd.Context(), f, jobs, idle)
		},
	}
	fs := cmd.Flags()
	f.register(fs)
	fs.IntVarP(&jobs, "jobs", "j", 1, "jobs at a time")
	fs.DurationVar(&idle, "idle", 0, "end after this long without a job (default: never)")
	return cmd
}
