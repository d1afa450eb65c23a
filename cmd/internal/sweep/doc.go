// Package sweep runs one model over many values of its parameters, data, seeds,
// starts and methods. A sweep is a directory, which is the whole truth about it:
//
//	plan.json        the jobs, each with the content that decides its result and a key,
//	                 the SHA-256 of that content
//	inputs/          the model and its data files, by their SHA-256
//	results/KEY.json one result document a job, written atomically
//	failed/KEY.json  why a job has none: a model or data that cannot be bound
//	unfinished/      documents that are being written
//	journal/*.jsonl  who ran which job when, a line an event, one file a process
//
// Running a sweep again does what is missing. Jobs are run by a pool of goroutines, by
// the shards of a cluster's array job, or by workers that take them from a queue
// (package sweep/queue); the result of a job does not depend on which. Two result
// documents are the same where their seals are (Result.Seal): all but the times.
package sweep
