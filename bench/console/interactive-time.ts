import type { BrowserContextOptions } from "playwright-core";
import type { ConsoleUnderTest } from "../../tests/console/browser-fixture.ts";
import { consoleBrowser } from "../../tests/console/console-browser.ts";
import { type Measurement, measurePair } from "../measurement.ts";
import { sampleMedian } from "../samples.ts";
import { timeUntilPainted, withConsole } from "./bench-console.ts";

const tries = 7;

/** Measures how long the inbox takes in a browser that has nothing of the console in its cache. */
export function interactiveTime(id: string): Measurement {
  return {
    id,
    about: "from the navigation to an inbox whose call can be approved, nothing in the cache, on the same machine",
    limitAbout: "a text of the same server, painted",
    unit: "ms",
    goal: { of: "value", atMost: 1000 },
    maxRounds: 1,
    round: (order) =>
      withConsole({}, async (served) => {
        await served.hold();
        const first = await served.open("/");
        const cookies = await first.context().storageState();
        const time = (path: string, selector: string) =>
          sampleMedian(tries, () => timeInNewContext(served, cookies, path, selector));
        return measurePair(order, {
          engine: () => time("/", ".detail button.button-primary, .detail button:not([disabled])"),
          limit: () => time("/licences", "pre"),
        });
      }),
  };
}

type StorageState = Exclude<BrowserContextOptions["storageState"], string | undefined>;

async function timeInNewContext(
  { url }: ConsoleUnderTest,
  cookies: StorageState,
  path: string,
  selector: string,
): Promise<number> {
  const context = await (await consoleBrowser()).newContext({ storageState: cookies });
  const took = await timeUntilPainted(await context.newPage(), `${url}${path}`, selector);
  await context.close();
  return took;
}
