import { Command } from "commander";
import { scopes } from "../../http-api/api-route.ts";
import type { Authenticator } from "../../server/credential.ts";
import type { ExitCode } from "../exit-code.ts";
import { metricsText } from "../health-server.ts";
import { helpExample, type Invocation, parsePort } from "../invocation.ts";
import { keysFilePath } from "../keys-file-path.ts";
import { line } from "../safe-line.ts";
import { countingStore, StoreOperationCounters } from "../store-operation-counters.ts";
import { findConfig, type OpenedEngine, withEngine } from "../with-engine.ts";

interface ServeOptions {
  readonly port: number;
  readonly host: string;
  readonly publicUrl?: string;
  readonly keys?: string;
}

export function serveCommand(invocation: Invocation): Command {
  const command = new Command("serve")
    .description("serve the HTTP API, and execute due runs with the config's tools")
    .option("--port <port>", "port; 0 takes a free one", parsePort, 4111)
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--public-url <url>", "address that people use, if a proxy with TLS is in front")
    .option("--keys <file>", "file of API keys (default: beside the store; see: writ keys)")
    .addHelpText(
      "after",
      helpExample(
        "writ serve",
        "writ serve --store postgres://writ@db/writ --host 0.0.0.0 --public-url https://writ.example.org",
      ),
    );
  return invocation.withAction<ServeOptions>(command, async (_, options) => {
    const keys = await keysFilePath(options.keys, options, invocation.host.cwd);
    const meters = new StoreOperationCounters();
    const workerSettings = { store: (store: OpenedEngine["store"]) => countingStore(store, meters), worker: {} };
    // A server without tools executes no run. It shows the runs that other processes execute.
    const hasConfig = findConfig(options, invocation.host.cwd) !== null;
    const address = promiseOfAddress();
    const opening = {
      work: hasConfig ? "yes" : "no",
      needs: hasConfig ? "tools" : "store",
      createsStore: true,
      isLocal: true,
      workerSettings,
      notifies: {
        url: address.known,
        onProblem: (message: string) => invocation.terminal.note(line`notify: ${message}`),
      },
    } as const;
    return withEngine(invocation, options, opening, (opened) =>
      serve(invocation, opened, { ...options, keys, meters, onListening: address.set }),
    );
  });
}

async function serve(
  { host, terminal }: Invocation,
  { engine, store, person, server: settings, works }: OpenedEngine,
  {
    port,
    host: address,
    publicUrl,
    keys,
    meters,
    onListening,
  }: ServeOptions & { readonly keys: string; readonly meters: StoreOperationCounters; onListening(url: string): void },
): Promise<ExitCode> {
  const { apiKeys, keysFileReader, readKeysFile, writeKeysFile } = await import("../../server/api-keys.ts");
  const { BrowserLogins } = await import("../../server/browser-logins.ts");
  const { ConsoleFiles } = await import("../../server/console-files.ts");
  const { oidc } = await import("../../server/oidc.ts");
  const { serveApi } = await import("../../server/serve-api.ts");
  const now = () => Date.now();
  const file = readKeysFile(keys);
  writeKeysFile(keys, file);
  const browsers = new BrowserLogins(Buffer.from(file.cookie_secret, "base64url"), now);
  const authenticators: Authenticator[] = [apiKeys(keysFileReader(keys), now), browsers.authenticate];
  if (settings.oidc !== undefined) authenticators.push(await oidc(settings.oidc, now));
  const files = new ConsoleFiles();
  const interrupted = new Promise<void>((resolve) => void host.onInterrupt(resolve));
  const api = await serveApi({
    engine,
    port,
    host: address,
    ...(publicUrl !== undefined && { publicUrl }),
    authenticators,
    browsers,
    console: files,
    ...(settings.demo !== undefined && { demo: settings.demo }),
    isReady: () => store.nextDue().then(() => true),
    metrics: () => metricsText(meters),
    now,
    onBug: (error, requestId) =>
      terminal.note(
        line`request ${requestId} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
      ),
  });
  onListening(api.url);
  const link = browsers.makeLink({ principal: person, scopes });
  const role = works ? "executes runs with the tools of its config" : "executes nothing: it has no config with tools";
  if (files.buildId === null) terminal.note(line`the console was not built: run npm run build, then start again`);
  terminal.note(
    line`serving ${api.url}; it ${role}`,
    line`open ${`${api.url}/#link=${link}`}`,
    line`keys in ${keys}; stop with Ctrl-C or SIGTERM`,
  );
  await interrupted;
  terminal.note(line`stopping once the requests and calls in flight have ended; interrupt again to stop at once`);
  await api.close();
  terminal.printResult({ url: api.url }, () => []);
  return 0;
}

/** Returns the address of the server as a promise: it is known once the server listens. */
function promiseOfAddress(): { readonly known: Promise<string>; set(url: string): void } {
  let set = (_url: string) => {};
  const known = new Promise<string>((resolve) => {
    set = resolve;
  });
  return { known, set };
}
