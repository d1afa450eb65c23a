package expr

// Builder makes nodes.
type Builder struct{}
