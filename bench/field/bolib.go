package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"bilevelc/runtime"
)

// published is what the first line of a problem of BOLIB says of its F.
var published = regexp.MustCompile(`^// BOLIB problem (\S+); (?:published F = (\S+) \(.*\)|no F is published)\n`)

// bolib are the problems of BOLIB in the language's class, with the published F.
// Followers that are not strongly convex break ties in the leader's favour, which is
// what BOLIB's values are of.
func bolib(folder string) ([]instance, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "bolib", "*.blv"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no models in %s", filepath.Join(folder, "bolib"))
	}
	var list []instance
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		head := published.FindStringSubmatch(string(text))
		if head == nil || head[1] != strings.TrimSuffix(filepath.Base(path), ".blv") {
			return nil, fmt.Errorf("%s: the first line does not say what is published", path)
		}
		known := math.NaN()
		if head[2] != "" {
			if known, err = strconv.ParseFloat(head[2], 64); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
		bind := func() (*runtime.Problem, error) {
			m, err := runtime.CompileFile(path)
			if err != nil {
				return nil, err
			}
			return m.Bind(nil, runtime.BindOptions{})
		}
		list = append(list, instance{"bolib", head[1], bind, known, "BOLIB", ""})
	}
	return list, nil
}
