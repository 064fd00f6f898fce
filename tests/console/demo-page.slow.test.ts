import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { consoleBrowser } from "./console-browser.ts";
import { describeInBrowser } from "./describe-in-browser.ts";
import { StartedDemo } from "./started-demo.ts";

describeInBrowser("the page of the demo", () => {
  let demo: StartedDemo;
  let page: Page;
  const problems: string[] = [];

  beforeAll(async () => {
    demo = new StartedDemo();
    page = await (await consoleBrowser()).newPage({ viewport: { width: 1280, height: 900 } });
    page.setDefaultTimeout(60_000);
    page.on("pageerror", ({ message }) => problems.push(message));
    await page.goto(await demo.link());
  });
  afterAll(async () => {
    await page?.context().close();
    await demo?.clear();
  });

  const card = (title: string): Locator =>
    page.locator(".demo-card").filter({ has: page.getByRole("heading", { name: title }) });

  /** Approves the call that the card links to, as the person of this browser. */
  async function approveCallOf(title: string): Promise<void> {
    const link = card(title).getByRole("link", { name: "Look at the call" });
    const gate = (await link.getAttribute("href"))?.split("/").at(-1);
    await page.evaluate(async (gate_id) => {
      const { csrf } = (await (await fetch("/v1/csrf")).json()) as { csrf: string };
      const headers = { "x-writ-csrf": csrf, "content-type": "application/json" };
      await fetch(`/v1/gates/${gate_id}/approve`, { method: "POST", headers, body: "{}" });
    }, gate);
    await page.locator(`a[href="/gates/${gate}"]`).waitFor({ state: "detached" });
  }

  it("leads from the link to an approved act by its buttons alone", async () => {
    const title = "An agent asks for a refund";
    await card(title).getByRole("button", { name: "Start the agent" }).click();
    await card(title).getByRole("link", { name: "Look at the call" }).click();
    await page.getByRole("region", { name: "expected output" }).getByText("order 42").waitFor();
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("approved by you").waitFor();
    await page.getByRole("link", { name: "Back to the demo" }).click();
    await card(title).getByText("completed").waitFor();
    const refunds = page.locator(".demo-count", { hasText: "Refunds paid" });
    await refunds.getByText("1", { exact: true }).waitFor();
  });

  it("leads from the link to one mail, though the server is killed when the mail has arrived", async () => {
    const title = "A mail, and a kill in the middle";
    await card(title).getByRole("button", { name: "Start the run" }).click();
    await card(title).getByRole("link", { name: "Look at the call" }).click();
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByRole("link", { name: "Back to the demo" }).click();
    await card(title).getByText("Gmail.SendEmail").waitFor();
    await page.getByRole("checkbox", { name: /right after the next mail/ }).check();
    await approveCallOf(title);
    await card(title).getByText("completed").waitFor();
    await page.getByText("killed once").waitFor();
    await page.getByRole("link", { name: "Open the mailbox" }).click();
    await page.getByText("ada.1@example.org").waitFor();
    await page.reload();
    await page.getByText("ada.1@example.org").waitFor();
    expect(await page.locator("article").count()).toBe(1);
  });

  it("shows the changed files, and restores them", async () => {
    const title = "An agent edits files, and you restore them";
    await page.goto(new URL("/demo", page.url()).href);
    await card(title).getByRole("button", { name: "Start the agent" }).click();
    await approveCallOf(title);
    await approveCallOf(title);
    await card(title).getByText("completed").waitFor();
    expect(await card(title).getByText("| Gold | 79 |").count()).toBe(1);
    await card(title).getByRole("button", { name: "Restore the files" }).click();
    await card(title).getByText("Changed on disk").waitFor({ state: "detached" });
  });

  it("keeps its counts while the server is dead, and is as wide as the window on a phone", async () => {
    await page.getByRole("button", { name: "Kill the server now" }).click();
    await page.getByText("dead", { exact: true }).waitFor();
    expect(await page.getByText("0 done twice").count()).toBeGreaterThanOrEqual(3);
    await page.getByText("killed 2 times").waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
    expect(problems).toEqual([]);
  });
});
