import { afterAll, beforeAll, expect, it } from "vitest";
import { ana, bea, type ConsoleUnderTest, serveConsole } from "./browser-fixture.ts";
import { describeInBrowser } from "./describe-in-browser.ts";

describeInBrowser("the inbox in a browser", () => {
  let console: ConsoleUnderTest;
  beforeAll(async () => {
    console = await serveConsole();
  });
  afterAll(() => console?.close());

  const gateOf = (gate_id: string) => console.engine.gate(gate_id, { principal: ana });
  const statusOf = async (gate_id: string) => (await gateOf(gate_id)).status;

  it("teaches what will be here while it is empty", async () => {
    const page = await console.open();
    await page.getByText("Nothing waits for you").waitFor();
    expect(page.url()).not.toContain("link=");
    expect(await page.getByText("writ run plan.json").count()).toBe(1);
    await page.context().close();
  });

  it("shows a held call when it arrives, and approves exactly that call", async () => {
    const page = await console.open();
    const { gate_id, run_id } = await console.hold({ to: "kim@example.org" });
    await page.getByText("kim@example.org").first().waitFor();
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("approved by ana").waitFor();
    await (await console.engine.run(run_id, { principal: ana })).finished();
    const outcome = page.locator(".decision-part", { hasText: "Result of the call" });
    await outcome.getByText("succeeded").waitFor();
    await outcome.getByRole("link", { name: "Open the run" }).waitFor();
    expect(await statusOf(gate_id)).toBe("consumed");
    expect(console.sent).toContainEqual(expect.objectContaining({ to: "kim@example.org" }));
    await page.context().close();
  });

  it("counts what waits in the navigation of every page", async () => {
    const page = await console.open("/runs");
    const before = (await console.engine.gates({ principal: ana, status: "open", decidable: true })).length;
    const { gate_id } = await console.hold();
    const count = page.getByRole("navigation").getByRole("link", { name: /^Inbox/ });
    await expect.poll(() => count.textContent()).toBe(`Inbox${before + 1} waiting`);
    await console.engine.reject(gate_id, { principal: ana });
    await expect.poll(() => count.textContent()).toBe(before === 0 ? "Inbox" : `Inbox${before} waiting`);
    await page.context().close();
  });

  it("names the run of a call, and says that there is no such gate", async () => {
    const page = await console.open("/gates/gate_nothing");
    await page.getByRole("heading", { name: "Held call" }).waitFor();
    expect(await page.getByRole("alert").textContent()).toContain("GATE_NOT_FOUND");
    expect(await page.title()).toBe("Held call · Writ");
    await page.context().close();
  });

  it("rejects with a reason, by the keyboard alone", async () => {
    const { gate_id, run_id } = await console.hold();
    const page = await console.open(`/?item=${gate_id}`);
    await page.getByRole("button", { name: "Reject" }).waitFor();
    await page.keyboard.press("r");
    await page.keyboard.type("wrong person");
    await page.keyboard.press("Enter");
    await page.getByText("rejected by ana").waitFor();
    expect(await page.getByText("wrong person").count()).toBeGreaterThan(0);
    expect((await (await console.engine.run(run_id, { principal: ana })).result()).status).not.toBe("completed");
    await page.context().close();
  });

  it("approves an edited input, and says where it does not fit the schema", async () => {
    const { gate_id, run_id } = await console.hold({ to: "old@example.org" });
    const page = await console.open(`/gates/${gate_id}`);
    await page.getByRole("button", { name: "Edit" }).click();
    const field = page.getByLabel("The input that is approved instead");
    await field.fill('{ "to": 5, "subject": "s", "body": "b" }');
    await page.getByText("must be string, not integer").waitFor();
    expect(await page.getByRole("button", { name: "Approve the edited call" }).isDisabled()).toBe(true);
    await field.fill('{ "to": "new@example.org", "subject": "s", "body": "b" }');
    await page.getByRole("button", { name: "Approve the edited call" }).click();
    await page.getByText("edited and approved by ana").waitFor();
    await (await console.engine.run(run_id, { principal: ana })).finished();
    expect(console.sent).toContainEqual({ to: "new@example.org", subject: "s", body: "b" });
    await page.context().close();
  });

  it("settles an act in doubt with its evidence in view", async () => {
    const { run_id, step_id } = await console.doubt({ card: "1111" });
    const page = await console.open(`/?item=${encodeURIComponent(`${run_id}/${step_id}`)}`);
    await page.getByText("the outcome of attempt 1 is unknown").waitFor();
    await page.getByText("the tool has no compensation").waitFor();
    expect(await page.getByRole("button", { name: "Undo it" }).isDisabled()).toBe(true);
    await page.getByLabel("How you know, for the record").fill("it is in the bank statement");
    await page.getByLabel("If it happened: its output as JSON").fill('{"id":"ch_1"}');
    await page.getByRole("button", { name: "It happened" }).click();
    await page.getByText("This act is no longer in doubt").waitFor();
    const { steps } = await (await console.engine.run(run_id, { principal: ana })).result();
    expect(steps[step_id]).toMatchObject({ state: "succeeded", output: { id: "ch_1" } });
    await page.context().close();
  });

  it("decides chosen calls together", async () => {
    const held = [await console.hold({ body: "batch" }), await console.hold({ body: "batch" })];
    const page = await console.open();
    await page.getByLabel("Filter by tool, requester or text").fill("batch");
    for (const box of await page.getByRole("checkbox", { name: "Choose mail.send" }).all()) await box.check();
    await page.getByRole("toolbar").getByRole("button", { name: "Approve" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    for (const { gate_id } of held) expect(["approved", "consumed"]).toContain(await statusOf(gate_id));
    await page.context().close();
  });

  it("says who decided meanwhile, and keeps the reason that was being typed", async () => {
    const { gate_id } = await console.hold();
    const [mine, other] = [
      await console.open(`/gates/${gate_id}`),
      await console.open(`/gates/${gate_id}`, { person: bea }),
    ];
    await mine.getByLabel("Reason, for the record").fill("I was about to");
    await other.getByRole("button", { name: "Reject" }).click();
    await mine.getByText("Decided meanwhile: rejected by bea").waitFor();
    expect(await mine.getByRole("button", { name: "Approve" }).count()).toBe(0);
    await mine.context().close();
    await other.context().close();
  });

  it("takes one of two decisions that are sent at once, and shows both persons the same end", async () => {
    const { gate_id, run_id } = await console.hold({ to: "once@example.org" });
    const tabs = [
      await console.open(`/gates/${gate_id}`),
      await console.open(`/gates/${gate_id}`, { person: bea }),
      await console.open(`/?item=${gate_id}`),
    ];
    // No decision reaches the server before all are made, else the first one takes the button from the others.
    let send = () => {};
    const all = new Promise<void>((resolve) => {
      send = resolve;
    });
    let made = 0;
    for (const tab of tabs) {
      await tab.route("**/approve", async (route) => {
        made += 1;
        if (made === tabs.length) send();
        await all;
        await route.continue();
      });
      await tab.getByRole("button", { name: "Approve" }).waitFor();
    }
    for (const tab of tabs) await tab.getByRole("button", { name: "Approve" }).click();
    for (const tab of tabs)
      await tab
        .getByText(/approved by (?:ana|bea)/)
        .first()
        .waitFor();
    await (await console.engine.run(run_id, { principal: ana })).finished();
    expect(console.sent.filter((mail) => (mail as { to: string }).to === "once@example.org")).toHaveLength(1);
    for (const tab of tabs) await tab.context().close();
  });

  it("says that a call of megabytes is not shown whole, and shows the rest in parts", async () => {
    const { gate_id } = await console.hold({ to: "long@example.org", body: `begin ${"5".repeat(900_000)} end` });
    const page = await console.open(`/gates/${gate_id}`);
    await page.getByText("not all of it is shown").waitFor();
    const call = page.getByRole("region", { name: "input" });
    expect((await call.innerText()).length).toBeLessThan(10_000);
    while ((await call.getByRole("button", { name: "more characters" }).count()) > 0)
      await call.getByRole("button", { name: "more characters" }).click();
    expect(await call.innerText()).toContain('55 end"');
    await page.context().close();
  });

  it("shows hostile text as text, with hidden characters by their codes", async () => {
    const payload = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';
    const { gate_id } = await console.hold({ to: `a\u202egro.live@x`, subject: payload, body: "javascript:alert(1)" });
    const page = await console.open(`/?item=${gate_id}`);
    await page.getByText("characters that are hidden or change the order").waitFor();
    expect(await page.locator(".detail .hidden-character", { hasText: "U+202E" }).count()).toBeGreaterThan(0);
    expect(await page.evaluate("window.hacked")).toBeUndefined();
    expect(await page.locator(".detail img, .detail script").count()).toBe(0);
    await page.context().close();
  });

  it("moves, opens and decides by the keyboard alone", async () => {
    await console.hold({ body: "by keyboard" });
    await console.hold({ body: "by keyboard" });
    const page = await console.open();
    await page.locator(".inbox-selected").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("by keyboard");
    await page.keyboard.press("Tab");
    await page.keyboard.press("?");
    await page.getByRole("dialog").getByText("next entry").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    const selected = () => new URL(page.url()).searchParams.get("item") ?? "";
    await expect.poll(selected).toMatch(/^gate_/);
    const item = selected();
    await page.getByRole("button", { name: "Approve" }).waitFor();
    await page.keyboard.press("a");
    await expect.poll(() => page.evaluate("document.activeElement.textContent")).toBe("Approve");
    await page.keyboard.press("Enter");
    await page.getByText("approved by ana").waitFor();
    expect(["approved", "consumed"]).toContain(await statusOf(item));
    await page.context().close();
  });
});
