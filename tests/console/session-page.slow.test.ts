import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ana, type ConsoleUnderTest, serveConsole } from "./browser-fixture.ts";
import { describeInBrowser } from "./describe-in-browser.ts";
import { hostileText, type RunScenarios, runScenarios, scenarioEngine } from "./run-scenarios-fixture.ts";

describeInBrowser("the page of a session in a browser", () => {
  let console: ConsoleUnderTest;
  let runs: RunScenarios;
  beforeAll(async () => {
    console = await serveConsole(scenarioEngine());
    runs = runScenarios(console.engine);
  });
  afterAll(() => console?.close());

  async function withPage(path: string, use: (page: Page) => Promise<void>, options = {}): Promise<void> {
    const page = await console.open(path, options);
    await use(page);
    await page.context().close();
  }

  it("shows messages, answers and calls in order", async () => {
    const session = await runs.session("in order");
    await withPage(`/sessions/${session.run_id}`, async (page) => {
      await page.getByRole("heading", { name: "Ticket 42: refund" }).waitFor();
      await page.getByText("Now I write to her.").waitFor();
      const text = await page.getByRole("list", { name: "Conversation" }).innerText();
      const order = ["A customer named Ana", "I look her up first.", "crm.find", "Now I write to her.", "mail.send"];
      expect(order.map((each) => text.indexOf(each))).toEqual(
        order.map((each) => text.indexOf(each)).toSorted((a, b) => a - b),
      );
      expect(text.match(/I look her up first\./g)).toHaveLength(1);
    });
    await session.close();
  });

  it("approves a held call where it is, and shows its answer", async () => {
    const session = await runs.session("approved");
    await withPage(`/sessions/${session.run_id}`, async (page) => {
      await page.getByLabel("Reason, for the record").fill("the refund is due");
      await page.getByRole("button", { name: "Approve" }).click();
      await page.getByRole("button", { name: "Approve" }).waitFor({ state: "detached" });
      await page.getByText("succeeded").nth(1).waitFor();
      const gates = await console.engine.gates({ principal: ana, runId: session.run_id, status: "consumed" });
      expect(gates).toHaveLength(1);
    });
    await session.close();
  });

  it("rejects a held call, and the agent's next message appears by itself", async () => {
    const session = await runs.session("rejected");
    await withPage(`/sessions/${session.run_id}`, async (page) => {
      await page.getByRole("button", { name: "Reject" }).click();
      await page.getByText("refused", { exact: true }).waitFor();
      await session.callTool({ id: "call_3", tool: "echo", input: { said: hostileText } });
      await page.getByText("U+202E").first().waitFor();
      expect(await page.title()).not.toBe("owned");
      expect(await page.locator("main img, main script").count()).toBe(0);
    });
    await session.close();
  });

  it("fits a phone, and leads to the steps of its run", async () => {
    const session = await runs.session("on a phone");
    const options = { viewport: { width: 390, height: 844 } };
    await withPage(
      `/sessions/${session.run_id}`,
      async (page) => {
        await page.getByText("Now I write to her.").waitFor();
        expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
        await page.getByRole("link", { name: "Steps and times" }).click();
        await page.getByRole("link", { name: /crm\.find/ }).waitFor();
      },
      options,
    );
    await session.close();
  });

  it("says that a session is empty", async () => {
    const session = await console.engine.openRun({ session: "empty", principal: { ...ana, id: "bot", kind: "agent" } });
    await withPage(`/sessions/${session.run_id}`, async (page) => {
      await page.getByText("The agent has not said or called anything yet").waitFor();
    });
    await session.close();
  });
});
