import type { CDPSession, Page } from "playwright-core";
import { openSqlite } from "../../src/store/sqlite/sqlite-store.ts";
import { fillWithRuns } from "../list-time.ts";
import type { Measurement } from "../measurement.ts";
import { withScratchFile } from "../scratch-file.ts";
import { withConsole } from "./bench-console.ts";

const scrollMs = 10_000;

/** Measures the longest frame while a person scrolls through the list of runs. */
export function scrollTime(id: string, runs: number): Measurement {
  return {
    id,
    about: `longest task of the page in a trace, while the list of ${runs} runs is scrolled for ${scrollMs / 1000} s`,
    limitAbout: "the same for a list of 100 runs",
    unit: "ms",
    goal: { of: "value", atMost: 50 },
    maxRounds: 1,
    round: async () => {
      const limit = await scrollThrough(100);
      const value = await scrollThrough(runs);
      return { value, limit, ratio: value / limit };
    },
  };
}

function scrollThrough(runs: number): Promise<number> {
  return withScratchFile(async (file) => {
    const store = openSqlite(file);
    await fillWithRuns(store, runs);
    await store.close();
    return withConsole({ store: openSqlite(file) }, async (served) => {
      const page = await served.open("/runs", { person: { id: "ana", kind: "person", tenant: "bench" } });
      await page.locator(".run-row").first().waitFor();
      return longestTask(page, () => scrollDown(page));
    });
  });
}

/** Turns the wheel over the list, as fast as the page follows. */
async function scrollDown(page: Page): Promise<void> {
  await page.locator(".runs-list").hover();
  const end = Date.now() + scrollMs;
  while (Date.now() < end) await page.mouse.wheel(0, 900);
}

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly dur?: number;
  readonly args?: { readonly name?: string };
}

/** Traces the work of a page, and returns the milliseconds of the longest task of its main thread. */
async function longestTask(page: Page, work: () => Promise<void>): Promise<number> {
  const session = await page.context().newCDPSession(page);
  const events: TraceEvent[] = [];
  session.on("Tracing.dataCollected", ({ value }) => events.push(...(value as unknown as TraceEvent[])));
  await session.send("Tracing.start", {
    traceConfig: { includedCategories: ["toplevel", "disabled-by-default-devtools.timeline", "__metadata"] },
  });
  await work();
  await endTrace(session);
  const threads = new Set(
    events
      .filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain")
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const tasks = events.filter(({ name, pid, tid }) => name === "RunTask" && threads.has(`${pid} ${tid}`));
  if (tasks.length === 0) throw new Error("the trace has no task of the page");
  return Math.max(...tasks.map(({ dur = 0 }) => dur)) / 1000;
}

async function endTrace(session: CDPSession): Promise<void> {
  const complete = new Promise<void>((resolve) => session.once("Tracing.tracingComplete", () => resolve()));
  await session.send("Tracing.end");
  await complete;
}
