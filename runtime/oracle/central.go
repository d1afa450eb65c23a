package oracle

import "bilevelc/runtime/central"

// Central is the path of the lower level's central points, along which F is smooth; nil
// where there is none (central.New). Calls to f and g are counted as those of h.
func (h *Hyper) Central() *central.Path { return central.New(h.p) }
