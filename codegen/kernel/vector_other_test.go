//go:build !amd64

package kernel

func setVector(bool) {}
