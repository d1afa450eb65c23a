package jupyter

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"

	"bilevelc/internal/must"
)

// Install writes the kernel's description to where Jupyter looks for kernels: below
// prefix/share/jupyter, or, where prefix is "", the user's own folder. It returns the
// folder.
func Install(prefix, name, displayName, language string, command []string) (_ string, err error) {
	defer must.Catch(&err)
	folder := filepath.Join(prefix, "share", "jupyter")
	if prefix == "" {
		folder = userFolder()
	}
	folder = filepath.Join(folder, "kernels", name)
	must.Do(os.MkdirAll(folder, 0o755))
	spec := must.Get(json.MarshalIndent(map[string]any{"argv": command, "display_name": displayName, "language": language,
		"interrupt_mode": "message", "metadata": map[string]any{}}, "", "  "))
	return folder, os.WriteFile(filepath.Join(folder, "kernel.json"), append(spec, '\n'), 0o644)
}

// userFolder is Jupyter's data folder of the user.
func userFolder() string {
	if dir := os.Getenv("JUPYTER_DATA_DIR"); dir != "" {
		return dir
	}
	home := must.Get(os.UserHomeDir())
	switch runtime.GOOS {
	case "darwin":
		return filepath.Join(home, "Library", "Jupyter")
	case "windows":
		dir := os.Getenv("APPDATA")
		must.Be(dir != "", "%%APPDATA%% is not set")
		return filepath.Join(dir, "jupyter")
	}
	return filepath.Join(cmp.Or(os.Getenv("XDG_DATA_HOME"), filepath.Join(home, ".local", "share")), "jupyter")
}
