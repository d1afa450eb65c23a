package diag

// Place is where something stands: a span of a text, or, in a file that has no
// lines, words such as "roads.xlsx, sheet Roads, cell C5".
type Place struct {
	Span  Span
	Words string
}
