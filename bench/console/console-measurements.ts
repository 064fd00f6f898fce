import { chromiumPath, closeConsoleBrowser } from "../../tests/console/console-browser.ts";
import type { Measurement } from "../measurement.ts";
import { consoleBytes } from "./console-bytes.ts";
import { interactiveTime } from "./interactive-time.ts";
import { paintTime } from "./paint-time.ts";
import { scrollTime } from "./scroll-time.ts";
import { visibleTime } from "./visible-time.ts";

/** The measurements of the console. Those in a browser need Chromium. */
export function consoleMeasurements(): readonly Measurement[] {
  return [
    consoleBytes("console.bytes"),
    visibleTime("console.visible.p95"),
    interactiveTime("console.interactive"),
    paintTime("console.paint.5000", 5000),
    scrollTime("console.scroll.100000", 100_000),
  ];
}

/** Returns those that can be measured on this machine, and says which cannot. */
export function measurableConsole(): readonly Measurement[] {
  const all = consoleMeasurements();
  if (chromiumPath !== null) return all;
  console.error("LEFT OUT: the console in a browser; install Chromium, or name one with WRIT_CHROMIUM");
  return all.filter(({ id }) => id === "console.bytes");
}

/** Ends the browser of the measurements. */
export const closeConsoleMeasurements = closeConsoleBrowser;
