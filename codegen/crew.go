package codegen

import (
	"runtime"
	"sync"
	"sync/atomic"

	"bilevelc/internal/await"
)

// Large instructions are cut into pieces that may run concurrently. How they
// are cut depends on the instruction alone, and pieces write to places of
// their own that are added up in order, so that results are the same bits on
// any number of threads.

// mostPieces bounds the pieces of one instruction, and with it the processors
// that one evaluation uses.
const mostPieces = 8

// pieceLeast is the number of multiply-adds (or entries of a loop, times its
// steps) that a piece should have: some 100 to 200 microseconds of work.
// Waking a thread takes a few, but on a busy machine a thread that was put off
// its processor keeps the others waiting.
const pieceLeast = 1 << 19

// piecesOf cuts work into pieces.
func piecesOf(work int) int { return max(1, min(mostPieces, work/pieceLeast)) }

// threads is the number of threads to use where the user asked for n.
func threads(n int) int {
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	return min(n, mostPieces)
}

// crew is one evaluator's share in the helpers: the instruction under way.
type crew struct {
	e       *Evaluator
	in      *instr                            // of interpreted code
	native  func(m *Frame, piece, thread int) // of native code
	count   int32
	next    atomic.Int32 // the next piece to take
	threads atomic.Int32 // threads at work so far
	busy    sync.WaitGroup
	faults  await.Group
}

// helpers are goroutines that wait for evaluators with pieces to run, one for
// each processor but the caller's. They are started on first use and shared:
// an evaluator takes those that are idle, so that concurrent evaluators do not
// crowd each other.
var helpers = sync.OnceValue(func() chan *crew {
	ready := make(chan *crew)
	for range runtime.NumCPU() - 1 {
		go func() {
			for c := range ready {
				c.shielded()
				c.busy.Done()
			}
		}()
	}
	return ready
})

// pieces runs the pieces of in, or of native code, on several threads where
// there are several pieces and helpers are idle.
func (e *Evaluator) pieces(in *instr, native func(m *Frame, piece, thread int), count int) {
	c := &e.crew
	c.e, c.in, c.native, c.count = e, in, native, int32(count)
	if count == 1 || e.program.threads == 1 {
		for p := range count {
			c.piece(p, 0)
		}
		return
	}
	c.next.Store(0)
	c.threads.Store(0)
	ready := helpers()
	for range min(e.program.threads, count) - 1 {
		c.busy.Add(1)
		select {
		case ready <- c:
			continue
		default:
			c.busy.Done()
		}
		break
	}
	c.shielded()
	c.busy.Wait()
	c.faults.Rethrow()
}

// shielded is work whose panic waits for the others, and is then the caller's.
func (c *crew) shielded() {
	defer c.faults.Catch()
	c.work()
}

// work takes pieces until none is left.
func (c *crew) work() {
	thread := int(c.threads.Add(1)) - 1
	for p := c.next.Add(1) - 1; p < c.count; p = c.next.Add(1) - 1 {
		c.piece(int(p), thread)
	}
}

// piece runs one piece on a thread.
func (c *crew) piece(p, thread int) {
	if c.native != nil {
		c.native(&c.e.frame, p, thread)
		return
	}
	c.e.piece(c.in, p, thread)
}
