package jupyter

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"bilevelc/internal/must"
)

// protocolVersion is the version of the messaging protocol that the kernel speaks.
const protocolVersion = "5.3"

// header identifies a message.
type header struct {
	ID       string `json:"msg_id"`
	Session  string `json:"session"`
	Username string `json:"username"`
	Date     string `json:"date"`
	Type     string `json:"msg_type"`
	Version  string `json:"version"`
}

// message is one message of the protocol; ids are the routing prefix of the socket
// that it came by.
type message struct {
	ids     [][]byte
	header  header
	parent  json.RawMessage // the header of what it answers, as it came
	content json.RawMessage
}

// delimiter stands between the routing prefix and the message.
var delimiter = []byte("<IDS|MSG>")

// signer signs messages with the key that kernel and client share.
type signer struct{ key []byte }

func (s signer) sign(parts [][]byte) []byte {
	if len(s.key) == 0 {
		return nil
	}
	mac := hmac.New(sha256.New, s.key)
	for _, p := range parts {
		mac.Write(p)
	}
	return []byte(hex.EncodeToString(mac.Sum(nil)))
}

// parse reads the frames of a message. One whose signature is not that of its parts
// is refused.
func (s signer) parse(frames [][]byte) (*message, error) {
	at := slices.IndexFunc(frames, func(f []byte) bool { return bytes.Equal(f, delimiter) })
	if at < 0 || len(frames) < at+6 {
		return nil, errors.New("not a message: its parts are missing")
	}
	parts := frames[at+2 : at+6]
	if want := s.sign(parts); want != nil && !hmac.Equal(want, frames[at+1]) {
		return nil, errors.New("the signature of a message is wrong")
	}
	m := &message{ids: frames[:at], parent: parts[0], content: parts[3]}
	if err := json.Unmarshal(parts[0], &m.header); err != nil {
		return nil, fmt.Errorf("the header of a message: %w", err)
	}
	return m, nil
}

// frames writes a message of a type, which answers parent.
func (s signer) frames(ids [][]byte, session, kind string, parent json.RawMessage, content any) (_ [][]byte, err error) {
	defer must.Catch(&err)
	head := must.Get(json.Marshal(header{ID: identifier(), Session: session, Username: "kernel",
		Date: time.Now().UTC().Format(time.RFC3339Nano), Type: kind, Version: protocolVersion}))
	body := must.Get(json.Marshal(content))
	if len(parent) == 0 {
		parent = json.RawMessage("{}")
	}
	parts := [][]byte{head, parent, []byte("{}"), body}
	return slices.Concat(ids, [][]byte{delimiter, s.sign(parts)}, parts), nil
}

// identifier is a random name for a message or a session.
func identifier() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
