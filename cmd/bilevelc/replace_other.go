//go:build !unix

package main

import "errors"

func replaceProcess(string, []string, []string) error { return errors.ErrUnsupported }
