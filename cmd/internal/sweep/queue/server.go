package queue

import (
	"cmp"
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
	"bilevelc/internal/must"
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
	defer must.Catch(&err)
	opts := &server.Options{}
	if config != "" {
		opts = must.Get(server.ProcessConfigFile(config))
	}
	if opts.Host == "" || config == "" {
		host, port, err := net.SplitHostPort(listen)
		must.Be(err == nil, "where to listen is host:port: %w", err)
		number, err := strconv.Atoi(port)
		must.Be(err == nil && number >= 0, "where to listen is host:port, not %s", listen)
		opts.Host, opts.Port = host, cmp.Or(number, server.RANDOM_PORT)
	}
	if config == "" {
		must.Be(loopback(opts.Host), "%s is open to other machines: say who may come in, with a configuration of NATS's own (users or credentials, and TLS)", listen)
		tokenFile = filepath.Join(f.Path, "queue.token")
		opts.Authorization = must.Get(token(tokenFile))
	}
	opts.JetStream, opts.SyncAlways, opts.NoSigs = true, true, true
	opts.StoreDir = cmp.Or(opts.StoreDir, filepath.Join(f.Path, "queue"))
	if opts.MaxPayload == 0 || config == "" {
		opts.MaxPayload = maxPayload
	}
	s := must.Get(server.NewServer(opts))
	go s.Start()
	const patience = 30 * time.Second
	if !s.ReadyForConnections(patience) {
		s.Shutdown()
		must.Be(false, "the queue's server does not start: is its port taken?")
	}
	return s.ClientURL(), tokenFile, func() { s.Shutdown(); s.WaitForShutdown() }, nil
}

// token is the one in a file that only its owner can read, or a new random one, in such
// a file.
func token(path string) (_ string, err error) {
	defer must.Catch(&err)
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 == 0 {
		if old, err := readToken(path); err == nil {
			return old, nil
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	made := rand.Text() + rand.Text() // of 130 bits each
	file := must.Get(os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600))
	_, err = file.WriteString(made + "\n")
	return made, errors.Join(err, file.Close())
}

// readToken is the token in a file.
func readToken(path string) (string, error) {
	text, err := os.ReadFile(path)
	found := strings.TrimSpace(string(text))
	if err == nil && found == "" {
		err = fmt.Errorf("%s holds no token", path)
	}
	return found, err
}

// loopback reports that a host is this machine alone.
func loopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}
