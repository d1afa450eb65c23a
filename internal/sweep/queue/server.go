package queue

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"bilevelc/internal/sweep"
)

// maxPayload of a message, in the server that is started here: documents of models with
// some hundred thousand entries. Larger ones go through a bucket.
const maxPayload = 8 << 20

// Serve starts a NATS server with JetStream inside this process, whose files are in the
// sweep's folder, and which writes to the disk before it says that it has something.
// listen is host:port; a host that is not the loopback needs a configuration, which is
// a file of NATS's own (users, credentials, TLS) and goes before listen. stop ends it.
func Serve(f *sweep.Folder, listen, config string) (url string, stop func(), err error) {
	opts := &server.Options{}
	if config != "" {
		if opts, err = server.ProcessConfigFile(config); err != nil {
			return "", nil, err
		}
	}
	if opts.Host == "" || config == "" {
		host, port, err := net.SplitHostPort(listen)
		if err != nil {
			return "", nil, fmt.Errorf("where to listen is host:port: %w", err)
		}
		if opts.Port, err = strconv.Atoi(port); err != nil || opts.Port < 0 {
			return "", nil, fmt.Errorf("where to listen is host:port, not %s", listen)
		}
		if opts.Port == 0 {
			opts.Port = server.RANDOM_PORT
		}
		opts.Host = host
	}
	if config == "" && !loopback(opts.Host) {
		return "", nil, fmt.Errorf("%s is open to other machines: say who may come in, with a configuration of NATS's own (users or credentials, and TLS)", listen)
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
		return "", nil, err
	}
	go s.Start()
	const patience = 30 * time.Second
	if !s.ReadyForConnections(patience) {
		s.Shutdown()
		return "", nil, errors.New("the queue's server does not start: is its port taken?")
	}
	return s.ClientURL(), func() { s.Shutdown(); s.WaitForShutdown() }, nil
}

// loopback reports that a host is this machine alone.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
