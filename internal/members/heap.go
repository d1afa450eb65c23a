package members

import "bilevelc/internal/heap"

func init() { heap.Floor() }
