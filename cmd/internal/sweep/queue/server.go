package queue

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"bilevelc/cmd/internal/sweep"
)

// maxPayload of a message, in the server that is started here: documents of models with
// some hundred thousand entries. Larger ones go through a bucket.
const maxPayload = 8 << 20

// Serve starts a NATS server with JetStream inside this process, whose files are in the
// sweep's folder, and which writes to the disk before it says that it has something.
// listen is host:port; a host that is not the loopback needs a configuration, which is
// a file of NATS's own (users, credentials, TLS) and goes before listen. Without one,
// who connects must show the token in the file that is returned, which only this user
// can read: it is in the folder, and stays there, so that workers find a server that is
// started again. stop ends it.
func Serve(f *sweep.Folder, listen, config string) (url, tokenFile string, stop func(), err error) {
	fail := func(err error) (string, string, func(), error) { return "", "", nil, err }
	opts := &server.Options{}
	if config != "" {
		if opts, err = server.ProcessConfigFile(config); err != nil {
			return fail(err)
		}
	}
	if opts.Host == "" || config == "" {
		host, port, err := net.SplitHostPort(listen)
		if err != nil {
			return fail(fmt.Errorf("where to listen is host:port: %w", err))
		}
		if opts.Port, err = strconv.Atoi(port); err != nil || opts.Port < 0 {
			return fail(fmt.Errorf("where to listen is host:port, not %s", listen))
		}
		if opts.Port == 0 {
			opts.Port = server.RANDOM_PORT
		}
		opts.Host = host
	}
	if config == "" && !loopback(opts.Host) {
		return fail(fmt.Errorf("%s is open to other machines: say who may come in, with a configuration of NATS's own (users or credentials, and TLS)", listen))
	}
	if config == "" {
		tokenFile = filepath.Join(f.Path, "queue.token")
		if opts.Authorization, err = token(tokenFile); err != nil {
			return fail(err)
		}
	}
	opts.JetStream, opts.SyncAlways, opts.NoSigs = true, true, true
	if opts.StoreDir == "" {
		opts.StoreDir = filepath.Join(f.Path, "queue")
	}
	if opts.MaxPayload == 0 || config == "" {
		opts.MaxPayload = maxPayload
	}
	s, err := server.NewServer(opts)
	if err != nil {
		return fail(err)
	}
	go s.Start()
	const patience = 30 * time.Second
	if !s.ReadyForConnections(patience) {
		s.Shutdown()
		return fail(errors.New("the queue's server does not start: is its port taken?"))
	}
	return s.ClientURL(), tokenFile, func() { s.Shutdown(); s.WaitForShutdown() }, nil
}

// token is the one in a file that only its owner can read, or a new random one, in such
// a file.
func token(path string) (string, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 == 0 {
		if old, err := readToken(path); err == nil {
			return old, nil
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	made := rand.Text() + rand.Text() // of 130 bits each
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(made + "\n")
	return made, errors.Join(err, file.Close())
}

// readToken is the token in a file.
func readToken(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	found := strings.TrimSpace(string(text))
	if found == "" {
		return "", fmt.Errorf("%s holds no token", path)
	}
	return found, nil
}

// loopback reports that a host is this machine alone.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
