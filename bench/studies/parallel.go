package main

import (
	"errors"
	"sync"

	"bilevelc/internal/must"
)

// parallel calls do(0) to do(n-1), at most threads at a time, the last first: the
// grids put the most expensive settings at the end.
func parallel(threads, n int, do func(i int)) {
	queue := make(chan int, n)
	for i := n - 1; i >= 0; i-- {
		queue <- i
	}
	close(queue)
	failures := make([]error, n)
	var workers sync.WaitGroup
	for range max(1, threads) {
		workers.Go(func() {
			for i := range queue {
				failures[i] = must.Try(func() { do(i) })
			}
		})
	}
	workers.Wait()
	must.Do(errors.Join(failures...))
}
