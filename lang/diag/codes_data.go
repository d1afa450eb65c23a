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
	DataRank         Code = "E0857" // a list where a number is needed, or lists nested too deeply
	DataJSON         Code = "E0858" // broken JSON
	DataCSV          Code = "E0859" // broken CSV
	DataNumPy        Code = "E0860" // broken .npy or .npz
	DataElementType  Code = "E0861" // a file's element type is not real numbers
	DataMatrixMarket Code = "E0862" // broken .mtx
	DataSize         Code = "E0863" // a claimed size disagrees with the content, or is beyond a limit
	DataInexact      Code = "E0864" // an integer that no double holds exactly
	DataSheet        Code = "E0865" // a broken workbook or Parquet file
)

// dataModel is the model of the examples below; only their data is at fault.
const dataModel = `model supply
param n: int = 2
data c: vector[n]
data P: matrix[n, n]
upper {
  var x: vector[n]
  minimize sumsq(x - c)
}
lower {
  var y: vector[n]
  minimize sumsq(y - P * x)
}
`

var _ = register(
	Entry{
		Code: DataUnreadable, Stage: DataStage, Title: "a data file that cannot be read",
		Explanation: `The file does not exist, is a directory, or may not be read.`,
		Example:     dataModel, DataFile: "no/such/file.json",
	},
	Entry{
		Code: DataSpec, Stage: DataStage, Title: "a --set argument that is not name=value",
		Explanation: `--set takes a name of the model and a number or a JSON list: --set n=10,
--set 'c=[1, 2]'. The example is the argument.`,
		Example: dataModel, DataFile: "--set", Data: "n",
	},
	Entry{
		Code: DataNoName, Stage: DataStage, Title: "a file that does not say which array it holds",
		Explanation: `CSV, .npy and .mtx files hold one array, which is called like the file: c.csv binds c.
Another name is given with --data name=file. With a name, a JSON object or an .npz
archive must have a member of that name.`,
		Example: dataModel, DataFile: "my-data.csv", Data: "1\n2\n",
	},
	Entry{
		Code: DataDuplicate, Stage: DataStage, Title: "an array or an entry given twice",
		Explanation: `A JSON object or an archive names an array twice, or a sparse matrix an entry. Neither
the first nor the last can be taken to be meant.`,
		Example: dataModel, DataFile: "supply.json", Data: `{"c": [1, 2], "c": [3, 4], "P": [[1, 0], [0, 1]]}`,
	},
	Entry{
		Code: DataNotNumber, Stage: DataStage, Title: "an entry that is not a number",
		Explanation: `Every entry is a decimal number: 12, -0.5, 2e-3. Words, quoted numbers in JSON, missing
values and decimal commas are not numbers.`,
		Example: dataModel, DataFile: "supply.json", Data: `{"c": [1, "two"], "P": [[1, 0], [0, 1]]}`,
	},
	Entry{
		Code: DataNotFinite, Stage: DataStage, Title: "an entry that is NaN or infinite",
		Explanation: `NaN and the infinities, and numbers beyond the range of a double (1.797e308), cannot be
data. For a bound that is absent, leave the constraint out.`,
		Example: dataModel, DataFile: "c.csv", Data: "1\nnan\n",
	},
	Entry{
		Code: DataRagged, Stage: DataStage, Title: "rows of different lengths",
		Explanation: `A matrix is a list of rows of equal length, in JSON and in CSV.`,
		Example:     dataModel, DataFile: "supply.json", Data: `{"c": [1, 2], "P": [[1, 0], [1]]}`,
	},
	Entry{
		Code: DataRank, Stage: DataStage, Title: "a list where a number is needed",
		Explanation: `Arrays are numbers, or lists of equal length nested equally deep, in at most 16 levels.`,
		Example:     dataModel, DataFile: "supply.json", Data: `{"c": [1, 2], "P": [[1, [0]], [0, 1]]}`,
	},
	Entry{
		Code: DataJSON, Stage: DataStage, Title: "text that is not JSON",
		Explanation: `A data document is one JSON object: the names of arrays, and for each a number, a list,
or a list of rows.`,
		Example: dataModel, DataFile: "supply.json", Data: `{"c": [1, 2`,
	},
	Entry{
		Code: DataCSV, Stage: DataStage, Title: "a table that cannot be read",
		Explanation: `A CSV file is a table of numbers, one line a row, with commas (or semicolons or tabs)
between them. A first line without numbers is a header; each of its columns has a
name. Lines that start with # are comments.`,
		Example: dataModel, DataFile: "P.csv", Data: "1,0\n\n0,1\n",
	},
	Entry{
		Code: DataNumPy, Stage: DataStage, Title: "a broken .npy or .npz file",
		Explanation: `The file is not what numpy.save or numpy.savez writes, or is damaged.`,
		Example:     dataModel, DataFile: "c.npy", Data: "1\n2\n",
	},
	Entry{
		Code: DataElementType, Stage: DataStage, Title: "a file whose entries are not real numbers",
		Explanation: `Entries may be float64, float32, bool or integers (.npy), real, integer or pattern
(.mtx). Complex numbers, strings, dates and objects have no place in a model.`,
		Example: dataModel, DataFile: "P.mtx", Data: "%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 1 1 0\n",
	},
	Entry{
		Code: DataMatrixMarket, Stage: DataStage, Title: "a broken MatrixMarket file",
		Explanation: `The file starts with %%MatrixMarket matrix, the layout (coordinate or array), the field
and the symmetry; then come the sizes and one entry a line, with indices from 1.`,
		Example: dataModel, DataFile: "P.mtx", Data: "%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1.5\n",
	},
	Entry{
		Code: DataSize, Stage: DataStage, Title: "a size that disagrees with the content",
		Explanation: `The file claims more, or fewer, entries than it holds: it is truncated, or damaged. An
.npz archive may expand to at most 1 GiB.`,
		Example: dataModel, DataFile: "P.mtx", Data: "%%MatrixMarket matrix array real general\n2 2\n1\n0\n",
	},
	Entry{
		Code: DataSheet, Stage: DataStage, Title: "a workbook or Parquet file that cannot be read",
		Explanation: `A sheet of a workbook is a table: its first row names the columns, each further row is
a record. A Parquet file has flat columns of numbers or texts. The file is neither, or is
damaged.`,
		Example: dataModel, DataFile: "roads.parquet", Data: "from,to\n",
	},
	Entry{
		Code: DataInexact, Stage: DataStage, Title: "an integer that no double holds exactly",
		Explanation: `Numbers are doubles, which hold every integer up to 2^53 = 9007199254740992. Above that
a file of integers would change in silence.`,
		Example: dataModel, DataFile: "c.mtx", Data: "%%MatrixMarket matrix array integer general\n2 1\n1\n9007199254740993\n",
	},
)
