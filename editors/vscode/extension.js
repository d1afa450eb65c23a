// The extension starts the language server of the bilevelc program; all it knows of
// models it has from there.
const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

let client;

async function activate(context) {
  const settings = () => vscode.workspace.getConfiguration('bilevelc');
  const program = settings().get('path');
  client = new LanguageClient(
    'bilevelc',
    'bilevelc',
    { command: program, args: ['lsp'] },
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
    const set = 'Open the setting';
    const message = `${program} could not be started as a language server (${error.message}). Set bilevelc.path to the program.`;
    // Not awaited: activation ends while the message is on the screen.
    vscode.window.showErrorMessage(message, set).then((chosen) => {
      if (chosen === set) {
        vscode.commands.executeCommand('workbench.action.openSettings', 'bilevelc.path');
      }
    });
  }
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
