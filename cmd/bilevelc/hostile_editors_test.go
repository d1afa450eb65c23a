package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"
)

// hostileData are data for hostileModel, with labels that would act on what shows them.
func hostileData(t *testing.T, rng *rand.Rand, shops int) string {
	t.Helper()
	var labels []string
	taste := map[string]float64{}
	for len(taste) < shops {
		label := hostileText(rng)
		if _, twice := taste[label]; !twice {
			taste[label] = 3 + float64(len(taste))
			labels = append(labels, label)
		}
	}
	var roads [][]string
	for k := range labels {
		roads = append(roads, []string{labels[k], labels[(k+1)%shops]})
	}
	text, err := json.Marshal(map[string]any{"shop": labels, "road": roads, "taste": taste})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// eachText visits all texts of a JSON value.
func eachText(v any, visit func(string)) {
	switch v := v.(type) {
	case string:
		visit(v)
	case []any:
		for _, x := range v {
			eachText(x, visit)
		}
	case map[string]any:
		for _, x := range v {
			eachText(x, visit)
		}
	}
}

// What a language server says of data with hostile labels, in diagnostics, hovers and completions, acts on no editor, and no label ends the block of code that it is in.
func TestHostileLabelsInEditors(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 33))
	for range 3 {
		dir := t.TempDir()
		good := hostileData(t, rng, 4)
		for _, text := range []string{good, strings.Replace(good, `"taste":{`, `"taste":{"no\u001b[2Jsuch\u202e`+"``` <script>"+`":1,`, 1)} {
			write(t, filepath.Join(dir, "m.json"), text)
			c := startServer(t, nil)
			look := func(v json.RawMessage) {
				t.Helper()
				var value any
				if err := json.Unmarshal(v, &value); err != nil {
					t.Fatal(err)
				}
				eachText(value, func(text string) {
					if found, bad := actsOnShown(text); bad {
						t.Error(found)
					}
					fences := 0
					for line := range strings.Lines(text) {
						if strings.HasPrefix(strings.TrimSpace(line), "```") {
							fences++
						}
					}
					if fences%2 != 0 {
						t.Errorf("a block of code ends early in %q", text)
					}
				})
			}
			c.open(filepath.Join(dir, "m.blv"), hostileModel)
			c.diagnostics()
			select { // with the data, where these come apart
			case note := <-c.notes:
				if note.Params != nil {
					look(*note.Params)
				}
			case <-time.After(2 * time.Second):
			}
			for _, mark := range []string{"set ¦shop", "set ¦road", "data ¦taste", "var ¦price", "var ¦flow", "¦income", "price[¦s]"} {
				var answer json.RawMessage
				c.call("textDocument/hover", c.where(mark), &answer)
				look(answer)
				c.call("textDocument/completion", c.where(mark), &answer)
				look(answer)
			}
			c.leave()
			close(c.notes)
			for note := range c.notes {
				if note.Params != nil {
					look(*note.Params)
				}
			}
		}
	}
}

// What a notebook shows of data with hostile labels acts on no browser and no terminal: texts, messages of errors and plots.
func TestHostileLabelsInNotebooks(t *testing.T) {
	program, err := exec.LookPath("bilevelc")
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(13, 33))
	dir := t.TempDir()
	write(t, filepath.Join(dir, "m.blv"), hostileModel)
	good := hostileData(t, rng, 4)
	write(t, filepath.Join(dir, "d.json"), good)
	write(t, filepath.Join(dir, "wrong.json"), strings.Replace(good, `"taste":{`, `"taste":{"no\u001b[2Jsuch\u202e":1,`, 1))
	connection := map[string]any{"transport": "tcp", "ip": "127.0.0.1", "key": "k", "signature_scheme": "hmac-sha256"}
	for _, name := range []string{"shell", "control", "stdin", "iopub", "hb"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		connection[name+"_port"] = l.Addr().(*net.TCPAddr).Port
		l.Close()
	}
	text, err := json.Marshal(connection)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "connection.json"), string(text))
	kernel := exec.Command(program, "jupyter", "kernel", filepath.Join(dir, "connection.json"))
	kernel.Dir = dir
	kernel.Stderr = os.Stderr
	if err := kernel.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- kernel.Wait()
		cancel() // whoever waits for it
	}()
	shell, public := zmq4.NewDealer(ctx), zmq4.NewSub(ctx)
	for socket, name := range map[zmq4.Socket]string{shell: "shell", public: "iopub"} {
		if err := socket.Dial(fmt.Sprintf("tcp://127.0.0.1:%d", connection[name+"_port"])); err != nil {
			t.Fatal(err)
		}
	}
	if err := public.SetOption(zmq4.OptionSubscribe, ""); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond) // a subscription has no answer
	var said []map[string]any
	published := make(chan map[string]any, 1000)
	ask := func(kind string, content map[string]any) {
		t.Helper()
		body, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		parts := []string{fmt.Sprintf(`{"msg_id":"1","session":"s","username":"u","date":"","msg_type":%q,"version":"5.3"}`, kind+"_request"), "{}", "{}", string(body)}
		mac := hmac.New(sha256.New, []byte("k"))
		mac.Write([]byte(strings.Join(parts, "")))
		frames := [][]byte{[]byte("<IDS|MSG>"), []byte(hex.EncodeToString(mac.Sum(nil)))}
		for _, p := range parts {
			frames = append(frames, []byte(p))
		}
		var m zmq4.Msg
		err = shell.SendMulti(zmq4.NewMsgFrom(frames...))
		if err == nil {
			m, err = shell.Recv()
		}
		if err != nil && kind == "shutdown" { // it may have ended before the request is known to be sent, or its answer was read
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		var reply map[string]any
		if err := json.Unmarshal(m.Frames[5], &reply); err != nil {
			t.Fatal(err)
		}
		said = append(said, reply)
	}
	go func() {
		for {
			m, err := public.Recv()
			if err != nil {
				return
			}
			var content map[string]any
			if json.Unmarshal(m.Frames[len(m.Frames)-1], &content) == nil {
				published <- content
			}
		}
	}()
	cells := []string{":load m.blv", ":data d.json", ":solve", "price\nflow\ngrad F", ":plot price", ":plot flow", "taste", "dual(room)", ":vars", "price[\"no\x1b[2Jsuch\u202e\"]", ":data wrong.json", ":data no\x1b[2Jsuch\u202e.json", ":load no\x1b[2Jsuch\u202e.blv", "let no\u202e = \"a\x1b[2J\"", "nosuch"}
	for _, cell := range cells {
		ask("execute", map[string]any{"code": cell, "silent": false})
	}
	ask("inspect", map[string]any{"code": "taste", "cursor_pos": 2})
	ask("complete", map[string]any{"code": "pri", "cursor_pos": 3})
	ask("shutdown", map[string]any{"restart": false})
	if err := <-ended; err != nil {
		t.Error(err)
	}
	plots, texts := 0, 0
	for wait := true; wait; {
		select {
		case content := <-published:
			said = append(said, content)
		case <-time.After(time.Second):
			wait = false
		}
	}
	for _, content := range said {
		if data, _ := content["data"].(map[string]any); data["image/svg+xml"] != nil {
			plots++
			d := xml.NewDecoder(strings.NewReader(data["image/svg+xml"].(string)))
			for {
				token, err := d.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("%v\n%s", err, data["image/svg+xml"])
				}
				if e, is := token.(xml.StartElement); is && (e.Name.Local == "script" || e.Name.Local == "img") {
					t.Errorf("a plot has the element %s", e.Name.Local)
				}
			}
		}
		delete(content, "code") // the cell itself, which is told to all
		eachText(content, func(text string) {
			texts++
			if found, bad := actsOnShown(text); bad {
				t.Error(found)
			}
		})
	}
	if plots != 2 || texts < 30 {
		t.Errorf("%d plots and %d texts of %d messages", plots, texts, len(said))
	}
}
