import { afterAll, beforeAll, expect, it } from "vitest";
import { httpLimits } from "../../src/server/http-limits.ts";
import { ana, type ConsoleUnderTest, serveConsole } from "./browser-fixture.ts";
import { describeInBrowser } from "./describe-in-browser.ts";

describeInBrowser("a page of the console", () => {
  let console: ConsoleUnderTest;
  beforeAll(async () => {
    console = await serveConsole();
  });
  afterAll(() => console?.close());

  it("survives a restart of the server, and shows what happened meanwhile", async () => {
    const page = await console.open();
    await page.getByText("live", { exact: true }).waitFor();
    await console.stop();
    await page.getByText("Reconnecting …").waitFor();
    await console.start();
    await console.hold({ to: "after@example.org" });
    await page.getByText("live", { exact: true }).waitFor();
    await page.getByText("after@example.org").first().waitFor();
    expect(await page.getByText("Reconnecting …").count()).toBe(0);
    await page.context().close();
  });

  it("asks for a new login when the session has ended, and keeps the typed reason", async () => {
    const { gate_id } = await console.hold();
    const page = await console.open(`/gates/${gate_id}`);
    const reason = page.getByLabel("Reason, for the record");
    await reason.fill("a long thought");
    console.time += httpLimits.browserSessionMs;
    await page.getByRole("button", { name: "Reject" }).click();
    await page.getByText("Your session has ended").waitFor();
    expect((await console.engine.gate(gate_id, { principal: ana })).status).toBe("open");
    await page.getByLabel("Link").fill(console.link());
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByText("Your session has ended").waitFor({ state: "detached" });
    expect(await reason.inputValue()).toBe("a long thought");
    await page.getByRole("button", { name: "Reject" }).click();
    await page.getByText("rejected by ana").waitFor();
    await page.context().close();
  });

  it("shows a login page without a session, and says that a used link is of no use", async () => {
    const link = console.link("/runs");
    const page = await console.open("/");
    await page.goto(link);
    await page.context().clearCookies();
    await page.goto("about:blank");
    await page.goto(link);
    await page.getByRole("heading", { name: "Log in to Writ" }).waitFor();
    await page.getByText("the link is unknown, was used, or has expired").waitFor();
    await page.context().close();
  });

  it("opens a page that was asked for while the server was down, when the server is back", async () => {
    const page = await console.open();
    await console.stop();
    await page.getByText("Reconnecting …").waitFor();
    await page.getByRole("navigation").getByRole("link", { name: "Audit" }).click();
    await page.waitForURL("**/audit");
    await console.start();
    await page.getByRole("heading", { name: "Audit" }).waitFor();
    await page.context().close();
  });

  it("says that an address has no page", async () => {
    const page = await console.open("/nowhere");
    await page.getByText("The console has no page at /nowhere").waitFor();
    await page.context().close();
  });

  it("tells the reader to load it again when the server has another build", async () => {
    const page = await console.open();
    await page.evaluate(`document.querySelector('meta[name="writ-build"]').content = "older"`);
    await console.hold();
    await page.getByText("The server has another version of this console.").waitFor();
    await page.context().close();
  });
});
