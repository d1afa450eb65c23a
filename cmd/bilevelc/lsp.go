package main

import (
	"github.com/spf13/cobra"

	"bilevelc/cmd/internal/lsp"
)

func (a *app) lspCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lsp",
		Short: "Serve editors: the Language Server Protocol on standard input and output",
		Long: `lsp is a language server: editors start it and talk to it on its standard input
and output. It gives diagnostics while a model is typed, hover, go to definition,
references, rename, completion, formatting, outlines, and quick fixes. Data of a
model NAME.blv are taken from NAME.json beside it, where that is; an editor may
name more files in the initialization option "data".`,
		Example: "  bilevelc lsp",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return coded(exitInternal, lsp.Serve(cmd.Context(), a.io.in, a.io.out, version))
		},
	}
	// Clients that know servers with several transports, such as VS Code's library, ask
	// for the one there is.
	cmd.Flags().Bool("stdio", true, "talk on standard input and output, which is all there is")
	return cmd
}
