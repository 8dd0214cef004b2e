// A log point in the example program, through the client library of VS Code: from the command to the values.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, copyFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { CodeActionRequest, DidOpenTextDocumentNotification, ExecuteCommandRequest, InlayHintRefreshRequest, InlayHintRequest, ShowMessageNotification, type Command } from "vscode-languageserver-protocol/node";
import type { LogPoint } from "../src/logPoints";
import { startServer } from "./server";

const project = process.env.SONDE_SOURCE ?? join(__dirname, "../../../..");
const seconds = 1000;

test("a log point in the shop program", { skip: process.getuid?.() !== 0 && "it needs root" }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "sonde-editor-"));
  const [source, program] = [join(folder, "shop_of_vscode.c"), join(folder, "shop")];
  copyFileSync(join(project, "examples/programs/shop.c"), source);
  assert.equal(spawnSync("cc", ["-g", "-O2", "-pthread", "-o", program, source], { stdio: "inherit" }).status, 0);
  const shop = spawn(program, ["1000000000"], { stdio: "ignore" });
  const points: LogPoint[] = [];
  const messages: string[] = [];
  let wake = () => {};
  let refreshes = 0;
  const server = await startServer(["lsp", "--log-points"], (connection) => {
    connection.onNotification("sonde/logPoint", (point: LogPoint) => {
      points.push(point);
      wake();
    });
    connection.onNotification(ShowMessageNotification.type, ({ message }) => void messages.push(message));
    connection.onRequest(InlayHintRefreshRequest.type, () => void refreshes++);
  });
  const until = async (what: string, ready: (point: LogPoint) => boolean): Promise<LogPoint> => {
    const end = Date.now() + 100 * seconds;
    for (;;) {
      const found = points.find(ready);
      if (found) return found;
      assert(Date.now() < end, `not: ${what}: ${JSON.stringify(points.at(-1))} ${messages.join("; ")}`);
      await new Promise<void>((resolve) => {
        wake = resolve;
        setTimeout(resolve, 500);
      });
    }
  };
  try {
    assert.deepEqual(server.initialized.capabilities.executeCommandProvider?.commands, ["sonde.logPoint.start", "sonde.logPoint.stop", "sonde.logPoint.stopAll"]);
    const uri = pathToFileURL(source).toString();
    const text = readFileSync(source, "utf8");
    await server.connection.sendNotification(DidOpenTextDocumentNotification.type, { textDocument: { uri, languageId: "c", version: 1, text } });
    const line = text.split("\n").indexOf("    return amount - rebate;");
    const range = { start: { line, character: 14 }, end: { line, character: 14 } };
    const actions = (await server.connection.sendRequest(CodeActionRequest.type, { textDocument: { uri }, range, context: { diagnostics: [] } })) as Command[];
    assert.deepEqual(actions.map((action) => action.title), ["Log the variables here (sonde)", "Log `amount` here (sonde)"]);
    const action = actions[0];
    assert(action);
    const begin = performance.now();
    const { id } = await server.connection.sendRequest(ExecuteCommandRequest.type, { command: action.command, arguments: action.arguments });
    const first = await until("a value", (point) => point.count > 0);
    console.log(`first value after ${Math.round(performance.now() - begin)} ms: ${first.label}`);
    assert.equal(first.id, id);
    assert.equal(first.line, line);
    assert.match(first.label, /order=\{/);
    assert.match(first.lines[0]?.name ?? "", /^shop/);
    const hints = await server.connection.sendRequest(InlayHintRequest.type, { textDocument: { uri }, range: { start: { line: 0, character: 0 }, end: { line: 1000, character: 0 } } });
    assert.equal(hints?.length, 1);
    assert.deepEqual(hints[0]?.position, { line, character: "    return amount - rebate;".length });
    assert.match(String(hints[0]?.label), /order=/);
    assert(refreshes > 0);
    await server.connection.sendRequest(ExecuteCommandRequest.type, { command: "sonde.logPoint.stop", arguments: [{ id }] });
    const last = await until("the end", (point) => point.state === "ended");
    assert.equal(last.reason, "stopped");
    assert.match(last.cost ?? "", /of the program's time/);
    assert.equal(shop.exitCode, null);
  } finally {
    await server.end();
    shop.kill();
    rmSync(folder, { recursive: true });
  }
});
