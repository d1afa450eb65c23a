package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"bilevelc/lang/diag"
	"bilevelc/runtime"
)

// Service sets prices. It is an http.Handler.
type Service struct {
	problem *runtime.Problem
	mux     *http.ServeMux
	slots   chan struct{} // one for each request that is solved
	places  chan struct{} // one for each that is solved or waits

	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	waiting  prometheus.Gauge
	solving  prometheus.Gauge
	calls    *prometheus.CounterVec
}

// Deadlines of a request: what it has if it does not say, and the most it may ask for.
const (
	defaultDeadline = 2 * time.Second
	mostDeadline    = 30 * time.Second
	mostBody        = 1 << 20
)

// New compiles the model, and registers its metrics.
func New(model string, workers, waiting int, registry *prometheus.Registry) (*Service, error) {
	if workers < 1 || waiting < 0 {
		return nil, fmt.Errorf("%d workers and %d places to wait", workers, waiting)
	}
	compiled, err := runtime.CompileFile(model)
	if err != nil {
		return nil, err
	}
	problem, err := compiled.Bind(nil, runtime.BindOptions{})
	if err != nil {
		return nil, err
	}
	s := &Service{problem: problem, mux: http.NewServeMux(), slots: make(chan struct{}, workers), places: make(chan struct{}, workers+waiting),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "prices_requests_total", Help: "Requests by HTTP status."}, []string{"code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "prices_solve_seconds", Help: "Time of a solve, by how it ended.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14)}, []string{"status"}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{Name: "prices_waiting", Help: "Requests that wait to be solved."}),
		solving: prometheus.NewGauge(prometheus.GaugeOpts{Name: "prices_solving", Help: "Requests that are being solved."}),
		calls:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "prices_calls_total", Help: "Calls to f and g, and to their gradients."}, []string{"function"}),
	}
	registry.MustRegister(s.requests, s.seconds, s.waiting, s.solving, s.calls)
	s.mux.HandleFunc("POST /prices", s.prices)
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	s.mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Answer is what a request gets.
type Answer struct {
	Status  string         `json:"status"` // "solved", "limit reached", ...
	Reason  string         `json:"reason,omitempty"`
	Price   runtime.Values `json:"price,omitempty"`
	Amount  runtime.Values `json:"amount,omitempty"`
	Profit  runtime.Number `json:"profit"`
	Seconds float64        `json:"seconds"`
}

// Fault is what a request with an error gets.
type Fault struct {
	Error string `json:"error"`
	// Places say where in the request's data the error is.
	Places []string `json:"places,omitempty"`
}

// prices answers POST /prices?deadline=500ms: the body holds new values for data of the
// model by name.
func (s *Service) prices(w http.ResponseWriter, r *http.Request) {
	deadline := defaultDeadline
	if text := r.URL.Query().Get("deadline"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 || d > mostDeadline {
			s.reply(w, http.StatusBadRequest, Fault{Error: fmt.Sprintf("deadline is a duration of at most %v, such as 500ms, not %q", mostDeadline, text)})
			return
		}
		deadline = d
	}
	// The deadline is the request's: waiting counts.
	ctx, cancel := context.WithTimeoutCause(r.Context(), deadline, runtime.ErrTimeLimit)
	defer cancel()
	var data runtime.Data
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostBody)).Decode(&data); err != nil {
		s.reply(w, http.StatusBadRequest, Fault{Error: "the body is to be a JSON object of data by name: " + err.Error()})
		return
	}
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	default:
		w.Header().Set("Retry-After", "1")
		s.reply(w, http.StatusServiceUnavailable, Fault{Error: "too many requests are waiting"})
		return
	}
	if !s.turn(ctx) {
		s.ended(w, r, "the deadline came before the request's turn")
		return
	}
	defer func() { <-s.slots; s.solving.Dec() }()
	s.solve(ctx, w, r, data)
}

// turn waits until a request may be solved; false where ctx ends first.
func (s *Service) turn(ctx context.Context) bool {
	s.waiting.Inc()
	defer s.waiting.Dec()
	select {
	case s.slots <- struct{}{}:
		s.solving.Inc()
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *Service) solve(ctx context.Context, w http.ResponseWriter, r *http.Request, data runtime.Data) {
	began := time.Now()
	problem, err := s.problem.Update(data)
	var list diag.List
	var usage *runtime.UsageError
	switch {
	case errors.As(err, &list):
		fault := Fault{Error: "the data do not fit the model"}
		for _, d := range list {
			fault.Places = append(fault.Places, d.Error())
		}
		s.reply(w, http.StatusBadRequest, fault)
		return
	case errors.As(err, &usage):
		s.reply(w, http.StatusBadRequest, Fault{Error: err.Error()})
		return
	case err != nil:
		s.reply(w, http.StatusInternalServerError, Fault{Error: "the model could not be updated"})
		return
	}
	result, err := problem.Solve(ctx, runtime.Options{Seed: 1, Starts: 1})
	if err != nil {
		s.reply(w, http.StatusInternalServerError, Fault{Error: "the model could not be solved"})
		return
	}
	took := time.Since(began).Seconds()
	s.seconds.WithLabelValues(result.Status.String()).Observe(took)
	for name, n := range map[string]int64{"f": result.Calls.F, "grad_f": result.Calls.GradF, "g": result.Calls.G, "grad_g": result.Calls.GradG} {
		s.calls.WithLabelValues(name).Add(float64(n))
	}
	if !result.HasPoint() {
		if ctx.Err() != nil {
			s.ended(w, r, "the deadline came before there were prices")
			return
		}
		s.reply(w, http.StatusUnprocessableEntity, Fault{Error: result.Err().Error()})
		return
	}
	s.reply(w, http.StatusOK, Answer{Status: result.Status.String(), Reason: result.Reason, Price: result.Upper.Variables,
		Amount: result.Lower.Variables, Profit: result.Upper.Objective, Seconds: took})
}

// statusClientGone is what logs and metrics say of a client that hung up.
const statusClientGone = 499

// ended answers a request whose context has ended without prices.
func (s *Service) ended(w http.ResponseWriter, r *http.Request, why string) {
	if r.Context().Err() != nil { // the client is gone, or the server ends
		s.requests.WithLabelValues(fmt.Sprint(statusClientGone)).Inc()
		return
	}
	s.reply(w, http.StatusGatewayTimeout, Fault{Error: why})
}

func (s *Service) reply(w http.ResponseWriter, code int, body any) {
	s.requests.WithLabelValues(fmt.Sprint(code)).Inc()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // a client that is gone is told nothing
}
