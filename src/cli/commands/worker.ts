import { Command, InvalidArgumentError } from "commander";
import { isQueueName, queueNameRule } from "../../core/store/select-fairly.ts";
import type { ClaimTerms } from "../../core/store/store.ts";
import type { ExitCode } from "../exit-code.ts";
import { listeningPort, serveHealth } from "../health-server.ts";
import { helpExample, type Invocation, parsePort, parsePositiveNumber } from "../invocation.ts";
import { line } from "../safe-line.ts";
import { countingStore, StoreOperationCounters } from "../store-operation-counters.ts";
import { type OpenedEngine, withEngine } from "../with-engine.ts";
import { loggingStore, type WorkerLogEntry, workerLogLine } from "../worker-log.ts";

/** A queue to serve, with the maximum number of its runs that are held at once. */
interface Queue {
  readonly name: string;
  readonly most: number | null;
}

interface WorkerOptions {
  readonly concurrency?: number;
  readonly queue?: readonly Queue[];
  readonly perTenant?: number;
  readonly port?: number;
  readonly host?: string;
}

export function workerCommand(invocation: Invocation): Command {
  const command = new Command("worker")
    .description("execute due runs until it is stopped; calls in flight finish first")
    .option(
      "--concurrency <n>",
      "number of tools that run at once (default: the config's limit, else 100)",
      parsePositiveNumber,
    )
    .option(
      "--queue <name[=n]>",
      "serve this queue, with at most n of its runs held by all workers; may be repeated",
      addQueue,
    )
    .option(
      "--per-tenant <n>",
      "maximum number of runs of one tenant that all workers hold at once",
      parsePositiveNumber,
    )
    .option("--port <port>", "serve /healthz, /readyz and /metrics on this port; 0 takes a free one", parsePort)
    .option("--host <host>", "address to serve on (default: 127.0.0.1)")
    .addHelpText(
      "after",
      helpExample(
        "writ worker",
        "writ worker --concurrency 20 --port 9464",
        "writ worker --queue mail=5 --queue default",
      ),
    );
  return invocation.withAction<WorkerOptions>(command, (_, options) => {
    const meters = new StoreOperationCounters();
    const { concurrency } = options;
    const { terminal } = invocation;
    const report = (entry: WorkerLogEntry) =>
      terminal.json ? terminal.printJson(entry) : terminal.note(workerLogLine(entry, terminal.style));
    const store = (store: OpenedEngine["store"]) => loggingStore(countingStore(store, meters), report);
    const workerSettings = { store, worker: claimTerms(options), ...(concurrency && { concurrency }) };
    return withEngine(
      invocation,
      options,
      {
        work: "yes",
        needs: "tools",
        createsStore: true,
        isLocal: true,
        workerSettings,
        notifies: { url: null, onProblem: (message) => terminal.note(line`notify: ${message}`) },
      },
      (opened) => runWorker(invocation, opened, meters, options),
    );
  });
}

function addQueue(text: string, before: readonly Queue[] = []): readonly Queue[] {
  const [name = "", most] = text.split(/=(.*)/s);
  if (!isQueueName(name)) throw new InvalidArgumentError(`Its name must be ${queueNameRule}.`);
  return [...before, { name, most: most === undefined ? null : parsePositiveNumber(most) }];
}

function claimTerms({ queue, perTenant }: WorkerOptions): ClaimTerms {
  const limited = (queue ?? []).flatMap(({ name, most }) => (most === null ? [] : [[name, most] as const]));
  return {
    ...(queue !== undefined && { queues: queue.map(({ name }) => name) }),
    ...(limited.length > 0 && { perQueue: Object.fromEntries(limited) }),
    ...(perTenant !== undefined && { perTenant }),
  };
}

async function runWorker(
  { host, terminal }: Invocation,
  { engine, store }: OpenedEngine,
  meters: StoreOperationCounters,
  { port, host: address = "127.0.0.1" }: WorkerOptions,
): Promise<ExitCode> {
  const interrupted = new AbortController();
  const { signal } = interrupted;
  const isReady = async () => !signal.aborted && (await store.nextDue().then(() => true));
  const server = port === undefined ? null : await serveHealth({ meters, isReady }, port, address);
  const where = server === null ? {} : { port: listeningPort(server) };
  // The listener is set before the note is printed, because a program that reads the note may send a signal at once.
  host.onInterrupt(() => {
    interrupted.abort();
    terminal.note(line`stopping once the calls in flight have ended; interrupt again to stop at once`);
    server?.close();
  });
  terminal.note(line`working; stop with Ctrl-C or SIGTERM`);
  if (server !== null) terminal.note(line`health and metrics on http://${address}:${String(listeningPort(server))}`);
  await engine.serve({ signal });
  terminal.printResult({ ...where, events: Object.fromEntries(meters.of("events")) }, () => []);
  return 0;
}
