package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bilevelc/runtime"
)

const shelf = `model shelf
data cap: real = 4
data taste: vector[3] = [5, 4, 3]
upper {
  var price: vector[3] in box(0, 6)
  maximize price' * amount
}
lower {
  var amount: vector[3] in nonneg
  minimize 0.5 * sumsq(amount) - (taste - price)' * amount
  subject to
    shelf: sum(amount) <= cap
}
report { sold = sum(amount) }
`

// client talks to a server of its own.
type client struct {
	t    *testing.T
	in   io.WriteCloser
	out  chan []byte // lines, read as they come, as a client must
	done chan error
	id   int
	seen []message // notifications
}

type message struct {
	Version string          `json:"jsonrpc"`
	ID      any             `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *Error          `json:"error"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

func connect(t *testing.T) *client {
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	c := &client{t: t, in: inWrite, out: make(chan []byte, 1<<16), done: make(chan error, 1)}
	go func() {
		defer close(c.out)
		for lines := bufio.NewReader(outRead); ; {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			c.out <- line
		}
	}()
	go func() {
		c.done <- Serve(context.Background(), inRead, outWrite, "test")
		outWrite.Close()
	}()
	t.Cleanup(func() {
		inWrite.Close()
		if err := <-c.done; err != nil {
			t.Error(err)
		}
	})
	return c
}

// line reads one message, which must be one of JSON-RPC.
func (c *client) line() message {
	c.t.Helper()
	text, ok := <-c.out
	if !ok {
		c.t.Fatal("the server is gone")
	}
	var m message
	if err := json.Unmarshal(text, &m); err != nil || m.Version != "2.0" {
		c.t.Fatalf("not a message: %q (%v)", text, err)
	}
	return m
}

func (c *client) send(method string, params any) int {
	c.t.Helper()
	c.id++
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.id, "method": method, "params": params})
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.in.Write(append(text, '\n')); err != nil {
		c.t.Fatal(err)
	}
	return c.id
}

// answer reads up to the answer of a request.
func (c *client) answer(id int) message {
	c.t.Helper()
	for {
		m := c.line()
		if m.Method != "" {
			c.seen = append(c.seen, m)
			continue
		}
		if m.ID != float64(id) {
			c.t.Fatalf("an answer of %v, not of %d: %s %v", m.ID, id, m.Result, m.Error)
		}
		return m
	}
}

// call is a request that succeeds, and refuse one that fails.
func call[T any](c *client, method string, params any) T {
	c.t.Helper()
	m := c.answer(c.send(method, params))
	if m.Error != nil {
		c.t.Fatalf("%s: %+v", method, m.Error)
	}
	var out T
	if err := json.Unmarshal(m.Result, &out); err != nil {
		c.t.Fatalf("%s: %v in %s", method, err, m.Result)
	}
	return out
}

func refuse(c *client, method string, params any) *Error {
	c.t.Helper()
	m := c.answer(c.send(method, params))
	if m.Error == nil {
		c.t.Fatalf("%s: %s", method, m.Result)
	}
	return m.Error
}

type object map[string]any

type solution struct {
	Result json.RawMessage `json:"result"`
}

func (s solution) read(t *testing.T) *runtime.Result {
	t.Helper()
	r, err := runtime.ReadResult(s.Result)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// What comes over the wire is what the runtime gives in this process.
func TestStory(t *testing.T) {
	c := connect(t)
	m := call[struct {
		Model  string
		Inputs []input
	}](c, "compile", object{"text": shelf, "name": "shelf.blv"})
	if len(m.Inputs) != 2 || m.Inputs[0].Name != "cap" || m.Inputs[1].Type != "vector[3]" {
		t.Errorf("%+v", m)
	}
	b := call[struct {
		Problem string
		Digest  string
		Dims    map[string]int
	}](c, "bind", object{"model": m.Model, "data": object{"cap": 3}})
	own, err := runtime.Compile("shelf.blv", shelf)
	if err != nil {
		t.Fatal(err)
	}
	p, err := own.Bind(runtime.Data{"cap": 3}, runtime.BindOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if b.Digest != p.Digest() || fmt.Sprint(b.Dims) != "map[rows:4 x:3 y:3]" {
		t.Errorf("%+v", b)
	}
	got := call[solution](c, "solve", object{"problem": b.Problem, "progress": true}).read(t)
	want, err := p.Solve(context.Background(), runtime.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	want.Inputs = got.Inputs
	sealed, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if want, err = runtime.ReadResult(sealed); err != nil || got.Intact() != nil || got.Seal != want.Seal {
		t.Errorf("another result over the wire: %v, %v, %v", err, got.Intact(), got.Upper)
	}
	if len(c.seen) == 0 || c.seen[0].Method != "progress" {
		t.Errorf("progress: %+v", c.seen)
	}

	type verdict struct {
		OK     bool
		Checks []any
	}
	if v := call[verdict](c, "verify", object{"problem": b.Problem, "result": json.RawMessage(sealed)}); !v.OK || len(v.Checks) < 5 {
		t.Errorf("%+v", v)
	}
	forged := bytes.Replace(sealed, []byte(`"objective":9.5`), []byte(`"objective":9.7`), 1)
	if bytes.Equal(forged, sealed) {
		t.Fatal("nothing was forged")
	}
	if v := call[verdict](c, "verify", object{"problem": b.Problem, "result": json.RawMessage(forged)}); v.OK {
		t.Error("a forged document passes")
	}

	call[object](c, "update", object{"problem": b.Problem, "data": object{"cap": 3.01}})
	warm := call[solution](c, "solve", object{"problem": b.Problem, "warm": true}).read(t)
	if !strings.Contains(strings.Join(warm.Notes, "\n"), "followed") || warm.Status != runtime.Solved {
		t.Errorf("not followed: %v %v", warm.Status, warm.Notes)
	}
	fresh := call[struct{ Problem, Digest string }](c, "bind", object{"model": m.Model, "set": []string{"cap=3.01"}})
	if fresh.Digest != warm.Digest {
		t.Error("an update and a binding of the same data differ")
	}
	call[object](c, "close", object{"problem": b.Problem})
	if e := refuse(c, "solve", object{"problem": b.Problem}); e.Code != wrongParams {
		t.Errorf("%+v", e)
	}
	call[object](c, "close", object{"model": m.Model})
}

// The derivatives that evaluate gives are those of differences of what it gives: of F,
// of a product with y, and along a direction, at random points off the kinks.
func TestEvaluateAgainstDifferences(t *testing.T) {
	c := connect(t)
	call[object](c, "compile", object{"text": shelf})
	call[object](c, "bind", object{"model": "m1"})
	rng := rand.New(rand.NewPCG(1, 0))
	checked := 0
	for range 30 {
		x, w, d := make([]float64, 3), make([]float64, 3), make([]float64, 3)
		for i := range x {
			x[i], w[i], d[i] = 1+3*rng.Float64(), rng.NormFloat64(), rng.NormFloat64()
		}
		at := func(x []float64, more object) evaluation {
			params := object{"problem": "p1", "x": x}
			for k, v := range more {
				params[k] = v
			}
			return call[evaluation](c, "evaluate", params)
		}
		e := at(x, object{"gradient": true, "vjp": object{"y": w}, "jvp": d})
		const h = 1e-5 // differences of branches that are quadratic have no error of the second order
		near := func(x []float64, i int, step float64) evaluation {
			moved := append([]float64{}, x...)
			moved[i] += step
			return at(moved, nil)
		}
		var directional float64
		faces := func(e evaluation) string {
			var s []bool
			for _, l := range e.Lambda {
				s = append(s, l > 0)
			}
			return fmt.Sprint(s)
		}
		smooth := true
		var gradient, product []float64
		for i := range x {
			up, down := near(x, i, h), near(x, i, -h)
			smooth = smooth && faces(up) == faces(e) && faces(down) == faces(e)
			gradient = append(gradient, float64(up.Objective-down.Objective)/(2*h))
			sum := 0.0
			for k := range w {
				sum += w[k] * (up.Y[k] - down.Y[k]) / (2 * h)
			}
			product = append(product, sum)
			directional += gradient[i] * d[i]
		}
		if !smooth {
			continue
		}
		checked++
		for i := range x {
			if math.Abs(e.Gradient.Value[i]-gradient[i]) > 1e-6 || math.Abs(e.VJP.Value[i]-product[i]) > 1e-6 {
				t.Errorf("at %v: gradient %v, differences %v; product %v, differences %v", x, e.Gradient.Value, gradient, e.VJP.Value, product)
			}
		}
		if math.Abs(float64(e.JVP.Objective)-directional) > 1e-5 {
			t.Errorf("at %v along %v: %v, differences %v", x, d, e.JVP.Objective, directional)
		}
	}
	if checked < 20 {
		t.Fatalf("only %d points are off the kinks", checked)
	}
	named := call[evaluation](c, "evaluate", object{"problem": "p1", "x": object{"price": []float64{1, 2, 2}}})
	if fmt.Sprint(named.X) != "[1 2 2]" || len(named.Lower) != 1 || named.Lower[0].Name != "amount" {
		t.Errorf("%+v", named)
	}
}

// A line that is no request is answered as one, and the next one as if it had not been.
func TestMalformed(t *testing.T) {
	c := connect(t)
	call[object](c, "compile", object{"text": shelf})
	call[object](c, "bind", object{"model": "m1"})
	for line, code := range map[string]int{
		"garbage":        notJSON,
		`{"jsonrpc": `:   notJSON,
		"\x00\xff\xfe":   notJSON,
		"[1, 2]":         notRequest,
		"17":             notRequest,
		`{}`:             notRequest,
		`{"id": 1}`:      notRequest,
		`{"method": []}`: notRequest,
		`{"jsonrpc": "2.0", "id": {}, "method": "hello"}`:                                                               notRequest,
		`{"jsonrpc": "2.0", "id": 9, "method": "no such"}`:                                                              unknownMethod,
		`{"jsonrpc": "2.0", "id": 9, "method": "hello", "params": {"protocol": 99}}`:                                    wrongParams,
		`{"jsonrpc": "2.0", "id": 9, "method": "solve", "params": 5}`:                                                   wrongParams,
		`{"jsonrpc": "2.0", "id": 9, "method": "solve", "params": {"problem": "p1", "strats": 5}}`:                      wrongParams,
		`{"jsonrpc": "2.0", "id": 9, "method": "solve", "params": {"problem": "p7"}}`:                                   wrongParams,
		`{"jsonrpc": "2.0", "id": 9, "method": "compile", "params": {}}`:                                                wrongParams,
		`{"jsonrpc": "2.0", "id": 9, "method": "bind", "params": {"model": "m9"}}`:                                      wrongParams,
		`{"jsonrpc": "2.0", "id": 9, "method": "close"}`:                                                                wrongParams,
		`{"jsonrpc": "2.0", "id": 9, "method": "solve", "params": {"problem": "p1", "starts": -1}}`:                     2,
		`{"jsonrpc": "2.0", "id": 9, "method": "solve", "params": {"problem": "p1", "time_limit": 1e300}}`:              wrongParams,
		`{"jsonrpc": "2.0", "id": 9, "method": "solve", "params": {"problem": "p1", "method": "no"}}`:                   2,
		`{"jsonrpc": "2.0", "id": 9, "method": "solve", "params": {"problem": "p1", "options": {"epsilon": [1]}}}`:      2,
		`{"jsonrpc": "2.0", "id": 9, "method": "compile", "params": {"path": "no such file"}}`:                          2,
		`{"jsonrpc": "2.0", "id": 9, "method": "compile", "params": {"text": "model x\nupper {"}}`:                      3,
		`{"jsonrpc": "2.0", "id": 9, "method": "bind", "params": {"model": "m1", "data": {"cap": "x"}}}`:                4,
		`{"jsonrpc": "2.0", "id": 9, "method": "bind", "params": {"model": "m1", "data": {"cpa": 1}}}`:                  4,
		`{"jsonrpc": "2.0", "id": 9, "method": "bind", "params": {"model": "m1", "files": ["no such.csv"]}}`:            4,
		`{"jsonrpc": "2.0", "id": 9, "method": "update", "params": {"problem": "p1", "data": {"taste": [1]}}}`:          4,
		`{"jsonrpc": "2.0", "id": 9, "method": "evaluate", "params": {"problem": "p1"}}`:                                2,
		`{"jsonrpc": "2.0", "id": 9, "method": "evaluate", "params": {"problem": "p1", "x": [1]}}`:                      2,
		`{"jsonrpc": "2.0", "id": 9, "method": "evaluate", "params": {"problem": "p1", "x": {"prize": 1}}}`:             2,
		`{"jsonrpc": "2.0", "id": 9, "method": "evaluate", "params": {"problem": "p1", "x": ["a", 1, 2]}}`:              wrongParams,
		`{"jsonrpc": "2.0", "id": 9, "method": "evaluate", "params": {"problem": "p1", "x": [1,2,3], "vjp":{"y":[1]}}}`: 2,
		`{"jsonrpc": "2.0", "id": 9, "method": "verify", "params": {"problem": "p1", "result": {}}}`:                    2,
		`{"jsonrpc": "2.0", "id": 9, "method": "verify", "params": {"problem": "p1"}}`:                                  2,
	} {
		if _, err := io.WriteString(c.in, line+"\n"); err != nil {
			t.Fatal(err)
		}
		m := c.line()
		if m.Error == nil || m.Error.Code != code || m.Error.Message == "" {
			t.Errorf("%s: %s %+v, not code %d", line, m.Result, m.Error, code)
		}
		if m.Error != nil && (code == 3 || code == 4) && (m.Error.Data == nil || m.Error.Data.Text == "" || !bytes.Contains(m.Error.Data.Diagnostics, []byte(`"code"`))) {
			t.Errorf("%s: no diagnostics: %+v", line, m.Error)
		}
	}
	if _, err := io.WriteString(c.in, "\n  \n"+`{"jsonrpc": "2.0", "method": "hello"}`+"\n"); err != nil { // neither is answered
		t.Fatal(err)
	}
	call[object](c, "hello", nil)
}

// A fault of this program ends one request, not the process.
func TestPanic(t *testing.T) {
	methods["boom"] = func(*server, *task) any { panic("boom") }
	defer delete(methods, "boom")
	c := connect(t)
	if e := refuse(c, "boom", nil); e.Code != internalError || !strings.Contains(e.Data.Text, "serve_test.go") {
		t.Errorf("%+v", e)
	}
	call[object](c, "hello", nil)
}

func TestCancel(t *testing.T) {
	c := connect(t)
	call[object](c, "compile", object{"text": shelf})
	call[object](c, "bind", object{"model": "m1"})
	running := c.send("solve", object{"problem": "p1", "starts": 20000, "progress": true})
	for m := c.line(); m.Method != "progress"; m = c.line() {
	}
	waiting := c.send("solve", object{"problem": "p1"})
	answers := map[any]message{}
	for _, id := range []any{waiting, running, 12345} {
		c.send("cancel", object{"id": id})
	}
	for len(answers) < 5 {
		if m := c.line(); m.Method == "" {
			answers[m.ID] = m
		}
	}
	var r solution
	if err := json.Unmarshal(answers[float64(running)].Result, &r); err != nil {
		t.Fatal(err)
	}
	if got := r.read(t); got.Status != runtime.Interrupted || !got.HasPoint() {
		t.Errorf("%v: %v", got.Status, got.Reason)
	}
	if e := answers[float64(waiting)].Error; e == nil || e.Code != 130 {
		t.Errorf("%+v", e)
	}
	if !bytes.Contains(answers[float64(c.id-2)].Result, []byte("true")) || !bytes.Contains(answers[float64(c.id)].Result, []byte("false")) {
		t.Errorf("%s, %s", answers[float64(c.id-2)].Result, answers[float64(c.id)].Result)
	}
	call[solution](c, "solve", object{"problem": "p1", "starts": 1})
}

// Data in binary, as triplets and as lists are the same data.
func TestData(t *testing.T) {
	const text = `model matrices
param n: int
data A: matrix[n, n]
data b: vector[n]
upper {
  var x: vector[n] in box(-1, 1)
  minimize sumsq(A * y - b) + sumsq(x)
}
lower {
  var y: vector[n]
  minimize sumsq(y - x)
}
`
	c := connect(t)
	call[object](c, "compile", object{"text": text})
	pack := func(shape []int, v []float64) object {
		return object{"dtype": "<f8", "shape": shape, "base64": base64.StdEncoding.EncodeToString(littleEndian(v))}
	}
	dense := []float64{2, 0, 0, 0, 3, 0.1, 0, 0, 4}
	b := []float64{1, 2, 1.0 / 3}
	digests := map[string]bool{}
	for _, data := range []object{
		{"A": [][]float64{dense[:3], dense[3:6], dense[6:]}, "b": b},
		{"A": pack([]int{3, 3}, dense), "b": pack([]int{3}, b)},
	} {
		digests[call[struct{ Digest string }](c, "bind", object{"model": "m1", "data": data}).Digest] = true
	}
	if len(digests) != 1 {
		t.Error("binary data are other data")
	}
	sparse := object{"shape": []int{3, 3}, "row": []int{0, 1, 2, 1, 1}, "col": []int{0, 1, 2, 2, 1}, "data": []float64{2, 1, 4, 0.1, 2}}
	call[object](c, "bind", object{"model": "m1", "data": object{"A": sparse, "b": b}})
	x := []float64{0.1, -0.2, 0.3}
	first := call[evaluation](c, "evaluate", object{"problem": "p1", "x": x})
	third := call[evaluation](c, "evaluate", object{"problem": "p3", "x": pack([]int{3}, x)})
	if math.Abs(float64(first.Objective-third.Objective)) > 1e-12 {
		t.Errorf("sparse: %v, dense: %v", third.Objective, first.Objective)
	}
	for _, bad := range []object{
		{"dtype": "<f4", "shape": []int{3}, "base64": ""},
		{"dtype": "<f8", "shape": []int{3}, "base64": "AAAA"},
		{"dtype": "<f8", "shape": []int{-3}, "base64": ""},
		{"dtype": "<f8", "shape": []int{1 << 40, 1 << 40}, "base64": ""},
		{"dtype": "<f8", "shape": []int{0, 1 << 62}, "base64": "AAAAAAAAAAA="},
		{"dtype": "<f8", "shape": []int{1}, "base64": "%"},
		pack([]int{3}, []float64{1, math.NaN(), 2}),
	} {
		if e := refuse(c, "bind", object{"model": "m1", "data": object{"A": sparse, "b": bad}}); e.Code != 4 {
			t.Errorf("%v: %+v", bad, e)
		}
	}
	for _, bad := range []object{
		{"shape": []int{3, 3}, "row": []int{0}, "col": []int{5}, "data": []float64{1}},
		{"shape": []int{3, 3}, "row": []int{0, 1}, "col": []int{1}, "data": []float64{1}},
		{"shape": []int{3}, "row": []int{0}, "col": []int{1}, "data": []float64{1}},
	} {
		if e := refuse(c, "bind", object{"model": "m1", "data": object{"A": bad, "b": b}}); e.Code != 4 {
			t.Errorf("%v: %+v", bad, e)
		}
	}
}

func littleEndian(v []float64) (raw []byte) {
	for _, f := range v {
		raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(f))
	}
	return raw
}

// Values over sets come with their labels, and data may be given by label and as a table.
func TestLabels(t *testing.T) {
	text, err := os.ReadFile("../../../examples/transport/transport.blv")
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t)
	call[object](c, "compile", object{"text": string(text)})
	folder := "../../../examples/transport/"
	b := call[struct {
		Upper struct{ Variables []array }
	}](c, "bind", object{"model": "m1", "files": []string{folder + "nodes.csv", folder + "roads.csv"}})
	v := b.Upper.Variables[0]
	if len(v.Axes) != 1 || len(v.Axes[0].Labels) != v.Shape[0] || len(v.Axes[0].Names) != 2 || len(v.Axes[0].Labels[0]) != 2 {
		t.Errorf("%+v", v)
	}
}

// What waits when the input ends is answered.
func TestEnd(t *testing.T) {
	in := `{"jsonrpc": "2.0", "id": 1, "method": "hello"}` + "\n" + `{"jsonrpc": "2.0", "id": "two", "method": "hello"}` // no end of line
	var out bytes.Buffer
	if err := Serve(context.Background(), strings.NewReader(in), &out, "test"); err != nil || strings.Count(out.String(), "\n") != 2 || !strings.Contains(out.String(), `"id":"two"`) {
		t.Errorf("%v: %s", err, out.String())
	}
}

// Whatever comes, what goes out are messages of JSON-RPC, none of which tells of a fault
// of ours.
func FuzzServe(f *testing.F) {
	f.Add("garbage\n{}")
	f.Add(`{"jsonrpc": "2.0", "id": 1, "method": "bind", "params": {"model": "m1", "data": {"cap": {"dtype": "<f8", "shape": [0, 5], "base64": ""}}}}`)
	f.Add(`{"jsonrpc": "2.0", "id": 1, "method": "evaluate", "params": {"problem": "p1", "x": {"price": [1, 2, 3]}, "jvp": [1]}}`)
	f.Add(`{"jsonrpc": "2.0", "id": 1, "method": "cancel", "params": {"id": null}}`)
	f.Add(`{"jsonrpc": "2.0", "id": 1, "method": "solve", "params": {"problem": "p1", "start": {"price": {"a": 1}}, "max_iter": 1, "starts": 1}}`)
	first, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": "compile", "params": object{"text": shelf}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "path") || strings.Contains(text, "files") || strings.Contains(text, "starts") && !strings.Contains(text, `"starts": 1}`) {
			t.Skip("no files, no long runs")
		}
		var out bytes.Buffer
		in := string(first) + "\n" + `{"jsonrpc": "2.0", "method": "bind", "params": {"model": "m1"}}` + "\n" + text + "\n"
		if err := Serve(context.Background(), strings.NewReader(in), &out, "test"); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			var m message
			if err := json.Unmarshal([]byte(line), &m); err != nil || m.Version != "2.0" || m.Error != nil && m.Error.Code == internalError {
				t.Fatalf("%s: %q (%v)", text, line, err)
			}
		}
	})
}

// A proof that a solve has written shows the document's bound, and no better one; nor does one that was changed.
func TestProof(t *testing.T) {
	c := connect(t)
	call[object](c, "compile", object{"text": shelf})
	call[object](c, "bind", object{"model": "m1"})
	path := filepath.Join(t.TempDir(), "shelf.proof")
	type proved struct {
		solution
		NoProof string `json:"no_proof"`
	}
	s := call[proved](c, "solve", object{"problem": "p1", "search": "global", "gap": 1e-4, "proof": path, "progress": true})
	r := s.read(t)
	if s.NoProof != "" || r.Global == nil || !r.Global.Proved || r.Global.Proof != path {
		t.Fatalf("%q, %+v", s.NoProof, r.Global)
	}
	seen := false
	for _, m := range c.seen {
		seen = seen || bytes.Contains(m.Params, []byte(`"tree":{"bound":`))
	}
	if !seen {
		t.Error("no progress of the search")
	}
	type verdict struct {
		OK     bool
		Checks []struct {
			OK   bool
			Text string
		}
		Unchecked []string
	}
	verify := func(document json.RawMessage, proof string) verdict {
		return call[verdict](c, "verify", object{"problem": "p1", "result": document, "proof": proof})
	}
	shown := func(v verdict) bool {
		for _, check := range v.Checks {
			if strings.Contains(check.Text, "no feasible point has F above") {
				return check.OK
			}
		}
		return false
	}
	if v := verify(s.Result, path); !v.OK || !shown(v) || strings.Contains(strings.Join(v.Unchecked, "\n"), "global") {
		t.Errorf("%+v", v)
	}
	if v := verify(s.Result, ""); !v.OK || shown(v) || !strings.Contains(strings.Join(v.Unchecked, "\n"), "global") {
		t.Errorf("without the proof: %+v", v)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	for k := range lines { // each line dropped
		forged := filepath.Join(t.TempDir(), "forged")
		if err := os.WriteFile(forged, bytes.Join(append(slices.Clone(lines[:k]), lines[k+1:]...), nil), 0o666); err != nil {
			t.Fatal(err)
		}
		if len(lines[k]) > 0 && verify(s.Result, forged).OK {
			t.Errorf("the proof holds without %s", lines[k])
		}
	}
	better := *r
	better.Global.Bound -= 0.1 // of a leader that maximizes
	document, err := json.Marshal(&better)
	if err != nil {
		t.Fatal(err)
	}
	if v := verify(document, path); v.OK {
		t.Error("a bound that the proof does not show passes")
	}

	if e := refuse(c, "verify", object{"problem": "p1", "result": s.Result, "proof": path + ".not"}); e.Code != 2 {
		t.Errorf("%+v", e)
	}
	for _, wrong := range []object{{"search": "fast"}, {"search": "local", "proof": path}, {"search": "local", "gap": 0.1}, {"gap": -1}, {"nodes": -1}} {
		wrong["problem"] = "p1"
		if e := refuse(c, "solve", wrong); e.Code != wrongParams && e.Code != 2 {
			t.Errorf("%v: %+v", wrong, e)
		}
	}
	if s := call[solution](c, "solve", object{"problem": "p1", "search": "local"}).read(t); s.Global != nil {
		t.Errorf("a search that was not asked for: %+v", s.Global)
	}
	call[object](c, "compile", object{"text": strings.Replace(shelf, "price' * amount\n}\nlower", "price' * amount + sin(price[1])\n}\nlower", 1)})
	call[object](c, "bind", object{"model": "m2"})
	none := filepath.Join(t.TempDir(), "none")
	if s := call[proved](c, "solve", object{"problem": "p2", "proof": none, "starts": 1}); !strings.Contains(s.NoProof, "not quadratic") || s.read(t).Global.Proof != "" {
		t.Errorf("%q", s.NoProof)
	}
	if _, err := os.Stat(none); !os.IsNotExist(err) {
		t.Error("a file without a proof:", err)
	}
}
