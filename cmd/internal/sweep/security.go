package sweep

import "time"

// Security is how a connection to a queue shows who it is, by NATS's own means; a URL may
// hold more: tls://user:password@host.
type Security struct {
	Token       string // file of the token, which is read at each connection
	Credentials string // file of a user's JWT and key
	CA          string // PEM file that the server's certificate is checked against
	Cert, Key   string // PEM files of this side
}

// DefaultRedeliver is how long a worker of a queue may give no sign of life. It gives one
// every third of that.
const DefaultRedeliver = 30 * time.Second
