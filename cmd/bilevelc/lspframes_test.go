package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestLSPFrames: whatever stands between them, each request of a client is answered
// once, and nothing that is no message ends the server.
func TestLSPFrames(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 33))
	framed := func(body string, more int) string {
		return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body)+more, body)
	}
	garbage := []func() string{
		func() string { return framed(`{"id":[1],"method":5}`, 0) },
		func() string { return framed(`{"id":{},"method":"x"}`, 0) },
		func() string { return framed(`{"jsonrpc":"2.0","id":7000,"method":[1]}`, 0) },
		func() string { return framed(`[`, 0) },
		func() string { return framed(`[]`, 0) },
		func() string { return framed(`[1,2]`, 0) },
		func() string { return framed(`{"jsonrpc":"2.0","id":-1,"method":"nosuch"}`, 0) },
		func() string { return framed(`{"jsonrpc":"2.0","id":1.5,"method":"nosuch"}`, 0) },
		func() string { return framed(`{}`, 0) },
		func() string { return framed(`5`, 0) },
		func() string { return framed("{\"id\":1,\xff}", 0) },
		func() string { return framed(`{"jsonrpc":"2.0","id":7001,"method":"nosuch"}`, -1-rng.IntN(40)) },
		func() string { return framed(`{"jsonrpc":"2.0","id":7002,"method":"nosuch"`, 1+rng.IntN(300)) },
		func() string { return "Content-Length: abc\r\n\r\n" },
		func() string { return "Content-Length: -5\r\n\r\n" },
		func() string { return "Content-Length: 0\r\n\r\n" },
		func() string { return "Content-Length: 99999999999999999999\r\n\r\n" },
		func() string { return "\r\n\r\n\n" },
		func() string { return "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" },
		func() string { return strings.Repeat("x", rng.IntN(20000)) },
		func() string { return "\x00\x1b[2J" },
		func() string { return "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n" },
	}
	for trial := range 60 {
		var in strings.Builder
		asked := 0
		for range 30 {
			if rng.IntN(2) == 0 {
				in.WriteString(garbage[rng.IntN(len(garbage))]())
				continue
			}
			asked++
			text := framed(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"nosuch/%d"}`, asked, asked), 0)
			switch rng.IntN(3) {
			case 0:
				text = strings.ReplaceAll(text, "\r\n", "\n")
			case 1:
				text = strings.Replace(text, "Content-Length", "content-length", 1)
			}
			in.WriteString(text)
		}
		in.WriteString("\r\n\r\n" + framed(`{"jsonrpc":"2.0","id":"end","method":"shutdown"}`, 0) + framed(`{"jsonrpc":"2.0","method":"exit"}`, 0))
		var stdout, stderr bytes.Buffer
		code := run(context.Background(), []string{"lsp"}, stdio{strings.NewReader(in.String()), &stdout, &stderr})
		if code != 0 || stderr.Len() > 0 {
			t.Fatalf("trial %d: exit code %d, %s\n%q", trial, code, stderr.String(), in.String())
		}
		answers := map[string]int{}
		for rest := stdout.String(); rest != ""; {
			var n int
			if _, err := fmt.Sscanf(rest, "Content-Length: %d\r\n\r\n", &n); err != nil {
				t.Fatalf("%v: %q", err, rest)
			}
			_, rest, _ = strings.Cut(rest, "\r\n\r\n")
			var m struct{ ID json.RawMessage }
			if err := json.Unmarshal([]byte(rest[:n]), &m); err != nil {
				t.Fatalf("%v: %q", err, rest[:n])
			}
			answers[string(m.ID)]++
			for _, word := range []string{"Go ", "struct", "unmarshal"} {
				if strings.Contains(rest[:n], word) {
					t.Errorf("an answer in words of the program: %s", rest[:n])
				}
			}
			rest = rest[n:]
		}
		for id := 1; id <= asked; id++ {
			if answers[fmt.Sprint(id)] != 1 {
				t.Fatalf("trial %d: request %d has %d answers\n%q\n%s", trial, id, answers[fmt.Sprint(id)], in.String(), stdout.String())
			}
		}
		if answers[`"end"`] != 1 {
			t.Fatalf("trial %d: no answer to the last request", trial)
		}
	}
}

// TestLSPEnds: a client that leaves in the middle of anything ends the server.
func TestLSPEnds(t *testing.T) {
	for in, said := range map[string]string{"": "the client left", "x": "refused", "Content-Length: 5\r\n\r\n{}": "refused", "Content-Length: 10\r\n\r\n": "refused",
		"GET / HTTP/1.1\r\n\r\n": "refused", "Content-Length: 52\r\n\r\n" + `{"jsonrpc":"2.0","id":1,"method":"nosuch/something"}`: "the client left"} {
		var stdout, stderr bytes.Buffer
		if code := run(context.Background(), []string{"lsp"}, stdio{strings.NewReader(in), &stdout, &stderr}); code != 1 || !strings.Contains(stderr.String(), "shutdown") || !strings.Contains(stderr.String(), said) {
			t.Errorf("%q: exit code %d, %s", in, code, stderr.String())
		}
	}
}

// TestPackageNames: names that no Go file can import are refused.
func TestPackageNames(t *testing.T) {
	dir := t.TempDir()
	for name, fine := range map[string]bool{"init": false, "main": false, "_": false, "type": false, "1a": false, "a-b": false, "": true, "string": true, "runtime": true, "toll": true} {
		var stdout, stderr bytes.Buffer
		code := run(context.Background(), []string{"build", "../../examples/shop/shop.blv", "-o", dir + "/shop", "--package", name}, stdio{strings.NewReader(""), &stdout, &stderr})
		if (code == 0) != fine {
			t.Errorf("%q: exit code %d, %s", name, code, stderr.String())
		}
	}
}
