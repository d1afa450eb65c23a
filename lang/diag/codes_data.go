package diag

// The codes of data files (package datafile).
const (
	DataUnreadable   Code = "E0850" // the file cannot be opened or read
	DataSpec         Code = "E0851" // a --data or --set argument is malformed
	DataNoName       Code = "E0852" // which array a file holds is not said, or it is not there
	DataDuplicate    Code = "E0853" // an array or an entry is given twice
	DataNotNumber    Code = "E0854" // an entry is not a number, or missing
	DataNotFinite    Code = "E0855" // an entry is NaN, infinite or out of range
	DataRagged       Code = "E0856" // rows of different lengths
	DataRank         Code = "E0857" // more than two dimensions
	DataJSON         Code = "E0858" // broken JSON
	DataCSV          Code = "E0859" // broken CSV
	DataNumPy        Code = "E0860" // broken .npy or .npz
	DataElementType  Code = "E0861" // a file's element type is not real numbers
	DataMatrixMarket Code = "E0862" // broken .mtx
	DataSize         Code = "E0863" // a claimed size disagrees with the content, or is beyond a limit
	DataInexact      Code = "E0864" // an integer that no double holds exactly
)
