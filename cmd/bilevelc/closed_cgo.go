//go:build cgo && unix

package main

// The Go run time opens /dev/null in the place of a standard stream that is closed
// before any Go code runs, so that writes to it are lost without an error. What the
// process was started with is looked at before, by a constructor in C.

// #include <fcntl.h>
// #include <errno.h>
// static int closedAtStart;
// __attribute__((constructor)) static void look(void) {
//	for (int fd = 0; fd < 3; fd++)
//		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) closedAtStart |= 1 << fd;
// }
// static int closedStreams(void) { return closedAtStart; }
import "C"

// seesClosed tells that closedAtStart knows.
const seesClosed = true

// closedAtStart reports that a standard stream was closed when the process began.
func closedAtStart(fd int) bool { return C.closedStreams()>>fd&1 != 0 }
