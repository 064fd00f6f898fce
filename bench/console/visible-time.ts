import type { Page } from "playwright-core";
import { ana, type ConsoleUnderTest } from "../../tests/console/browser-fixture.ts";
import type { Measurement } from "../measurement.ts";
import { percentile } from "../samples.ts";
import { withConsole } from "./bench-console.ts";

const samples = 60;

/** Measures how long a new run and a new held call take to appear in an open page. */
export function visibleTime(id: string): Measurement {
  return {
    id,
    about: `from a commit to the frame that shows it, 95th percentile of ${samples} new runs and ${samples} held calls`,
    limitAbout: "the same commits as messages of the stream, received by a program",
    unit: "ms",
    goal: { of: "value", atMost: 250 },
    maxRounds: 1,
    round: () =>
      withConsole({}, async (served) => {
        const [runs, inbox] = [await served.open("/runs"), await served.open("/")];
        for (const page of [runs, inbox]) await page.getByText("live", { exact: true }).waitFor();
        const stream = await openStream(served, runs);
        const [seen, received]: [number[], number[]] = [[], []];
        for (let count = 0; count < samples; count += 1) {
          await timeOne(runs, `Run ${count}.`, stream, () => submitRun(served, `Run ${count}.`), { seen, received });
          await timeOne(inbox, `call-${count}@x`, stream, () => served.hold({ to: `call-${count}@x` }), {
            seen,
            received,
          });
        }
        stream.close();
        const [value, limit] = [percentile(seen, 0.95), percentile(received, 0.95)];
        return { value, limit, ratio: value / limit };
      }),
  };
}

async function submitRun({ engine }: ConsoleUnderTest, title: string): Promise<{ readonly run_id: string }> {
  const steps = [{ step_id: "a", name: "report.read", payload: { name: title } }];
  return engine.submit({ steps }, { principal: ana, title });
}

/** Commits once, and adds the milliseconds until a page has painted it and a program has heard of it. */
async function timeOne(
  page: Page,
  text: string,
  stream: RunStream,
  commit: () => Promise<{ readonly run_id: string }>,
  { seen, received }: { readonly seen: number[]; readonly received: number[] },
): Promise<void> {
  const painted = page.evaluate<number>(paintedTime(text));
  const { run_id } = await commit();
  const committed = Date.now();
  // Zero: it was painted before the answer of the commit was here.
  seen.push(Math.max(0, (await painted) - committed));
  received.push(Math.max(0, (await stream.heardOf(run_id)) - committed));
}

/** A script that waits until the page has painted a text, and returns the time. */
function paintedTime(text: string): string {
  return `new Promise((resolve) => {
    const look = () => {
      if (!document.querySelector("main").textContent.includes(${JSON.stringify(text)})) return;
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => resolve(Date.now())));
    };
    const observer = new MutationObserver(look);
    observer.observe(document.body, { childList: true, subtree: true, characterData: true });
    look();
  })`;
}

interface RunStream {
  /** Returns the time of the first message about a run. */
  heardOf(run_id: string): Promise<number>;
  close(): void;
}

/** Follows the changes of the server as a program, with the session of a page. */
async function openStream({ url }: ConsoleUnderTest, page: Page): Promise<RunStream> {
  const cookies = await page.context().cookies();
  const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join("; ");
  const stop = new AbortController();
  const { body } = await fetch(`${url}/v1/stream?lists=runs`, { headers: { cookie }, signal: stop.signal });
  const times = new Map<string, number>();
  const waiting = new Map<string, (time: number) => void>();
  const note = (text: string) => {
    for (const [run_id] of text.matchAll(/run_[0-9a-z]{26}/g)) {
      if (times.has(run_id)) continue;
      times.set(run_id, Date.now());
      waiting.get(run_id)?.(Date.now());
    }
  };
  const read = async () => {
    if (body !== null) for await (const chunk of body.pipeThrough(new TextDecoderStream())) note(chunk);
  };
  read().catch(() => {}); // It was closed on purpose.
  return {
    heardOf: (run_id) =>
      new Promise((resolve) => {
        const time = times.get(run_id);
        if (time === undefined) waiting.set(run_id, resolve);
        else resolve(time);
      }),
    close: () => stop.abort(),
  };
}
