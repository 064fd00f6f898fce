import { describe } from "vitest";
import { chromiumPath } from "./console-browser.ts";

/** Describes what a browser shows. Without a Chromium the tests are skipped with a line that says so. */
export function describeInBrowser(what: string, tests: () => void): void {
  if (chromiumPath === null)
    process.stderr.write(`\nSKIPPED: ${what}; install Chromium, or name one with WRIT_CHROMIUM\n`);
  describe.skipIf(chromiumPath === null)(what, tests);
}
