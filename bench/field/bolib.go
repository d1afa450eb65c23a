package main

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"bilevelc/internal/must"
)

// published is what the first line of a problem of BOLIB says of its F.
var published = regexp.MustCompile(`^// BOLIB problem (\S+); (?:published F = (\S+) \(.*\)|no F is published)\n`)

// bolib are the problems of BOLIB in the language's class, with the published F.
// Followers that are not strongly convex break ties in the leader's favour, which is
// what BOLIB's values are of.
func bolib(folder string) []instance {
	paths := must.Get(filepath.Glob(filepath.Join(folder, "bolib", "*.blv")))
	must.Be(len(paths) > 0, "no models in %s", filepath.Join(folder, "bolib"))
	var list []instance
	for _, path := range paths {
		head := published.FindStringSubmatch(string(must.Get(os.ReadFile(path))))
		must.Be(head != nil && head[1] == strings.TrimSuffix(filepath.Base(path), ".blv"), "%s: the first line does not say what is published", path)
		known := math.NaN()
		if head[2] != "" {
			var err error
			known, err = strconv.ParseFloat(head[2], 64)
			must.Be(err == nil, "%s: %w", path, err)
		}
		list = append(list, instance{"bolib", head[1], withNumbers("", path, nil), known, "BOLIB", ""})
	}
	return list
}
