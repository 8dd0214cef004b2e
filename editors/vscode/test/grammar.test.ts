// The grammar's keywords, strings, comments and numbers are those of sonde itself, in all scripts of the project.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { DidCloseTextDocumentNotification, DidOpenTextDocumentNotification, SemanticTokensRequest } from "vscode-languageserver-protocol/node";
import { loadWASM, OnigScanner, OnigString } from "vscode-oniguruma";
import { INITIAL, parseRawGrammar, Registry, type IGrammar } from "vscode-textmate";
import { startServer } from "./server";

const project = process.env.SONDE_SOURCE ?? join(__dirname, "../../../..");
const folders = ["stdlib", "tests", "examples"];
// A comment without its end, and quotes of other languages, which sonde accepts as strings for a better message.
const wrong = /run\/errors\/(unclosed_comment|other_grammars)\.stp$/;
// sonde makes one token of adjacent strings, with the comment between them.
const adjacent = /"\s*\/\*.*\*\/\s*"/;

type Kind = "keyword" | "string" | "comment" | "number";

async function loadGrammar(): Promise<IGrammar> {
  const wasm = readFileSync(join(require.resolve("vscode-oniguruma"), "../onig.wasm"));
  await loadWASM({ data: wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength) });
  const path = join(__dirname, "../../syntaxes/systemtap.tmLanguage.json");
  const registry = new Registry({
    onigLib: Promise.resolve({ createOnigScanner: (patterns) => new OnigScanner(patterns), createOnigString: (text) => new OnigString(text) }),
    loadGrammar: (scope) => Promise.resolve(scope === "source.systemtap" ? parseRawGrammar(readFileSync(path, "utf8"), path) : null),
  });
  const grammar = await registry.loadGrammar("source.systemtap");
  assert(grammar);
  return grammar;
}

function kindOfScopes(scopes: string[]): Kind | undefined {
  for (const scope of scopes) {
    if (scope.startsWith("comment.")) return "comment";
    if (scope.startsWith("string.")) return "string";
    if (scope.startsWith("constant.numeric.")) return "number";
    if (scope.startsWith("keyword.control.") || scope.startsWith("storage.type.")) return "keyword";
  }
  return undefined;
}

/** The kind of each character, by lines. */
function tokenize(grammar: IGrammar, lines: string[]): (Kind | undefined)[][] {
  let stack = INITIAL;
  return lines.map((line) => {
    const { tokens, ruleStack } = grammar.tokenizeLine(line, stack);
    stack = ruleStack;
    const kinds = new Array<Kind | undefined>(line.length).fill(undefined);
    for (const token of tokens) kinds.fill(kindOfScopes(token.scopes), token.startIndex, Math.min(token.endIndex, line.length));
    return kinds;
  });
}

function decode(data: number[], types: string[], lines: string[]): (Kind | undefined)[][] {
  const out = lines.map((line) => new Array<Kind | undefined>(line.length).fill(undefined));
  for (let at = 0, line = 0, character = 0; at < data.length; at += 5) {
    const [lineStep = 0, characterStep = 0, length = 0, type = 0] = data.slice(at, at + 4);
    line += lineStep;
    character = characterStep + (lineStep === 0 ? character : 0);
    const name = types[type];
    const isOperator = lines[line]?.[character] === "@" && name === "keyword"; // the grammar has a color of its own for them
    if (!isOperator && (name === "keyword" || name === "string" || name === "comment" || name === "number")) out[line]?.fill(name, character, character + length);
  }
  return out;
}

function scripts(folder: string): string[] {
  return readdirSync(join(project, folder), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? scripts(join(folder, entry.name)) : /\.stpm?$/.test(entry.name) ? [join(folder, entry.name)] : [],
  );
}

test("the grammar has the tokens of the lexer", async () => {
  const grammar = await loadGrammar();
  const server = await startServer(["lsp"]);
  const { semanticTokensProvider } = server.initialized.capabilities;
  assert(semanticTokensProvider);
  const types = semanticTokensProvider.legend.tokenTypes;
  const problems: string[] = [];
  const counts = new Map<string, number>();
  // Each request reads the library, so one is about many scripts.
  const compare = async (group: string[], number: number): Promise<void> => {
    const lines: string[] = [];
    const places: string[] = [];
    for (const path of group)
      for (const [at, line] of readFileSync(join(project, path), "utf8").split(/\r?\n/).entries()) {
        lines.push(line);
        places.push(`${path}:${at + 1}`);
      }
    const uri = `file:///group-${number}.stp`;
    await server.connection.sendNotification(DidOpenTextDocumentNotification.type, { textDocument: { uri, languageId: "systemtap", version: 1, text: lines.join("\n") } });
    const answer = await server.connection.sendRequest(SemanticTokensRequest.type, { textDocument: { uri } });
    await server.connection.sendNotification(DidCloseTextDocumentNotification.type, { textDocument: { uri } });
    assert(answer);
    const wanted = decode(answer.data, types, lines), got = tokenize(grammar, lines);
    for (const [at, line] of lines.entries())
      for (let column = 0; column < line.length; column++) {
        const [want, have] = [wanted[at]?.[column], got[at]?.[column]];
        if (want) counts.set(want, (counts.get(want) ?? 0) + 1);
        if (want === have || /\s/.test(line[column] ?? "")) continue;
        if (want === "string" && have === "comment" && adjacent.test(line)) continue;
        problems.push(`${places[at]}:${column + 1}: sonde: ${want ?? "-"}, grammar: ${have ?? "-"}: ${line}`);
        break; // one of each line
      }
  };
  const paths = folders.flatMap(scripts).filter((path) => !wrong.test(path) && !readFileSync(join(project, path), "utf8").includes("\ufffd")); // it is not UTF-8
  const size = 40;
  try {
    const groups = Array.from({ length: Math.ceil(paths.length / size) }, (_, at) => paths.slice(at * size, (at + 1) * size));
    await Promise.all(groups.map(compare));
  } finally {
    await server.end();
  }
  console.log(`${paths.length} scripts, characters: ${JSON.stringify(Object.fromEntries(counts))}`);
  assert(paths.length > 500, `only ${paths.length} scripts were compared`);
  for (const kind of ["keyword", "string", "comment", "number"]) assert((counts.get(kind) ?? 0) > 1000, `few characters are of a ${kind}`);
  assert.deepEqual(problems.slice(0, 40), [], `${problems.length} lines differ`);
});
