// Command server sets prices on request: it holds the model of a shop
// (examples/shop), and answers with the prices that are best for what customers like
// and goods cost at the moment.
//
//	go run ./examples/server -listen 127.0.0.1:8080
//	curl -d '{"taste": [5, 4, 3], "cost": [1, 1, 0.5]}' 'http://127.0.0.1:8080/prices?deadline=500ms'
//
// It shows how a service embeds the runtime: one Problem, compiled once, shared by all
// requests and given new numbers by Update; deadlines and cancellation by context;
// metrics for Prometheus at /metrics; an end that lets requests finish.
package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	goruntime "runtime"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "where to listen")
	model := flag.String("model", "examples/shop/shop.blv", "the model of the shop")
	workers := flag.Int("workers", goruntime.NumCPU(), "requests that are solved at a time")
	waiting := flag.Int("waiting", 1000, "requests that may wait for that; more are turned away")
	drain := flag.Duration("drain", 10*time.Second, "how long requests may take to finish when the server ends")
	flag.Parse()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	service, err := New(*model, *workers, *waiting, prometheus.NewRegistry())
	if err != nil {
		log.Error("the model", "error", err)
		os.Exit(1)
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Error("listening", "error", err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log.Info("ready", "address", listener.Addr().String())
	if err := Serve(ctx, listener, service, *drain); err != nil {
		log.Error("serving", "error", err)
		os.Exit(1)
	}
	log.Info("ended")
}

// Serve answers requests until ctx ends. Then it takes no more, lets those that are
// under way finish, and ends the solves of those that take longer than drain, which
// answer with the best prices so far.
func Serve(ctx context.Context, listener net.Listener, service *Service, drain time.Duration) error {
	solves, end := context.WithCancel(context.Background())
	defer end()
	server := &http.Server{Handler: service, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return solves }}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	patience, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	err := server.Shutdown(patience)
	if errors.Is(err, context.DeadlineExceeded) {
		end() // interrupts what still runs; its answers go out
		last, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		err = server.Shutdown(last)
	}
	return err
}
