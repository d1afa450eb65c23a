package sweep

import (
	"context"
	"os"

	"bilevelc/internal/must"
	"bilevelc/runtime/certify"
)

// Verify checks the result of a job again from the folder's model and data, with its proof
// where it has one; nil without an error where it has no result yet.
func (f *Folder) Verify(ctx context.Context, runner *Runner, job Job) (_ *certify.Report, err error) {
	defer must.Catch(&err)
	r, err := f.Result(job.Key)
	if r == nil || err != nil {
		return nil, err
	}
	problem := must.Get(runner.problem(ctx, job))
	if r.Global == nil || r.Global.Proof == "" {
		return problem.Verify(r)
	}
	// The one that is there counts, not the name in the document.
	path := f.proofPath(job)
	proof := must.Get(os.Open(path))
	defer proof.Close()
	return problem.VerifyProof(r, path, proof)
}
