import { Command, InvalidArgumentError } from "commander";
import type { ClaimTerms } from "../../core/store.ts";
import { isQueue, queueRule } from "../../core/turns.ts";
import type { ExitCode } from "../exit-code.ts";
import { example, type Invocation, positiveNumber, wholeNumber } from "../invocation.ts";
import { line } from "../line.ts";
import { Meters, metered } from "../metered-store.ts";
import { type Opened, opened } from "../opening.ts";
import { portOf, serveHealth } from "../worker-server.ts";

/** A queue to serve, and how many of its runs may be held at once. */
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
    .description("execute whatever falls due, until it is told to stop: then let the calls in flight end")
    .option("--concurrency <n>", "how many tools run at once (default: the config's limit, else 100)", positiveNumber)
    .option(
      "--queue <name[=n]>",
      "serve this queue, with at most n of its runs held by all workers; may be repeated",
      addQueue,
    )
    .option("--per-tenant <n>", "how many runs of one tenant all workers hold at once", positiveNumber)
    .option("--port <port>", "answer /healthz, /readyz and /metrics there; 0 takes any that is free", portNumber)
    .option("--host <host>", "on this address (default: 127.0.0.1)")
    .addHelpText(
      "after",
      example("writ worker", "writ worker --concurrency 20 --port 9464", "writ worker --queue mail=5 --queue default"),
    );
  return invocation.does<WorkerOptions>(command, (_, options) => {
    const meters = new Meters();
    const { concurrency } = options;
    const store = (store: Opened["store"]) => metered(store, meters);
    const around = { store, worker: termsOf(options), ...(concurrency && { concurrency }) };
    return opened(invocation, options, { work: "yes", needs: "tools", around }, (it) =>
      worked(invocation, it, meters, options),
    );
  });
}

function portNumber(text: string): number {
  const port = wholeNumber(text);
  if (port < 65_536) return port;
  throw new InvalidArgumentError("It must be below 65536.");
}

function addQueue(text: string, before: readonly Queue[] = []): readonly Queue[] {
  const [name = "", most] = text.split(/=(.*)/s);
  if (!isQueue(name)) throw new InvalidArgumentError(`Its name must be ${queueRule}.`);
  return [...before, { name, most: most === undefined ? null : positiveNumber(most) }];
}

function termsOf({ queue, perTenant }: WorkerOptions): ClaimTerms {
  const limited = (queue ?? []).flatMap(({ name, most }) => (most === null ? [] : [[name, most] as const]));
  return {
    ...(queue !== undefined && { queues: queue.map(({ name }) => name) }),
    ...(limited.length > 0 && { perQueue: Object.fromEntries(limited) }),
    ...(perTenant !== undefined && { perTenant }),
  };
}

async function worked(
  { host, terminal }: Invocation,
  { store }: Opened,
  meters: Meters,
  { port, host: address = "127.0.0.1" }: WorkerOptions,
): Promise<ExitCode> {
  let stopping = false;
  const isReady = async () => !stopping && (await store.nextDue().then(() => true));
  const server = port === undefined ? null : await serveHealth({ meters, isReady }, port, address);
  const where = server === null ? {} : { port: portOf(server) };
  terminal.note(line`working; stop with Ctrl-C or SIGTERM`);
  if (server !== null) terminal.note(line`health and metrics on http://${address}:${String(portOf(server))}`);
  await new Promise<void>((resolve) => host.onInterrupt(resolve));
  stopping = true;
  terminal.note(line`stopping once the calls in flight have ended; interrupt again to stop at once`);
  server?.close();
  terminal.answer({ ...where, events: Object.fromEntries(meters.of("events")) }, () => []);
  return 0;
}
