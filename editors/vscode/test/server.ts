// A server in a child process, and a real client library.
import { spawn } from "node:child_process";
import { createProtocolConnection, ExitNotification, InitializedNotification, InitializeRequest, ShutdownRequest, StreamMessageReader, StreamMessageWriter, type InitializeResult, type ProtocolConnection } from "vscode-languageserver-protocol/node";

/** The program under test. */
export const sonde = process.env.SONDE ?? "sonde";

export interface Server {
  connection: ProtocolConnection;
  initialized: InitializeResult;
  end(): Promise<void>;
}

export async function startServer(words: string[], prepare?: (connection: ProtocolConnection) => void, initializationOptions?: object): Promise<Server> {
  const child = spawn(sonde, words, { stdio: ["pipe", "pipe", "inherit"] });
  const connection = createProtocolConnection(new StreamMessageReader(child.stdout), new StreamMessageWriter(child.stdin));
  prepare?.(connection);
  connection.listen();
  const initialized = await connection.sendRequest(InitializeRequest.type, {
    processId: process.pid,
    rootUri: null,
    capabilities: { workspace: { inlayHint: { refreshSupport: true } } },
    initializationOptions,
  });
  await connection.sendNotification(InitializedNotification.type, {});
  const ended = new Promise<void>((resolve) => child.on("exit", () => resolve()));
  return {
    connection,
    initialized,
    async end() {
      await connection.sendRequest(ShutdownRequest.type);
      await connection.sendNotification(ExitNotification.type);
      await ended;
      connection.dispose();
    },
  };
}
