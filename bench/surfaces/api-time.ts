import { openSqlite } from "../../src/store/sqlite/sqlite-store.ts";
import type { Measurement } from "../measurement.ts";
import { median, percentile } from "../samples.ts";
import { withScratchFile } from "../scratch-file.ts";
import { benchPrincipal, openBenchEngine } from "../workload.ts";
import { type ApiProcess, withApiProcess } from "./api-process.ts";

const calls = 1000;
const tool = "bench.reads";

/** Measures what the HTTP API adds to a call of a tool that reads. Both ways take turns, each on a file of its own. */
export function apiOverhead(id: string): Measurement {
  return {
    id,
    about: "what the HTTP API and its client add to a call of a tool that reads, p50",
    limitAbout: "the same call by `engine.call` in the process of the caller, p50",
    unit: "ms",
    goal: { of: "value", atMost: 1 },
    startsProcesses: true,
    round: () =>
      withScratchFile((file) =>
        withApiProcess(async ({ client }) => {
          const engine = await openBenchEngine(openSqlite(file), "power");
          const remote: number[] = [];
          const local: number[] = [];
          for (let n = 0; n < calls; n += 1) {
            remote.push(await timeOf(() => client.call(tool, { n })));
            local.push(await timeOf(() => engine.call(tool, { n }, { principal: benchPrincipal })));
          }
          await engine.close();
          const [value, limit] = [warmMedian(remote), warmMedian(local)];
          return { value: value - limit, limit, ratio: value / limit };
        }),
      ),
  };
}

/** The median of the second half, because the server compiles its code in the first. */
function warmMedian(times: readonly number[]): number {
  return median(times.slice(times.length / 2));
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

const rate = 200;
const warmMs = 4_000;
const measuredMs = 10_000;
const runsInFlight = 1000;
/** Each run in flight ends a step in this time. */
const stepMs = 5_000;
const stepsInFlight = 10;

/** Measures how long requests take that arrive at a fixed rate, whether earlier ones were answered or not. */
export function apiTail(id: string): Measurement {
  const stepRate = (runsInFlight * 1000) / stepMs;
  return {
    id,
    about: `${rate} requests per second of eight kinds while ${runsInFlight} runs end ${stepRate} steps per second, from when each was due to its answer, p99`,
    limitAbout: "the same requests without the runs, p99",
    unit: "ms",
    goal: { of: "value", atMost: 50 },
    startsProcesses: true,
    round: async () => {
      const limit = await withApiProcess(requestTail);
      const value = await withApiProcess(async (server) => {
        await submitRuns(server);
        const tail = await requestTail(server);
        const { count } = await server.client.runs({ status: "running", limit: 1, count: true });
        if (count !== runsInFlight) throw new Error(`${count} runs were in flight at the end`);
        return tail;
      });
      return { value, limit, ratio: value / limit };
    },
  };
}

/** Submits the runs that stay in flight. */
async function submitRuns({ client }: ApiProcess): Promise<void> {
  const steps = Array.from({ length: stepsInFlight }, (_, at) => ({
    step_id: `s${at}`,
    name: "bench.waits",
    payload: { n: stepMs },
    depends_on: at === 0 ? [] : [`s${at - 1}`],
  }));
  for (let submitted = 0; submitted < runsInFlight; submitted += 50)
    await Promise.all(Array.from({ length: 50 }, () => client.submit({ steps })));
}

async function requestTail({ client }: ApiProcess): Promise<number> {
  const plan = { steps: [{ step_id: "a", name: tool, payload: { n: 1 } }] };
  const session = await client.openRun({ session: "bench" });
  const { run_id } = await client.submit(plan);
  const known = await client.run(run_id);
  await known.finished();
  const kinds: readonly ((n: number) => Promise<unknown>)[] = [
    () => client.submit(plan),
    (n) => client.call(tool, { n }),
    (n) => session.callTool({ id: `c${n}`, tool, input: { n } }),
    () => known.now(),
    () => client.runs({ status: "running" }),
    () => known.result(),
    () => client.runs(),
    () => client.gates(),
  ];
  const times = await atFixedRate((n) => kinds[n % kinds.length]?.(n) ?? Promise.resolve());
  return percentile(times.slice((rate * warmMs) / 1000), 0.99);
}

/** Makes a request every few milliseconds. A late answer delays no other request, and a late start counts. */
async function atFixedRate(request: (n: number) => Promise<unknown>): Promise<readonly number[]> {
  const total = (rate * (warmMs + measuredMs)) / 1000;
  const times: number[] = [];
  const answers: Promise<void>[] = [];
  const begun = performance.now();
  for (let n = 0; n < total; n += 1) {
    const due = begun + (n * 1000) / rate;
    const early = due - performance.now();
    if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
    answers.push(request(n).then(() => void times.splice(n, 1, performance.now() - due)));
    times.push(Number.NaN);
  }
  await Promise.all(answers);
  return times;
}
