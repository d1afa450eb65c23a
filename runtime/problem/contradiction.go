package problem

import "strings"

// Contradiction says in words that what is named, of which there is at least one, cannot hold together.
func Contradiction(names []string) string {
	if len(names) == 1 {
		return names[0] + " cannot hold"
	}
	return strings.Join(names, ", ") + " contradict each other"
}
