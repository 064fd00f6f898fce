import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { repositoryPath } from "../repo/repository-path.ts";
import { takesAllCases } from "../select-cases.ts";
import type { ConsoleUnderTest } from "./browser-fixture.ts";

const axeSource = readFileSync(repositoryPath("node_modules", "axe-core", "axe.min.js"), "utf8");

const allScreens = [
  { width: 1280, colorScheme: "light" },
  { width: 390, colorScheme: "dark" },
  { width: 1280, colorScheme: "dark" },
  { width: 390, colorScheme: "light" },
] as const;

/** The screens of a check: each width and each theme once, or in the long proofs each pair of them. */
const screens = takesAllCases ? allScreens : allScreens.slice(0, 2);

/** The narrow one of them, or all four. */
export const narrowScreens = takesAllCases ? allScreens : allScreens.slice(1, 2);

/** Returns the findings of axe that keep people from using the page, each with its elements. */
async function seriousFindings(page: Page): Promise<readonly string[]> {
  await page.evaluate(axeSource);
  const { violations } = (await page.evaluate("axe.run()")) as AxeResults;
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
}

/**
 * Checks a page as it is, on each screen: no script of others has run, it is no wider than its window, and axe finds
 * nothing serious.
 */
export async function checkScreens(page: Page, on: typeof screens = screens): Promise<void> {
  for (const { width, colorScheme } of on) {
    await page.setViewportSize({ width, height: 844 });
    await page.emulateMedia({ colorScheme });
    const where = `${page.url()}, ${width} pixels wide, ${colorScheme}`;
    expect(await page.title(), where).toMatch(/Writ$/);
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), where).toBeLessThanOrEqual(0);
    expect(await page.locator("main img:not([src^='data:']), main script").count(), where).toBe(0);
    expect(await page.locator("main b", { hasText: /^name$/ }).count(), where).toBe(0);
    expect(await seriousFindings(page), where).toEqual([]);
    if (takesAllCases) await keepScreenshot(page, `${width}-${colorScheme}`);
  }
}

/** Keeps what the page looks like in the folder `screenshots`, for people who look at every page. */
async function keepScreenshot(page: Page, screen: string): Promise<void> {
  const { pathname, search } = new URL(page.url());
  const place = `${pathname}${search}`.replaceAll(/(?:gate|run)_\w+/g, "id").replaceAll(/[^\w.-]+/g, "-");
  const path = join(repositoryPath("screenshots"), `${place.replaceAll(/^-|-$/g, "") || "inbox"}-${screen}.png`);
  await page.screenshot({ path });
}

/** Opens a page and checks it on each screen. `ready` waits until it shows what it should. */
export async function checkPage(
  served: ConsoleUnderTest,
  path: string,
  ready: (page: Page) => Promise<unknown>,
): Promise<void> {
  const page = await served.open(path);
  await ready(page);
  await checkScreens(page);
  await page.context().close();
}
