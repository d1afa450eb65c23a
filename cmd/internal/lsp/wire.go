package lsp

import (
	"encoding/json"

	"bilevelc/lang/diag"
)

// The part of the Language Server Protocol (version 3.17) that this server speaks.

type initializeParams struct {
	InitializationOptions json.RawMessage `json:"initializationOptions"`
	Capabilities          struct {
		TextDocument struct {
			Completion struct {
				CompletionItem struct {
					SnippetSupport bool `json:"snippetSupport"`
				} `json:"completionItem"`
			} `json:"completion"`
		} `json:"textDocument"`
	} `json:"capabilities"`
}

// Settings are what an editor may say in initializationOptions, and in
// workspace/didChangeConfiguration under "bilevelc".
type Settings struct {
	// Data are data files, as for --data, that models are checked with; relative to
	// the model's folder. A file NAME.json beside NAME.blv is taken by itself.
	Data []string `json:"data"`
}

// documentParams are what the parameters of all questions about a document begin with.
type documentParams struct {
	TextDocument struct {
		URI     string `json:"uri"`
		Version int    `json:"version"` // of didOpen and didChange
		Text    string `json:"text"`    // of didOpen
	} `json:"textDocument"`
}

func (p *documentParams) uri() string { return p.TextDocument.URI }

type didChangeParams struct {
	documentParams
	ContentChanges []struct {
		Range *Range `json:"range"`
		Text  string `json:"text"`
	} `json:"contentChanges"`
}

type positionParams struct {
	documentParams
	Position Position `json:"position"`
}

func (p *positionParams) position() Position { return p.Position }

type referenceParams struct {
	positionParams
	Context struct {
		IncludeDeclaration bool `json:"includeDeclaration"`
	} `json:"context"`
}

type renameParams struct {
	positionParams
	NewName string `json:"newName"`
}

type location struct {
	URI   string `json:"uri"`
	Range Range  `json:"range"`
}

type textEdit struct {
	Range   Range  `json:"range"`
	NewText string `json:"newText"`
}

type workspaceEdit struct {
	Changes map[string][]textEdit `json:"changes"`
}

type markup struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

type hover struct {
	Contents markup `json:"contents"`
	Range    Range  `json:"range"`
}

type completionItem struct {
	Label            string    `json:"label"`
	Kind             int       `json:"kind"`
	Detail           string    `json:"detail,omitempty"`
	Documentation    *markup   `json:"documentation,omitempty"`
	SortText         string    `json:"sortText,omitempty"`
	FilterText       string    `json:"filterText,omitempty"`
	InsertTextFormat int       `json:"insertTextFormat,omitempty"`
	TextEdit         *textEdit `json:"textEdit,omitempty"`
}

type documentSymbol struct {
	Name           string           `json:"name"`
	Detail         string           `json:"detail,omitempty"`
	Kind           int              `json:"kind"`
	Range          Range            `json:"range"`
	SelectionRange Range            `json:"selectionRange"`
	Children       []documentSymbol `json:"children,omitempty"`
}

type diagnostic struct {
	Range              Range         `json:"range"`
	Severity           int           `json:"severity"`
	Code               string        `json:"code"`
	Source             string        `json:"source"`
	Message            string        `json:"message"`
	Tags               []int         `json:"tags,omitempty"`
	RelatedInformation []relatedInfo `json:"relatedInformation,omitempty"`
}

type relatedInfo struct {
	Location location `json:"location"`
	Message  string   `json:"message"`
}

type publishDiagnosticsParams struct {
	URI         string       `json:"uri"`
	Version     int          `json:"version"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

type codeActionParams struct {
	documentParams
	Range   Range `json:"range"`
	Context struct {
		Only []string `json:"only"`
	} `json:"context"`
}

type codeAction struct {
	Title       string         `json:"title"`
	Kind        string         `json:"kind"`
	Diagnostics []diagnostic   `json:"diagnostics,omitempty"`
	IsPreferred bool           `json:"isPreferred,omitempty"`
	Edit        *workspaceEdit `json:"edit,omitempty"`
	Command     *command       `json:"command,omitempty"`
}

type command struct {
	Title     string `json:"title"`
	Command   string `json:"command"`
	Arguments []any  `json:"arguments,omitempty"`
}

type executeCommandParams struct {
	Command   string   `json:"command"`
	Arguments []string `json:"arguments"`
}

type showMessageParams struct {
	Type    int    `json:"type"`
	Message string `json:"message"`
}

// Numbers of the protocol.
const (
	unnecessaryTag = 1

	plainText, snippetText = 1, 2

	infoMessage, errorMessage = 3, 1

	requestFailed = -32803
)

var severities = map[diag.Severity]int{diag.Error: 1, diag.Warning: 2, diag.Note: 3}

// completionKinds and symbolKinds are the icons that an editor shows.
var completionKinds = map[string]int{
	"function": 3, "fn": 3, "let": 6, "index": 6, "parameter": 6, "size": 6, "var": 6, "param": 21, "data": 21,
	"set": 13, "member": 20, "keyword": 14, "setting": 10, "method": 2, "constraint": 18,
}

var symbolKinds = map[string]int{
	"param": 14, "data": 14, "set": 10, "let": 13, "fn": 12, "var": 13, "constraint": 7, "objective": 6, "block": 3, "report": 20,
}
