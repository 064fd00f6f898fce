import type { Page } from "playwright-core";
import type { EngineOptions } from "../../src/engine/api/engine-api.ts";
import { type ConsoleUnderTest, serveConsole } from "../../tests/console/browser-fixture.ts";

/** Serves the console for a measurement, and ends the server after it. */
export async function withConsole<Result>(
  options: Partial<EngineOptions>,
  use: (served: ConsoleUnderTest) => Promise<Result>,
): Promise<Result> {
  const served = await serveConsole(options);
  try {
    return await use(served);
  } finally {
    await served.close();
  }
}

/** Opens an address and returns the milliseconds until an element is painted. */
export async function timeUntilPainted(page: Page, address: string, selector: string): Promise<number> {
  await page.goto("about:blank");
  await page.goto(address, { waitUntil: "commit" });
  return page.evaluate(paintedAt(selector));
}

/** A script that waits until the frame with an element is painted, and returns the time since the navigation. */
function paintedAt(selector: string): string {
  return `new Promise((resolve) => {
    const look = () => {
      if (document.querySelector(${JSON.stringify(selector)}) === null) return requestAnimationFrame(look);
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
    };
    look();
  })`;
}
