package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// started is a service that listens, with the function that ends it.
func started(t *testing.T, workers, waiting int) (url string, service *Service, end func() error) {
	t.Helper()
	service, err := New("../shop/shop.blv", workers, waiting, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, listener, service, time.Minute) }()
	var once sync.Once
	var result error
	end = func() error {
		once.Do(func() {
			stop()
			result = <-ended
		})
		return result
	}
	t.Cleanup(func() { _ = end() })
	return "http://" + listener.Addr().String(), service, end
}

func post(ctx context.Context, url, body string) (code int, text string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	return response.StatusCode, string(all), err
}

func metric(t *testing.T, url, line string) string {
	t.Helper()
	response, err := http.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range strings.Split(string(text), "\n") {
		if value, ok := strings.CutPrefix(l, line+" "); ok {
			return value
		}
	}
	return ""
}

// 200 requests at once, each with numbers of its own, get the prices that are best for
// them: while the shelf is not full each good is priced half way between its cost and
// what it is worth.
func TestLoad(t *testing.T) {
	const requests = 200
	url, _, end := started(t, 4, requests)
	rng := rand.New(rand.NewPCG(1, 1))
	type order struct {
		Taste []float64 `json:"taste"`
		Cost  []float64 `json:"cost"`
	}
	var wait sync.WaitGroup
	for k := range requests {
		o := order{make([]float64, 3), make([]float64, 3)}
		for i := range 3 {
			o.Cost[i] = 0.5 + rng.Float64()
			o.Taste[i] = o.Cost[i] + 0.5 + 2*rng.Float64() // sold (taste - cost)/2, in all at most 3.75
		}
		wait.Go(func() {
			body, _ := json.Marshal(o)
			code, text, err := post(context.Background(), url+"/prices?deadline=30s", string(body))
			var answer Answer
			if err != nil || code != http.StatusOK || json.Unmarshal([]byte(text), &answer) != nil || answer.Status != "solved" {
				t.Errorf("request %d: %d, %s, %v", k, code, text, err)
				return
			}
			price, _ := answer.Price.Get("price")
			profit := 0.0
			for i := range 3 {
				profit += math.Pow(o.Taste[i]-o.Cost[i], 2) / 4
				if want := (o.Taste[i] + o.Cost[i]) / 2; math.Abs(price.Data[i]-want) > 1e-4 {
					t.Errorf("request %d: price %v, not %v", k, price.Data[i], want)
				}
			}
			if math.Abs(float64(answer.Profit)-profit) > 1e-6 {
				t.Errorf("request %d: profit %v, not %v", k, answer.Profit, profit)
			}
		})
	}
	wait.Wait()
	for line, want := range map[string]string{`prices_requests_total{code="200"}`: fmt.Sprint(requests), `prices_solve_seconds_count{status="solved"}`: fmt.Sprint(requests),
		"prices_waiting": "0", "prices_solving": "0"} {
		if got := metric(t, url, line); got != want {
			t.Errorf("metric %s is %q, not %s", line, got, want)
		}
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

// Requests that cannot be answered say why, and what is wrong where.
func TestRefusals(t *testing.T) {
	url, _, _ := started(t, 1, 10)
	for _, c := range []struct {
		path, body string
		code       int
		says       string
	}{
		{"/prices", `{"taste": [5, 4]}`, 400, "taste"},
		{"/prices", `{"taste": [5, 4, "x"]}`, 400, `Data[\"taste\"]:1:`},
		{"/prices", `{"worth": 3}`, 400, "worth"},
		{"/prices", `[]`, 400, "JSON object"},
		{"/prices", `{`, 400, "JSON object"},
		{"/prices?deadline=-1s", `{}`, 400, "deadline"},
		{"/prices?deadline=1h", `{}`, 400, "deadline"},
		{"/prices?deadline=1ns", `{}`, 504, "deadline"},
		{"/nothing", `{}`, 404, ""},
		{"/metrics", `{}`, 405, ""},
	} {
		code, text, err := post(context.Background(), url+c.path, c.body)
		if err != nil || code != c.code || !strings.Contains(text, c.says) {
			t.Errorf("%s %s: %d, %s, %v", c.path, c.body, code, text, err)
		}
	}
	response, err := http.Get(url + "/healthz")
	if err != nil || response.StatusCode != 200 {
		t.Errorf("healthz: %v", err)
	}
}

// A full queue turns requests away; a client that hangs up gives its place back; when
// the server ends, requests under way are answered and new ones are not taken.
func TestPressureAndEnd(t *testing.T) {
	url, service, end := started(t, 1, 1)
	service.slots <- struct{}{} // all workers are busy
	ctx, hangUp := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() {
		if code, _, err := post(ctx, url+"/prices?deadline=30s", "{}"); err == nil {
			t.Errorf("a client that hung up got %d", code)
		}
	})
	for len(service.places) < 1 {
		time.Sleep(time.Millisecond)
	}
	service.places <- struct{}{}
	if code, _, err := post(context.Background(), url+"/prices", "{}"); err != nil || code != http.StatusServiceUnavailable {
		t.Errorf("a full queue: %d, %v", code, err)
	}
	<-service.places
	hangUp()
	wait.Wait()
	for len(service.places) > 0 {
		time.Sleep(time.Millisecond)
	}
	code := make(chan int, 1)
	go func() {
		c, _, _ := post(context.Background(), url+"/prices?deadline=30s", "{}")
		code <- c
	}()
	for len(service.places) < 1 {
		time.Sleep(time.Millisecond)
	}
	ended := make(chan error, 1)
	go func() { ended <- end() }()
	for { // the listener is closed first
		if _, err := net.Dial("tcp", strings.TrimPrefix(url, "http://")); err != nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	select {
	case err := <-ended:
		t.Fatalf("the server ended with a request under way: %v", err)
	default:
	}
	<-service.slots // the worker is free
	if c := <-code; c != http.StatusOK {
		t.Errorf("the request under way got %d", c)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := New("../shop/none.blv", 1, 1, prometheus.NewRegistry()); err == nil {
		t.Error("no model")
	}
}
