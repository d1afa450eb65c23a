// Package tolerance holds the numbers that packages decide by: tolerances, parameters of methods, limits of work and memory, each once with its derivation.
package tolerance

// Tolerances that several packages share, each relative to the sizes of the terms that a number is the
// sum of. Decisions that hang on the same question read the same one.
const (
	// Roundoff is the unit roundoff: half the distance from 1 to the next double.
	Roundoff = 0x1p-53
	// FewRoundings is what a few operations round off: some units in the last place of the result.
	FewRoundings = 8 * Roundoff
	// Feasibility is the violation, or the slack, of a row that is met: a few hundred roundings, enough for the
	// lengths of the sums here, and what projections onto rows leave, and good lower solves of a value of F.
	Feasibility = 1e-13
	// Rounded is what is left, by its terms, of equations that were solved and refined, of sums of results of such solves, and of the square of a row's length where it depends on others: a few thousand
	// roundings.
	Rounded = 1e-12
	// Eliminated is the rounding of a few operations on numbers that are found by elimination, relative to the largest of the sizes that rows bring to them.
	Eliminated = 0x1p-45
	// Parted is how far from 0 a slack has to be, by the terms that it is the sum of, and a multiplier, by the largest, to be found to have a sign where answers are refined.
	Parted = 1e-11
	// Hiding is how much larger than others terms, or forces, are beside which the tolerance (Certified, Sign) does not tell these any more: with less it tells both.
	Hiding = 1e3
	// Dependence is the sine of the angle between a row and the span of others below which it counts as dependent
	// on them: rounding makes 1e-15 times a modest factor, rows that differ on purpose far more.
	Dependence = 1e-10
	// Target is what default targets leave of a value and of a solution, and by how much of its terms verification lets a row be violated: six
	// digits. Minima that differ by less are one.
	Target = 1e-6
	// Certified is what a certificate may leave of grad f, by its terms: residuals of systems that were solved to rounding, with a margin for terms that
	// are a thousand times larger than what they add up to.
	Certified = 1e-8
	// Weak is the slack and the multiplier below which they count as 0 for strict complementarity: with a margin above what solvers keep them to
	// (Sign), so that a row is never taken for strictly active or inactive by rounding. Derivatives by differences of gradients leave no more, either, where they would vanish: they are known to 1e-10, and what they are combined with may be large beside it.
	Weak = 1e-7
	// Sign is the size, relative to the terms that make them up, below which a slack or a multiplier is zero: rounding of the solution of a KKT system
	// with a condition number of 1e6, and 1e-3 of the tolerances that solvers without refinement use. From there on rows contradict each other: data come in decimals and as results of
	// other computations, and what their last seven digits say is not what a model states.
	Sign = 1e-9
	// Slack is the part of F, or of what F is lower by than at the problem's start, that a certificate may leave, and that a slope along a way makes up
	// where F has no limit.
	Slack = 1e-3
	// Margin is by how much a number has to exceed the estimate of its error to be certain: estimates are right to a factor of a few, and a
	// verification makes its own.
	Margin = 10
	// LeastSquared is a length whose square, times a moderate number, is one that doubles hold with all digits; the squares of lengths beyond its inverse
	// overflow. A start of 0 that was projected may end below, and nothing is relative to that. Beside a function that is multiplied by its inverse another is rounding.
	LeastSquared = 0x1p-460
	// Armijo is the part of the decrease that the slope at the start of a step promises, which it has to bring:
	// any below a half keeps Newton steps (Nocedal and Wright, (3.4)); and the part of the fall that a model promises from which on a step of a trust region is taken (algorithm 4.1 there).
	Armijo = 1e-4
	// SumRounding is what a sum of a moderate number of products rounds off, relative to its terms: two roundings each, twice that for what
	// the terms are sums of, and as much for their size, which is an estimate.
	SumRounding = 16 * Roundoff
	// HalfDigits is about the square root of the roundoff: a shift beside rows of length 1 at which each step of refinement gains as many digits as a
	// factor loses, the least change of which a difference has half the digits, and the relative length to which values of a function determine x.
	HalfDigits = 0x1p-26
	// NoCurvature is the curvature along a direction, relative to the largest one, of which the sign is rounding: a hundred roundings, below the reciprocal
	// of the condition numbers, up to 1e12, that double precision can tell.
	NoCurvature = 1e-14
	// SolveAccuracy is the part of the gradient's terms, or of a right-hand side, that solves leave: with a condition up to 1e4 it means 1e-6 or better in
	// the solution, and solves go on beyond it until rounding ends their progress. No more than that may the same expression at the same point differ by on another machine.
	SolveAccuracy = 1e-10
)

// Parameters of methods that several packages share.
const (
	// A trust region shrinks where less than TrustPoor of the fall that the model promises comes true; it grows where no more than that is missing and the step has reached its edge (Nocedal and Wright, algorithm 4.1).
	TrustPoor = 0.25
	// Forcing is the residual, relative to the first, at which truncated Newton steps end far from a solution (Eisenstat and Walker 1996; Nocedal and
	// Wright, sec. 7.1).
	Forcing = 0.1
	// MuShrink is the factor by which a homotopy's parameter falls from stage to stage: Newton's method takes three to six steps from one to the next
	// (Nocedal and Wright, sec. 19.2, there between 0.1 and 0.2). Penalties, which are the reciprocals of such parameters, grow by 1/MuShrink where what they are on is violated: eight rounds of it are the square root of
	// what doubles resolve, beyond which f would be lost in the rounding of the penalty (Byrd, Nocedal and Waltz 2008).
	MuShrink = 0.1
	// ToBoundary is the part of the way to the end of a domain that a step goes (Nocedal and Wright, sec. 19.2).
	ToBoundary = 0.99
	// Exchanges is the number of exchanges in a row that may leave as many rows wrong as before in block pivoting (Judice and Pires 1994: 10).
	Exchanges = 10
	// Propagations is how often every row tightens boxes by those of its other columns: boxes of x reach y in one round where a row reads both, and those of y
	// others in the next (Savelsbergh 1994).
	Propagations = 3
	// Steps bounds those of Newton's method and of sequential quadratic programming: some tens are what convergence takes, and near the end of a domain one for each half digit of the 300 that there are.
	Steps = 600
	// Halvings of a step leave less of it than any accuracy that is asked for: 2^-40. So do as many attempts at the length of one, of which each at least halves what is left between its bounds.
	Halvings = 40
	// Sweeps of equilibration: each halves what is left of the spread of logarithms, which is 2^11 at most, until less is left than what the next power of two differs by.
	Sweeps = 12
	// Branches is how many vertices of a set of multipliers, or branches that meet at a point, are looked at: a face of dimension d has d+1 vertices at the least, and few where few rows too many hold; m biactive rows
	// have 2^m branches.
	Branches = 64
	// Draws are the random points or directions among which something is looked for: what a quarter of them show is missed by all once in 300 times, a tenth of X that no start has seen once in eight.
	Draws = 20
	// Shortenings of a step, by Shorten each, lead from any to where nothing is left of it: an entry of y may be as near to the edge of the domain of g as exp(-700),
	// where that of an entropy under a row with a multiplier is.
	Shortenings = 256
	// Shorten is by how much a step of a difference is shortened a time.
	Shorten = 16
	// DenseOrder is the order up to which dense factors and eigenvalues, and as many slopes of a gradient as a Hessian has columns, cost little beside the rest: some ten milliseconds.
	DenseOrder = 300
)

// LeastSparse is the order, of variables or of variables and rows, from which what grows with its cube outweighs what comes with it: sparse factors take less time than dense
// ones (bench/growth; a projection onto a simplex takes 0.09 ms for 5 at 64), and a search in full, or a round at each kink near the start, is no longer one of moments, so that a path looks past kinks first.
const LeastSparse = 64

// Limits of work and memory, which many methods share.
const (
	// Second is the work of about a second, in multiplications: that of a search, or of further starts, which nobody asked for.
	Second = 1e9
	// MostNumbers bounds the numbers that are kept of what grows with the square of a problem: a quarter of a gigabyte.
	MostNumbers = 1 << 25
	// MostNamed is how many rows, or entries, a message names: what fits into a line or two.
	MostNamed = 8
	// MostPoints are kept of the course of a search: a chart of some hundred columns shows no more.
	MostPoints = 128
)
