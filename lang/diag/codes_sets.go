package diag

// setModel is a model over index sets with one line of its own.
func setModel(line string) string {
	return `model labels
set city = {"Rome", "Oslo"}
set depot within city = {"Oslo"}
set hour = 1..3
data cost: [city] = [3, 4]
` + line + `
upper {
  var x: [city] in box(0, 1)
  minimize sumsq(y - 1) + sum(x) + sum(d in depot: x[d])
}
lower {
  var y: [city]
  minimize sum(c in city: cost[c] * (y[c] - x[c])^2)
}
report {
  late = card(hour)
}
`
}

// The codes of index sets and labels (packages ir/check and ir/bind).
var _ = register(
	Entry{
		Code: "E0213", Stage: CheckStage, Title: "a set that does not hold together",
		Explanation: `An index set lists its elements, is a range of numbers, or is supplied as data. A part
of a set says which (set depot within city); a set of tuples says which sets its labels
are taken from (set arc within city * city), and its elements have as many labels.`,
		Example: setModel(`set arc within city * town`),
	},
	Entry{
		Code: "E0214", Stage: CheckStage, Title: "a label that the set does not have",
		Explanation: `A label that is written out must be an element of the set that it is compared with, or
that the array is declared over.`,
		Example: setModel(`let dear = cost["Olso"] + 0 * sum(c in city: cost[c])`),
	},
	Entry{
		Code: "E0319", Stage: CheckStage, Title: "a label where a number is needed",
		Explanation: `The indices that range over a set of labels are labels, not numbers: they select
entries and are compared with == and !=. ord(c) is the position of a label in its set,
card(S) the number of elements of a set. Indices over a set of numbers, such as
set hour = 0..23, are numbers.`,
		Example: setModel(`let dear = sum(c in city: c * cost[c])`),
	},
	Entry{
		Code: "E0320", Stage: CheckStage, Title: "a label of another set",
		Explanation: `An array over a set is indexed by elements of that set, of parts of it, or of the set
that it is a part of, and by labels in double quotes. Numbers select entries of plain
dimensions, and of those over a set of numbers, only.`,
		Example: setModel(`let dear = cost[1]`),
	},
	Entry{
		Code: "E0321", Stage: CheckStage, Title: "a forgotten index",
		Explanation: `In a family, a scalar is compared with a whole array that uses none of the family's
indices. Each entry of the array would be compared anew for every index, which is never
meant: use[k, t] <= cap is use[k, t] <= cap[t].`,
		Example: `model forgotten
param n: int = 3
data cap: vector[n] = [1, 2, 3]
upper {
  var x: vector[n] in box(0, 1)
  minimize sumsq(y - 1) + sum(x)
}
lower {
  var y: vector[n]
  minimize sumsq(y - x)
  subject to
    limit: forall t in 1..n: y[t] <= cap
}
`,
	},
	Entry{
		Code: "E0419", Stage: CheckStage, Title: "followers that are not told apart",
		Explanation: `Of several followers each has a block and a name of its own. A block that stands for many
has indices over an index set or from 1: lower firm[i in 1..n] { ... }.`,
		Example: `model unnamed
upper {
  var x: real in box(0, 1)
  minimize y + z + x
}
lower {
  var y: real
  minimize (y - x)^2
}
lower other {
  var z: real
  minimize (z - x)^2
}
`,
	},
	Entry{
		Code: "E0420", Stage: CheckStage, Title: "followers in equilibrium",
		Explanation: `Each follower decides on its own variables, given the upper ones. Followers that read each
other's variables are an equilibrium problem, which has no lower objective to minimize
and is outside the problem class.`,
		Example: `model rivals
upper {
  var tax: real in box(0, 1)
  maximize tax * (a + b)
}
lower first {
  var a: real in nonneg
  minimize a^2 - (4 - a - b - tax) * a
}
lower second {
  var b: real in nonneg
  minimize b^2 - (4 - b - tax) * b
}
`,
	},
	Entry{
		Code: "E0418", Stage: CheckStage, Title: "a setting in quotes",
		Explanation: `The words of the solve block, such as the name of a method, stand without quotes;
labels of index sets, and nothing else, are in quotes.`,
		Example: `model quoted
upper {
  var x: real in box(0, 1)
  minimize (y - 1)^2 + x
}
lower {
  var y: real
  minimize (y - x)^2
}
solve {
  method = "pgd"
}
`,
	},
	Entry{
		Code: BindLabels, Stage: BindStage, Title: "labels that do not fit",
		Explanation: `Elements of a set differ from each other; those of a part of a set, and the labels of
tuples, are in the sets that they are taken from. An array that is given by label has a
number for each element of its sets, and none for others.`,
		Example: `model supplied
set city
data cost: [city]
upper {
  var x: [city] in box(0, 1)
  minimize sumsq(y - 1) + sum(x)
}
lower {
  var y: [city]
  minimize sum(c in city: cost[c] * (y[c] - x[c])^2)
}
`,
		DataFile: "supplied.json", Data: `{"city": ["Rome", "Oslo"], "cost": {"Rome": 3, "Olso": 4}}`,
	},
	Entry{
		Code: BindTable, Stage: BindStage, Title: "a table whose columns do not fit",
		Explanation: `The columns of a table are taken by name: one fills the array that is called like it,
and the labels of its rows stand in the columns that are called like the array's sets,
or like the names that a set gives its labels (set arc(from, to) within city * city).
Where such a column is not there, the columns that the model does not declare are taken,
if there are just as many.`,
		Example: `model supplied
set city
set road within city * city
data distance: [road]
upper {
  var x: [road] in box(0, 1)
  minimize sumsq(y - 1) + sum(x)
}
lower {
  var y: [road]
  minimize sum((i, j) in road: distance[i, j] * (y[i, j] - x[i, j])^2)
}
`,
		DataFile: "roads.csv", Data: "id,from,to,distance\n1,Rome,Oslo,3\n",
	},
)
