//go:build unix

package main

import "syscall"

// replaceProcess puts another program in the place of this one: with its process, so that who ends
// the one ends the other.
func replaceProcess(path string, args, env []string) error { return syscall.Exec(path, args, env) }
