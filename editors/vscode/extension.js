// The extension starts the language server of the bilevelc program; all it knows of
// models it has from there.
const vscode = require('vscode');
const { LanguageClient, TransportKind } = require('vscode-languageclient/node');

let client;

async function activate(context) {
  const settings = () => vscode.workspace.getConfiguration('bilevelc');
  const program = settings().get('path');
  client = new LanguageClient(
    'bilevelc',
    'bilevelc',
    { command: program, args: ['lsp'], transport: TransportKind.stdio },
    {
      documentSelector: [{ language: 'blv' }],
      initializationOptions: { data: settings().get('data') },
      synchronize: { configurationSection: 'bilevelc' },
    },
  );
  context.subscriptions.push(
    vscode.commands.registerCommand('bilevelc.solve', async () => {
      const editor = vscode.window.activeTextEditor;
      if (!editor || editor.document.languageId !== 'blv') {
        return;
      }
      await editor.document.save();
      // The program and its arguments go to the process one by one: no shell reads them.
      const data = settings().get('data').flatMap((file) => ['--data', file]);
      const run = new vscode.ProcessExecution(program, [editor.document.fileName, ...data]);
      const scope = vscode.workspace.getWorkspaceFolder(editor.document.uri) ?? vscode.TaskScope.Workspace;
      await vscode.tasks.executeTask(new vscode.Task({ type: 'process' }, scope, 'solve', 'bilevelc', run));
    }),
  );
  try {
    await client.start();
  } catch (error) {
    vscode.window.showErrorMessage(
      `bilevelc could not be started (${error.message}). Set bilevelc.path to the program.`,
    );
  }
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
