package sweep

import (
	"fmt"
	"strings"
	"text/template"
)

// Cluster is what a script for a cluster says.
type Cluster struct {
	Folder string // the sweep, on a disk that all machines see
	Name   string
	Shards int
	Image  string // of the container, for Kubernetes
	Claim  string // the volume that holds the folder, for Kubernetes
}

var scripts = map[string]string{
	"slurm": `#!/bin/bash
#SBATCH --job-name={{.Name}}
#SBATCH --array=1-{{.Shards}}
#SBATCH --cpus-per-task=1
#SBATCH --output=%x-%A-%a.log
# Each task runs its part of what is missing: submit it again after a failure.
# The folder is on a disk that all nodes see.
srun bilevelc sweep {{quote .Folder}} --shard auto/{{.Shards}} --jobs "${SLURM_CPUS_PER_TASK:-1}"
`,
	"k8s": `apiVersion: batch/v1
kind: Job
metadata:
  name: {{.Name}}
spec:
  completions: {{.Shards}}
  parallelism: {{.Shards}}
  completionMode: Indexed
  backoffLimitPerIndex: 3
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: bilevelc
          image: {{yaml .Image}}
          command: ["bilevelc", "sweep", {{yaml .Folder}}, "--shard", "auto/{{.Shards}}", "--jobs", "1"]
          resources:
            requests: {cpu: "1"}
          volumeMounts:
            - {name: sweep, mountPath: {{yaml .Folder}}}
      volumes:
        - name: sweep
          persistentVolumeClaim: {claimName: {{yaml .Claim}}}
`,
}

// Emit is the script for a Slurm array ("slurm"), or the manifest of an indexed job of
// Kubernetes ("k8s").
func Emit(kind string, c Cluster) (string, error) {
	text, ok := scripts[kind]
	if !ok {
		return "", fmt.Errorf("there are scripts for slurm and k8s, not for %q", kind)
	}
	c.Name = strings.Trim(strings.ToLower(strings.NewReplacer("_", "-", ".", "-", " ", "-").Replace(c.Name)), "-")
	if c.Name == "" {
		c.Name = "sweep"
	}
	t := template.Must(template.New(kind).Funcs(template.FuncMap{
		"quote": func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" },
		"yaml":  func(s string) string { return fmt.Sprintf("%q", s) },
	}).Parse(text))
	var b strings.Builder
	err := t.Execute(&b, c)
	return b.String(), err
}
