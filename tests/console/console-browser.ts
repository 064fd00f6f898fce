import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

/** The Chromium at hand, or null. `WRIT_CHROMIUM` names another. */
export const chromiumPath: string | null =
  [
    process.env.WRIT_CHROMIUM ?? "",
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  ].find((path) => path !== "" && existsSync(path)) ?? null;

let browser: Promise<Browser> | null = null;

/** Returns the browser of this process. All files of tests use it; it ends with the process. */
export function consoleBrowser(): Promise<Browser> {
  const args = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"];
  browser ??= chromium.launch({ executablePath: chromiumPath ?? "", args });
  return browser;
}

/** Ends the browser of this process. */
export async function closeConsoleBrowser(): Promise<void> {
  await (await browser)?.close();
  browser = null;
}
