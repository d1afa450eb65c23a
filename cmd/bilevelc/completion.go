package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bilevelc/cmd/internal/assist"
	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
	"bilevelc/runtime/method"
)

// completions are what a shell offers for the values of flags, by the flag's name,
// which means the same in every command. What is not here is completed as a file.
var completions = map[string]cobra.CompletionFunc{
	"method": offeredMethods("method"), "oracle": offeredMethods("oracle"), "solver": offeredMethods("solver"),
	"option":     settingsFor,
	"set":        inputsOf,
	"color":      cobra.FixedCompletions([]string{"auto", "always", "never"}, cobra.ShellCompDirectiveNoFileComp),
	"family":     cobra.FixedCompletions([]string{"convex", "slack"}, cobra.ShellCompDirectiveNoFileComp),
	"pairs":      cobra.FixedCompletions([]string{"sos1", "binary"}, cobra.ShellCompDirectiveNoFileComp),
	"stage":      stageNames,
	"model":      files("blv"),
	"aux":        files("aux", "txt"),
	"data":       files("json", "csv", "npy", "npz", "mtx", "parquet", "xlsx"),
	"at":         files("json"),
	"start":      files("json"),
	"resume":     files("json"),
	"checkpoint": files("json"),
	"report":     files("html"),
	"proof":      files("proof"),
	"csv":        folders,
	"prefix":     folders,

	"over": inputsOf, "draw": inputsOf,
	"dir": folders, "sweep": folders,
	"emit":        cobra.FixedCompletions([]string{"slurm", "k8s"}, cobra.ShellCompDirectiveNoFileComp),
	"format":      cobra.FixedCompletions([]string{"csv", "parquet"}, cobra.ShellCompDirectiveNoFileComp),
	"output":      files("csv", "parquet", "html"),
	"nats-config": files("conf"),
	"creds":       files("creds"),
	"token-file":  files("token"), "tls-ca": files("pem"), "tls-cert": files("pem"), "tls-key": files("pem"),
	"shard": cobra.NoFileCompletions, "image": cobra.NoFileCompletions, "claim": cobra.NoFileCompletions,
	"listen": cobra.NoFileCompletions, "memory-limit": cobra.NoFileCompletions, "nats": cobra.NoFileCompletions,
}

// arguments are what a shell offers for the arguments of commands.
var arguments = map[string]cobra.CompletionFunc{
	"solve": modelFiles, "eval": modelFiles, "check": modelFiles, "build": modelFiles, "export": modelFiles, "repl": modelFiles, "bilevelc": modelFiles,
	"explain": codesOrModels, "functions": functionNames, "verify": files("json"), "report": files("json"), "fmt": files("blv"), "man": folders,
	"sweep": files("blv", "toml"), "status": folders, "table": folders,
}

// completing registers the completions of a command and of those below it.
func completing(cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if complete := completions[f.Name]; complete != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // of a flag that is there, once
		} else if takesNumber(f) {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.NoFileCompletions)
		}
	})
	if complete := arguments[cmd.Name()]; complete != nil && cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = complete
	}
	for _, sub := range cmd.Commands() {
		completing(sub)
	}
}

func takesNumber(f *pflag.Flag) bool {
	return slices.Contains([]string{"int", "int64", "uint64", "float64", "duration"}, f.Value.Type())
}

func files(endings ...string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return endings, cobra.ShellCompDirectiveFilterFileExt
	}
}

func folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// offeredMethods lists the methods of a kind.
func offeredMethods(kind string) cobra.CompletionFunc {
	list := each.Of(methodsOf(kind), func(m runtime.MethodInfo) string { return m.Name + "\t" + m.Summary })
	return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
}

// settingsFor lists the settings of the methods that the flags name, or of all where
// they name none, and behind the equals sign the words of one.
func settingsFor(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	chosen := func(m runtime.MethodInfo) bool {
		name, err := cmd.Flags().GetString(m.Kind)
		return err != nil || name == "" || name == m.Name
	}
	name, _, valued := strings.Cut(typed, "=")
	var list []string
	for _, m := range runtime.Methods() {
		for _, s := range m.Settings {
			switch {
			case !chosen(m):
			case !valued:
				list = append(list, fmt.Sprintf("%s=\t%s %s: %s, %s", s.Name, m.Kind, m.Name, s.Doc, s.Range()))
			case s.Name == name:
				words := s.Words
				if s.Type == "flag" {
					words = []string{"true", "false"}
				}
				for _, w := range words {
					list = append(list, name+"="+w)
				}
			}
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	if valued {
		return list, cobra.ShellCompDirectiveNoFileComp
	}
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// inputsOf lists the params and data of the model on the command line.
func inputsOf(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var list []string
	if len(args) > 0 {
		if model, err := runtime.CompileFile(args[0]); err == nil {
			for name, s := range model.Program.Symbols {
				switch s.Kind {
				case ir.ParamSymbol:
					list = append(list, name+"=\tparam")
				case ir.DataSymbol:
					list = append(list, name+"=\tdata")
				}
			}
		}
	}
	slices.Sort(list)
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func stageNames(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	list := each.Of(runtime.Stages(), func(s runtime.Stage) string { return s.Name + "\t" + s.Summary })
	return list, cobra.ShellCompDirectiveNoFileComp
}

// codesOrModels lists the codes of diagnostics where one is begun, models else.
func codesOrModels(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var list []string
	for _, e := range diag.Codes() {
		if strings.HasPrefix(string(e.Code), strings.ToUpper(typed)) {
			list = append(list, string(e.Code)+"\t"+e.Title)
		}
	}
	if typed == "" || len(list) == 0 {
		return []string{"blv", "mps"}, cobra.ShellCompDirectiveFilterFileExt
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// functionNames lists the functions of the library and of the language.
func functionNames(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var list []string
	if len(args) == 0 {
		list = each.Of(wordsOf(assist.FunctionWord), func(w assist.Word) string { return w.Name + "\t" + firstLine(w.Doc) })
	}
	slices.Sort(list)
	return slices.Compact(list), cobra.ShellCompDirectiveNoFileComp
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// settingLine is a setting as documents list it.
func settingLine(s method.Setting) string {
	return fmt.Sprintf("%s (default %v; %s): %s", s.Name, s.Default, s.Range(), s.Doc)
}
