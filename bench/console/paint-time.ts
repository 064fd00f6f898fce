import { ana, type ConsoleUnderTest } from "../../tests/console/browser-fixture.ts";
import { type Measurement, measurePair } from "../measurement.ts";
import { sampleMedian } from "../samples.ts";
import { timeUntilPainted, withConsole } from "./bench-console.ts";

const tries = 7;

/** Measures how long the page of a run with many steps takes to paint its first steps. */
export function paintTime(id: string, steps: number): Measurement {
  return {
    id,
    about: `from the navigation to a run of ${steps} steps to the first painted steps, scripts in the cache`,
    limitAbout: "the same for a run of one step",
    unit: "ms",
    goal: { of: "value", atMost: 400 },
    maxRounds: 1,
    round: (order) =>
      withConsole({}, async (served) => {
        const [large, small] = [await runOf(served, steps), await runOf(served, 1)];
        const page = await served.open("/");
        const time = (run_id: string) =>
          sampleMedian(tries, () => timeUntilPainted(page, `${served.url}/runs/${run_id}`, ".graph-node"));
        await time(small);
        return measurePair(order, { engine: () => time(large), limit: () => time(small) });
      }),
  };
}

/** Returns a completed run in which four steps follow each step. */
async function runOf({ engine }: ConsoleUnderTest, count: number): Promise<string> {
  const steps = Array.from({ length: count }, (_, at) => ({
    step_id: `s${at}`,
    name: "report.read",
    payload: { name: `report ${at}` },
    depends_on: at === 0 ? [] : [`s${Math.floor((at - 1) / 4)}`],
  }));
  const run = await engine.submit({ steps }, { principal: ana, title: `${count} steps` });
  await run.result();
  return run.run_id;
}
