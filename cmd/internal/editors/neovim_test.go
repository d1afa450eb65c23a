package editors_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// probe does in Neovim what a user does: it waits for the underlined mistake, takes the
// quick fix, looks at the hover, completes, and renames.
const probe = `
local function fail(what) print("FAIL " .. what); vim.cmd("cquit 1") end
local function wait(what, f) if not vim.wait(60000, f, 20) then fail(what) end end
local function line(n) return vim.api.nvim_buf_get_lines(0, n - 1, n, false)[1] end
local function ask(method, row, col, extra)
  local params = vim.tbl_extend("force", { textDocument = vim.lsp.util.make_text_document_params(0), position = { line = row - 1, character = col - 1 } }, extra or {})
  for _, answer in pairs(vim.lsp.buf_request_sync(0, method, params, 60000) or {}) do return answer.result end
end
wait("no client", function() return #vim.lsp.get_clients({ bufnr = 0 }) > 0 end)
wait("no diagnostic", function() return #vim.diagnostic.get(0) > 0 end)
local d = vim.diagnostic.get(0)[1]
print("underlined " .. line(d.lnum + 1):sub(d.col + 1, d.end_col) .. " " .. d.code)
local range = { start = { line = d.lnum, character = d.col }, ["end"] = { line = d.lnum, character = d.end_col } }
local fix = ask("textDocument/codeAction", 1, 1, { range = range, context = { diagnostics = { d.user_data.lsp } } })[1]
vim.lsp.util.apply_workspace_edit(fix.edit, vim.lsp.get_clients({ bufnr = 0 })[1].offset_encoding)
wait("the fix does not help", function() return #vim.diagnostic.get(0) == 0 end)
print("fixed " .. line(5))
print("hover " .. ask("textDocument/hover", 8, 8).contents.value)
local found = ask("textDocument/completion", 9, 26)
for _, item in ipairs(found.items or found) do if item.label == "amount" then print("completes amount") end end
vim.api.nvim_win_set_cursor(0, { 8, 7 })
vim.lsp.buf.rename("bought")
wait("no rename", function() return line(11):find("bought") ~= nil end)
print("renamed " .. line(5) .. line(8) .. line(9) .. line(11))
vim.cmd("qall!")
`

// Neovim, with the lines of the documentation, has what the language server gives.
func TestNeovim(t *testing.T) {
	nvim, err := exec.LookPath("nvim")
	if err != nil {
		t.Skip("Neovim is not installed")
	}
	page, err := os.ReadFile("../docs/editors.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile("(?s)## Neovim.*?```lua\n(.*?)```").FindSubmatch(page)
	if lines == nil {
		t.Fatal("the documentation has no lines for Neovim")
	}
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", filepath.Join(dir, "bin", "bilevelc"), "../cmd/bilevelc").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, text := range map[string]string{"nvim/init.lua": string(lines[1]), "probe.lua": probe, "shop.blv": `model shop
data taste: vector[3] = [5, 4, 3]
upper {
  var price: vector[3] in box(0.5, 6)
  maximize price' * amuont
}
lower {
  var amount: vector[3] in nonneg
  minimize 0.5 * sumsq(amount) - (taste - price)' * amount
  subject to
    shelf: sum(amount) <= 4
}
`} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command(nvim, "--headless", "shop.blv", "-c", "luafile probe.lua")
	c.Dir = dir
	c.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_STATE_HOME="+dir, "XDG_DATA_HOME="+dir,
		"PATH="+filepath.Join(dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := c.CombinedOutput()
	if strings.Contains(string(out), "'config' (a nil value)") {
		t.Skip("Neovim is older than 0.11")
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"underlined amuont E0201", "fixed   maximize price' * amount", "vector[3]", "completes amount",
		"renamed   maximize price' * bought  var bought: vector[3] in nonneg  minimize 0.5 * sumsq(bought) - (taste - price)' * bought    shelf: sum(bought) <= 4"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
