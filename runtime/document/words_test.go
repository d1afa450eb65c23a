package document

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"bilevelc/runtime/status"
)

// The five sentences say what the fields of a document say, and name sections that the
// documentation has.
func TestWordsOfAResult(t *testing.T) {
	text, err := os.ReadFile("../../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
		anchors[strings.ReplaceAll(regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	solved := &Result{Model: "m", Method: "goldstein", Oracle: "face", Status: status.Solved}
	solved.Upper.Objective, solved.Upper.Sense, solved.Lower.Status = 7.5, "maximize", "solved"
	solved.Stationarity.Value, solved.Stationarity.Delta = 1e-9, 1e-5
	one := *solved
	one.Lower.Weak = []string{"cap[3]"}
	two := *solved
	two.Lower.Weak, two.Status, two.Upper.Sense = []string{"cap[3]", "shelf"}, status.LimitReached, "minimize"
	for _, c := range []struct {
		r        *Result
		document string
		want     [5]string
	}{
		{solved, `{}`, [5]string{"no small move raises F", "nobody has looked", "no row of the follower", "Tie: no; the follower's objective is taken", "this one is"}},
		{&one, `{"global": {"proved": true, "bound": 7.5001, "gap": 1e-5, "nodes": 31}, "lower": {"ties": {"rule": "optimistic", "unique": true}}}`,
			[5]string{"F = 7.5", "yes; no x that the constraints allow has F higher than 7.5001, which is within 1e-05 of 7.5, relative to it, after 31 nodes",
				"the row cap[3] holds with multiplier 0", "has one at this x", "this one is"}},
		{&two, `{"global": {"proved": false, "bound": 6, "gap": 0.2, "nodes": 9, "why": "the nodes are used up."}, "lower": {"ties": {"rule": "optimistic", "unique": false,
			"best": 7.5, "worst": 9, "safe": {"variables": {"x": 1}, "objective": 7.6, "distance": 0.01}}}}`,
			[5]string{"Solved: no", "no because the nodes are used up; after 9 nodes no x has F lower than 6, so that a gap of 0.2 remains",
				"2 rows hold with multiplier 0 (cap[3], shelf)", "F goes from 7.5 to 9", "moving x by 0.01 at most leaves the follower one answer, and F is then 7.6"}},
		{&one, `{"lower": {"ties": {"rule": "optimistic", "unique": false, "best": 7.5, "worst": 7.5}}}`,
			[5]string{"F = 7.5", "nobody has looked", "cap[3]", "with all of which F is 7.5", "none is needed"}},
		{&two, `{"global": {"proved": false, "bound": "-Infinity", "gap": "Infinity", "nodes": 0, "why": "F has no bound"}, "lower": {"ties": {"rule": "optimistic", "unique": false, "worst": "NaN"}}}`,
			[5]string{"Solved: no", "there is no bound on F", "2 rows", "other answers at this x that are as good for it, and F = 7.5", "none was found"}},
	} {
		r := *c.r
		if err := json.Unmarshal([]byte(c.document), &r); err != nil {
			t.Fatal(err)
		}
		for i, s := range r.Words() {
			if !strings.Contains(s, c.want[i]) {
				t.Errorf("%s\nsays %s\nwant %s", c.document, s, c.want[i])
			}
			if m := regexp.MustCompile(` \(docs/results\.md#([a-z-]+)\)$`).FindStringSubmatch(s); m == nil || !anchors[m[1]] {
				t.Errorf("%s names no section of the documentation", s)
			}
		}
	}
}
