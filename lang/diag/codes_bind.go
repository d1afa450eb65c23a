package diag

// The codes of binding a checked model to its data (package ir/bind).
const (
	BindNoParam      Code = "E0801" // a param has no value
	BindNoData       Code = "E0802" // a data array was not supplied
	BindExtra        Code = "E0803" // an array was supplied that the model does not declare
	BindShape        Code = "E0804" // a supplied array has another shape than declared
	BindConflict     Code = "E0805" // two arrays imply different values of a param
	BindNotInteger   Code = "E0806" // a size, an index or an int param is not an integer
	BindNotFinite    Code = "E0807" // an array or a constant part of the model is NaN or infinite
	BindNegative     Code = "E0808" // a size is negative
	BindTooLarge     Code = "E0809" // an array or an iteration space is beyond the limit
	BindIndex        Code = "E0810" // an index is outside its array
	BindShapes       Code = "E0811" // shapes that agree symbolically or were left open differ in numbers
	BindNotAffine    Code = "E0812" // a constraint is not affine in the variables
	BindNeverHolds   Code = "E0813" // a constraint without variables is violated
	BindAlwaysHolds  Code = "E0814" // a constraint without variables holds: it is left out
	BindEmptySet     Code = "E0815" // bounds or set arguments leave no point
	BindGenerator    Code = "E0816" // a generator's arguments are out of range
	BindEmptyRange   Code = "E0817" // max, min or logsumexp of nothing
	BindVaryingSize  Code = "E0818" // a size changes with the index of a comprehension
	BindStart        Code = "E0819" // a start or a setting cannot be used
	BindNotConstant  Code = "E0820" // a value that must not depend on variables does
	BindNotSupported Code = "E0821" // an expression the binder has no meaning for
)
