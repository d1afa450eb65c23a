// Package serve speaks the protocol of `bilevelc serve`: JSON-RPC 2.0, one message a
// line, on a pair of streams. Models that were compiled, and problems that were bound,
// stay in the process until they are closed, so that a client compiles once and then
// binds, updates, solves, evaluates and verifies. docs/serve.md describes every method.
//
// Requests are carried out one at a time, in the order in which they come; `cancel`
// alone overtakes. A request that is wrong, or that fails, is answered by an error
// object, and the server goes on.
package serve
