// Package must is for work that is of no use once something is wrong, such as a study, or the reading of a proof: what is wrong
// ends it at once, and no function passes it on. Who begins the work catches that.
package must

import (
	"fmt"
	"os"
)

// failure is an error on its way to who catches it.
type failure struct{ error }

// Do ends the work with an error, if there is one.
func Do(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Get is a value that there is.
func Get[T any](v T, err error) T {
	Do(err)
	return v
}

// Be ends the work where something is not so.
func Be(so bool, format string, args ...any) {
	if !so {
		panic(failure{fmt.Errorf(format, args...)})
	}
}

// Catch, deferred, makes the error that ended the work that of the function.
func Catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case failure:
		*err = r.error
	default:
		panic(r)
	}
}

// Try does a piece of work, and returns the error that ended it.
func Try(work func()) (err error) {
	defer Catch(&err)
	work()
	return nil
}

// Exit ends a command that an error ended, which it says.
func Exit(command string, code int, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", command, err)
		os.Exit(code)
	}
}
