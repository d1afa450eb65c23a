package status

import (
	"context"
	"errors"
)

// Limit is the cause of a context that ends at a limit of its caller: a run that it ends
// has reached a limit, where any other end of the context interrupts it.
type Limit string

func (l Limit) Error() string { return string(l) }

// The limits on time and on memory.
const (
	Time   Limit = "time limit"
	Memory Limit = "memory limit"
)

// Spent begins the reason of a search for the global optimum that more nodes would go on with.
const Spent = "the budget is spent"

// LimitOf is the limit that ended ctx, or "".
func LimitOf(ctx context.Context) Limit {
	var l Limit
	errors.As(context.Cause(ctx), &l)
	return l
}
