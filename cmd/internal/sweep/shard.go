package sweep

import (
	"fmt"
	"strconv"
	"strings"

	"bilevelc/internal/must"
)

// Shard is the part of the jobs that one process of several runs: every Of-th, from
// Index on, which counts from 1. The zero value is all of them.
type Shard struct{ Index, Of int }

// ParseShard reads i/n. auto/n takes i from the environment of a cluster:
// SLURM_ARRAY_TASK_ID of a Slurm array, which begins at SLURM_ARRAY_TASK_MIN, or
// JOB_COMPLETION_INDEX of an indexed job of Kubernetes, which begins at 0.
func ParseShard(text string, getenv func(string) string) (s Shard, err error) {
	defer must.Catch(&err)
	left, right, ok := strings.Cut(text, "/")
	of, err := strconv.Atoi(right)
	must.Be(ok && err == nil && of >= 1, "a shard is i/n, such as 3/8, or auto/n on a cluster, not %q", text)
	if left != "auto" {
		i, err := strconv.Atoi(left)
		must.Be(err == nil && i >= 1 && i <= of, "shard %s: i goes from 1 to %d", text, of)
		return Shard{i, of}, nil
	}
	for _, from := range []struct{ name, least string }{{"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN"}, {"JOB_COMPLETION_INDEX", ""}} {
		value := getenv(from.name)
		if value == "" {
			continue
		}
		i, err := strconv.Atoi(value)
		least := 0
		if from.least != "" {
			least = 1 // as `bilevelc sweep --emit slurm` writes it
			if text := getenv(from.least); text != "" && err == nil {
				least, err = strconv.Atoi(text)
			}
		}
		i -= least
		must.Be(err == nil && i >= 0 && i < of, "shard %s: %s is %q, which is not one of %d", text, from.name, value, of)
		return Shard{i + 1, of}, nil
	}
	return Shard{}, fmt.Errorf("shard %s: neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX is set", text)
}

// Pick takes a shard's jobs of a plan, whichever are done, so that shards that start at
// different times do not meet.
func (s Shard) Pick(p *Plan) []Job {
	if s.Of == 0 {
		return p.Jobs
	}
	var mine []Job
	for k := s.Index - 1; k < len(p.Jobs); k += s.Of {
		mine = append(mine, p.Jobs[k])
	}
	return mine
}
