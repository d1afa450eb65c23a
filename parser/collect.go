package parser

import (
	"sort"

	"bilevelc/lang/diag"
)

// maxErrors bounds what one source can report; more helps nobody.
const maxErrors = 50

// maxKept bounds how many are kept before they are put in order of place, so
// that a file of garbage takes no more memory than its text.
const maxKept = 20 * maxErrors

// collector gathers syntax errors, and remembers where they are.
type collector struct {
	list    diag.List
	dropped int
	scanner []int // offsets of the scanner's errors, ascending
	parser  []int // offsets of marks made while parsing, ascending
}

// Errorf adds an error and returns it, so that a fix can be added.
func (c *collector) Errorf(code diag.Code, at diag.Span, format string, args ...any) *diag.Diagnostic {
	d := diag.New(code, at, format, args...)
	c.add(d)
	return d
}

func (c *collector) add(d *diag.Diagnostic) {
	if len(c.list) < maxKept {
		c.list.Add(d)
	} else {
		c.dropped++
	}
}

// mark notes that an error at this offset has been reported, so that the
// statement around it needs no other. Offsets come in ascending order.
func (c *collector) mark(at int) { c.parser = append(c.parser, at) }

// reported reports whether an error in [start, end] was found by the scanner
// or marked.
func (c *collector) reported(start, end int) bool {
	within := func(offsets []int) bool {
		i := sort.SearchInts(offsets, start)
		return i < len(offsets) && offsets[i] <= end
	}
	return within(c.scanner) || within(c.parser)
}

// diagnostics returns the errors in order of place, no more than maxErrors.
func (c *collector) diagnostics() diag.List {
	c.list.Sort()
	if rest := len(c.list) + c.dropped - maxErrors; rest > 0 {
		c.list = c.list[:maxErrors]
		last := c.list[maxErrors-1]
		c.list.Errorf(diag.TooManyErrors, last.Subject, "too many syntax errors; %d more are not shown", rest)
	}
	return c.list
}
