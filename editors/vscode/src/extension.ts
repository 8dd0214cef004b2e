// Two servers: one for scripts, and one for log points, which usually runs as root. The second one starts with the
// first log point. It logs nothing unless a command of the user says so.
import * as vscode from "vscode";
import { ExecuteCommandRequest, LanguageClient, type LanguageClientOptions, State } from "vscode-languageclient/node";
import { LogPoints, type LogPoint } from "./logPoints";

const sourceLanguages = ["c", "cpp", "rust", "go", "python"];
const startCommand = "sonde.logPoint.start";
const stopCommand = "sonde.logPoint.stop";
const stopAllCommand = "sonde.logPoint.stopAll";

/** Only the user's own settings may say what is started: `scope` is `machine` in package.json. */
function makeClient(id: string, name: string, command: string[], options: LanguageClientOptions): LanguageClient {
  const [program = "sonde", ...words] = command;
  return new LanguageClient(id, name, { command: program, args: words, options: { shell: false } }, options);
}

class LogPointView implements vscode.Disposable {
  private readonly points = new LogPoints();
  private readonly output = vscode.window.createOutputChannel("sonde values");
  private readonly good = this.makeDecoration("editorCodeLens.foreground");
  private readonly bad = this.makeDecoration("editorWarning.foreground");
  private client: Promise<LanguageClient> | undefined;

  private makeDecoration(color: string): vscode.TextEditorDecorationType {
    return vscode.window.createTextEditorDecorationType({
      isWholeLine: true,
      after: { color: new vscode.ThemeColor(color), margin: "0 0 0 2em" },
    });
  }

  private async start(): Promise<LanguageClient> {
    const settings = vscode.workspace.getConfiguration("sonde");
    const command = [...settings.get<string[]>("logPoints.command", ["sonde"]), "lsp", "--log-points"];
    const client = makeClient("sonde.logPoints", "sonde log points", command, {
      documentSelector: sourceLanguages.map((language) => ({ scheme: "file", language })),
      initializationOptions: {
        inlayHints: false, // decorations show the same
        seconds: settings.get<number>("logPoints.seconds", 60),
        limit: settings.get<number>("logPoints.limit", 100),
        max: settings.get<number>("logPoints.max", 1000),
      },
    });
    client.onNotification("sonde/logPoint", (point: LogPoint) => this.show(point));
    client.onDidChangeState(({ newState }) => {
      if (newState !== State.Stopped) return;
      this.points.clear();
      this.refresh();
    });
    await client.start();
    return client;
  }

  private async execute(command: string, argument: object): Promise<void> {
    try {
      this.client ??= this.start();
      const client = await this.client;
      await client.sendRequest(ExecuteCommandRequest.type, { command, arguments: [argument] });
    } catch (problem) {
      if (!(await this.client?.then((client) => client.isRunning(), () => false))) this.client = undefined; // try again the next time
      void vscode.window.showErrorMessage(`sonde: ${problem instanceof Error ? problem.message : String(problem)}`);
    }
  }

  async log(editor: vscode.TextEditor, expressions: string): Promise<void> {
    const program = vscode.workspace.getConfiguration("sonde", editor.document.uri).get<string>("logPoints.program", "");
    await this.execute(startCommand, {
      uri: editor.document.uri.toString(),
      line: editor.selection.active.line,
      expressions,
      ...(program === "" ? {} : { program }),
    });
  }

  async ask(editor: vscode.TextEditor): Promise<void> {
    const { document, selection } = editor;
    const range = selection.isEmpty ? document.getWordRangeAtPosition(selection.active) : selection;
    const expressions = await vscode.window.showInputBox({
      title: `Log at line ${selection.active.line + 1}`,
      prompt: "Expressions with commas between them, as in: left, order->item->name. Or a text with expressions in braces.",
      value: range?.isSingleLine ? document.getText(range) : "",
    });
    if (expressions !== undefined) await this.log(editor, expressions);
  }

  async stop(editor: vscode.TextEditor): Promise<void> {
    const place = { uri: editor.document.uri.toString(), line: editor.selection.active.line };
    if (this.points.isAt(place.uri, place.line)) await this.execute(stopCommand, place);
    else void vscode.window.showInformationMessage("sonde: no log point is at this line");
  }

  async stopAll(): Promise<void> {
    if (this.points.size > 0) await this.execute(stopAllCommand, {});
  }

  showValues(): void {
    this.output.show(true);
  }

  private show(point: LogPoint): void {
    for (const line of this.points.update(point)) this.output.appendLine(line);
    this.refresh();
  }

  refresh(): void {
    void vscode.commands.executeCommand("setContext", "sonde.hasLogPoints", this.points.size > 0);
    for (const editor of vscode.window.visibleTextEditors) {
      const { document } = editor;
      const ends = this.points.lineEnds(document.uri.toString()).filter((end) => end.line < document.lineCount);
      for (const [type, failed] of [[this.good, false], [this.bad, true]] as const)
        editor.setDecorations(
          type,
          ends.filter((end) => end.failed === failed).map((end) => ({
            range: document.lineAt(end.line).range,
            hoverMessage: new vscode.MarkdownString().appendCodeblock(end.hover.join("\n"), "text"),
            renderOptions: { after: { contentText: end.text } },
          })),
        );
    }
  }

  async end(): Promise<void> {
    const client = await this.client?.catch(() => undefined);
    await client?.stop();
  }

  dispose(): void {
    this.good.dispose();
    this.bad.dispose();
    this.output.dispose();
  }
}

let scripts: LanguageClient | undefined;
let view: LogPointView | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const points = (view = new LogPointView());
  context.subscriptions.push(
    points,
    vscode.commands.registerTextEditorCommand("sonde.logHere", (editor) => void points.log(editor, "")),
    vscode.commands.registerTextEditorCommand("sonde.logExpression", (editor) => void points.ask(editor)),
    vscode.commands.registerTextEditorCommand("sonde.stopLogPoint", (editor) => void points.stop(editor)),
    vscode.commands.registerCommand("sonde.stopAllLogPoints", () => void points.stopAll()),
    vscode.commands.registerCommand("sonde.showValues", () => points.showValues()),
    vscode.window.onDidChangeVisibleTextEditors(() => points.refresh()),
  );
  const settings = vscode.workspace.getConfiguration("sonde");
  scripts = makeClient("sonde", "sonde", [...settings.get<string[]>("command", ["sonde"]), "lsp"], {
    documentSelector: [{ language: "systemtap" }],
    initializationOptions: { options: settings.get<string[]>("options", []) },
  });
  try {
    await scripts.start();
  } catch (problem) {
    // Log points have a command of their own, which can be right.
    void vscode.window.showErrorMessage(`sonde: the server for scripts does not start: ${problem instanceof Error ? problem.message : String(problem)}`);
  }
}

export async function deactivate(): Promise<void> {
  await Promise.all([scripts?.stop(), view?.end()]);
}
