package system

import "bilevelc/runtime/problem"

// Largest is the number of unknowns and multipliers up to which a system is solved with dense factors of them all: what package activeset is made for.
const Largest = 1200

// largestTied is that number where the system is linear and there is no other way to be exact: the follower may have several answers, or x whole entries. Its tableau, of some 8000 unknowns and rows, is
// a quarter of a gigabyte.
const largestTied = 3000

// mostRead is the number of variables up to which f is read for a search that takes a system part by part: its gradients along as many axes are kept dense, in less than a tenth of a gigabyte.
const mostRead = 3000

// TooLarge says that a system is not solved as a whole; linear says that it is one of linear rows and pairs.
func TooLarge(p *problem.Problem, linear bool) bool {
	if linear && (!(p.Facts.StrongConvexity > 0) || p.Integer != nil) {
		return Size(p) > largestTied
	}
	return Size(p) > Largest
}
