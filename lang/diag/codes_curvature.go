package diag

// The codes of what is proved about a bound model (package curvature).
const (
	NotStronglyConvex    Code = "E0701" // g is not strongly convex in y: a witness direction was found
	ConvexityUnknown     Code = "E0702" // neither shown nor refuted
	ConvexityWeak        Code = "E0703" // strongly convex along the equality rows only
	NotSmooth            Code = "E0704" // an objective is not continuously differentiable where it is evaluated
	SmoothnessUnknown    Code = "E0705" // the ranges leave open whether it is
	RowsDependent        Code = "E0706" // an equality row is a combination of others
	EqualityInconsistent Code = "E0707" // equality rows contradict each other for every x
	EqualityBindsX       Code = "E0708" // equality rows can hold only for some x
)
