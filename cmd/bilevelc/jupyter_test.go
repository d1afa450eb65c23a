package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-zeromq/zmq4"
)

// notebookCells are cells of a session, and texts that their outputs have.
var notebookCells = []struct{ cell, output string }{
	{"model shop // Läden\nparam n: int = 2\nupper {\n  var preis: vector[n] in box(0, 6)\n  maximize preis' * menge\n}\nlower {\n  var menge: vector[n] in nonneg\n" +
		"  minimize 0.5 * sumsq(menge) - (5 - preis)' * menge\n  subject to\n    regal: sum(menge) <= 4\n    menge[1] <= 3\n}", "lower { }"},
	{":solve -q\nF\ndual(regal)", "\n12\n"},
	{":plot preis", "<svg"},
	{":plot F along preis[1] from 0 to 5 by 1", "<svg"},
	{"let s = sum(preis)\ns + 1\ngrad F", "\n7\n"},
	{"nosuch + 1", "!E0201"},
	{":plot nosuch", "!E0201"},
	{":nosuch", "!error"},
	{"let t = sum([1,\n  2,\n  3])\nt", "\n6\n"},
}

// The kernel as a notebook drives it, by Jupyter's own client; skipped where that is
// not installed.
func TestJupyterClient(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip(err)
	}
	if err := exec.Command(python, "-c", "import jupyter_client").Run(); err != nil {
		t.Skip("jupyter_client is not installed")
	}
	program, err := exec.LookPath("bilevelc")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	env := append(os.Environ(), "JUPYTER_DATA_DIR="+dir, "JUPYTER_RUNTIME_DIR="+dir)
	install := exec.Command(program, "jupyter", "install")
	install.Env = env
	if out, err := install.CombinedOutput(); err != nil || !strings.Contains(string(out), filepath.Join(dir, "kernels", "bilevelc")) {
		t.Fatalf("%v\n%s", err, out)
	}
	// The test's program is `bilevelc` by its name only.
	spec := filepath.Join(dir, "kernels", "bilevelc", "kernel.json")
	text, err := os.ReadFile(spec)
	if err != nil {
		t.Fatal(err)
	}
	var kernel map[string]any
	if err := json.Unmarshal(text, &kernel); err != nil {
		t.Fatal(err)
	}
	kernel["argv"] = append([]any{program}, kernel["argv"].([]any)[1:]...)
	if text, err = json.Marshal(kernel); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(spec, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cells := make([]string, len(notebookCells))
	for i, c := range notebookCells {
		cells[i] = c.cell
	}
	list, err := json.Marshal(cells)
	if err != nil {
		t.Fatal(err)
	}
	model, err := filepath.Abs("../../examples/toll/toll.blv")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "testdata/jupyter/client.py", string(list), model)
	cmd.Env = env
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	var found struct {
		Info  string
		Cells []struct {
			Status, Stdout, Error string
			SVG                   int
		}
		Completion  []any
		Inspection  string
		Open        []string
		Interrupted string
		Alive       bool
	}
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatal(err, string(out))
	}
	for i, c := range notebookCells {
		got := found.Cells[i]
		switch code, failing := strings.CutPrefix(c.output, "!"); {
		case failing && (got.Status != "error" || got.Error != code), !failing && got.Status != "ok",
			c.output == "<svg" && got.SVG != 1, !failing && c.output != "<svg" && !strings.Contains("\n"+got.Stdout, c.output):
			t.Errorf("cell %q: %+v, want %q", c.cell, got, c.output)
		}
	}
	last := found.Cells[len(found.Cells)-1]
	if found.Info != "bilevelc" || fmt.Sprint(found.Completion) != "[[preis prev(] 12 15]" || !strings.Contains(found.Inspection, "sum of the squares") ||
		!slices.Equal(found.Open, []string{"incomplete", "complete"}) || found.Alive || !strings.Contains(last.Stdout, "2\n") || found.Interrupted == "" {
		t.Errorf("%+v", found)
	}
}

// The protocol itself, with sockets of our own: signatures are checked, heartbeats
// answered, and the kernel ends when it is told.
func TestJupyterProtocol(t *testing.T) {
	program, err := exec.LookPath("bilevelc")
	if err != nil {
		t.Fatal(err)
	}
	ports := map[string]int{}
	for _, name := range []string{"shell", "control", "stdin", "iopub", "hb"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ports[name] = l.Addr().(*net.TCPAddr).Port
		defer l.Close()
	}
	file := filepath.Join(t.TempDir(), "connection.json")
	connection := map[string]any{"transport": "tcp", "ip": "127.0.0.1", "key": "geheim", "signature_scheme": "hmac-sha256"}
	for name, port := range ports {
		connection[name+"_port"] = port
	}
	text, err := json.Marshal(connection)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	// All ports are taken: that is an error, not a kernel that nobody reaches.
	taken := exec.Command(program, "jupyter", "kernel", file)
	if out, err := taken.CombinedOutput(); err == nil || !strings.Contains(string(out), "listening on") {
		t.Errorf("with all ports taken: %v %s", err, out)
	}
	for name := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ports[name] = l.Addr().(*net.TCPAddr).Port
		connection[name+"_port"] = ports[name]
		l.Close()
	}
	if text, err = json.Marshal(connection); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	kernel := exec.Command(program, "jupyter", "kernel", file)
	kernel.Stderr = os.Stderr
	if err := kernel.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dial := func(s zmq4.Socket, name string) zmq4.Socket {
		if err := s.Dial(fmt.Sprintf("tcp://127.0.0.1:%d", ports[name])); err != nil {
			t.Fatal(err)
		}
		return s
	}
	shell, beat := dial(zmq4.NewDealer(ctx), "shell"), dial(zmq4.NewReq(ctx), "hb")
	send := func(kind, key string) {
		head := fmt.Sprintf(`{"msg_id":"1","session":"s","username":"u","date":"","msg_type":%q,"version":"5.3"}`, kind)
		parts := []string{head, "{}", "{}", "{}"}
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write([]byte(strings.Join(parts, "")))
		frames := [][]byte{[]byte("<IDS|MSG>"), []byte(hex.EncodeToString(mac.Sum(nil)))}
		for _, p := range parts {
			frames = append(frames, []byte(p))
		}
		if err := shell.SendMulti(zmq4.NewMsgFrom(frames...)); err != nil {
			t.Fatal(err)
		}
	}
	if err := beat.Send(zmq4.NewMsgString("ping")); err != nil {
		t.Fatal(err)
	}
	if m, err := beat.Recv(); err != nil || string(m.Bytes()) != "ping" {
		t.Errorf("heartbeat %v %v", m, err)
	}
	send("shutdown_request", "falsch") // is not ours, and not answered
	for _, kind := range []string{"kernel_info", "shutdown"} {
		send(kind+"_request", "geheim")
		m, err := shell.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Frames) != 6 || !strings.Contains(string(m.Frames[2]), `"`+kind+`_reply"`) || !strings.Contains(string(m.Frames[3]), kind+"_request") {
			t.Errorf("answer to %s: %s", kind, m)
		}
		mac := hmac.New(sha256.New, []byte("geheim"))
		for _, p := range m.Frames[2:] {
			mac.Write(p)
		}
		if hex.EncodeToString(mac.Sum(nil)) != string(m.Frames[1]) {
			t.Error("the signature of an answer is wrong")
		}
	}
	if err := kernel.Wait(); err != nil {
		t.Errorf("the kernel ends with %v", err)
	}
}

// Cells are cut into inputs of the prompt.
func TestCellInputs(t *testing.T) {
	for cell, want := range map[string][]string{
		"let a = 1\nlet b = 2":                 {"let a = 1\nlet b = 2"},
		"let a = 1\na\na + 1":                  {"let a = 1", "a", "a + 1"},
		":solve -q\n\nF":                       {":solve -q", "F"},
		"upper {\n  var x: real\n}\n:show":     {"upper {\n  var x: real\n}", ":show"},
		"subject to\n  a: x <= 1\n  b: x >= 0": {"subject to\n  a: x <= 1\n  b: x >= 0"},
		"sum([1,\n 2])\n?huber":                {"sum([1,\n 2])", "?huber"},
		"":                                     nil,
		"   \n":                                nil,
		"data c: vector[2] = [\n1,\n2]\n:check\nc": {"data c: vector[2] = [\n1,\n2]", ":check", "c"},
	} {
		if got := cellInputs(cell); !slices.Equal(got, want) {
			t.Errorf("%q is cut into %q, want %q", cell, got, want)
		}
	}
}
