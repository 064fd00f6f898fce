import { afterAll, beforeAll, expect, it } from "vitest";
import { ana, bea, type ConsoleUnderTest, serveConsole } from "./browser-fixture.ts";
import { describeInBrowser } from "./describe-in-browser.ts";
import { checkPage } from "./page-checks.ts";
import { policyOf, scenarioEngine, seedPolicies, seedRuns } from "./pages-scenario.ts";

const text = (document: object) => JSON.stringify(document, null, 2);

describeInBrowser("the policies in a browser", () => {
  let console: ConsoleUnderTest;
  beforeAll(async () => {
    console = await serveConsole(scenarioEngine());
  });
  afterAll(() => console?.close());

  it("teach what they are while there are none, and store the first one", async () => {
    const page = await console.open("/policies");
    await page.getByText("No policy is stored").waitFor();
    await page.getByRole("link", { name: "Write the first one" }).click();
    const field = page.getByRole("textbox", { name: "Policy" });
    await page.getByText("The policy is valid.").waitFor();
    await field.fill("{");
    await page.getByText(/Line 1, column/).waitFor();
    await field.fill(text({ ...policyOf([]), rules: [{ id: "x", kind: "approve" }] }));
    await page.locator(".field-problem li", { hasText: "/rules/0" }).first().waitFor();
    expect(await page.getByRole("button", { name: "Publish…" }).isDisabled()).toBe(true);
    await field.fill(text(policyOf([], "first")));
    await page.getByText("The policy is valid.").waitFor();
    await page.getByRole("button", { name: "Publish…" }).click();
    await page.getByLabel("Reason (optional)").fill("the first");
    await page.getByRole("button", { name: "Publish", exact: true }).click();
    await page.getByText("version 1,").waitFor();
    const stored = await console.engine.policies.get("first", { principal: ana });
    expect(stored).toMatchObject({ version: 1, by: "ana", reason: "the first" });
    await page.context().close();
  });

  it("refuse to overwrite a version that the person has not read, and keep the draft", async () => {
    const page = await console.open("/policies?name=first");
    const field = page.getByRole("textbox", { name: "Policy" });
    await page.getByText("version 1,").waitFor();
    const draft = text(policyOf([{ id: "no", kind: "deny", on: { tools: ["mail.*"] } }], "first"));
    await field.fill(draft);
    await page.getByText("The policy is valid.").waitFor();
    await console.engine.policies.set(policyOf([], "first"), { principal: bea });
    await page.getByRole("button", { name: "Publish…" }).click();
    await page.getByRole("button", { name: "Publish", exact: true }).click();
    await page.getByText("it was changed meanwhile").waitFor();
    expect(await field.inputValue()).toBe(draft);
    await page.context().close();
  });

  it("judge recorded calls and one of the person's own by a draft", async () => {
    await seedPolicies(console.engine);
    const { held } = await seedRuns(console.engine);
    const page = await console.open("/policies?name=house-rules");
    const deny = { id: "no", kind: "deny", on: { tools: ["mail.*"] }, reason: "closed today" };
    await page.getByRole("textbox", { name: "Policy" }).fill(text(policyOf([deny])));
    await page.getByRole("tab", { name: "Test bench" }).click();
    await page.getByLabel("A call of your own").selectOption("mail.send");
    await page.getByLabel("Input of the call").fill('{"to":"x@example.org","subject":"s"}');
    await page.getByRole("button", { name: "Judge" }).click();
    await page.getByText("The draft judges 3 of 11 calls differently.").waitFor();
    const row = page.locator("tbody tr", { has: page.locator(`a[href="/runs/${held}"]`) });
    await row.getByText("A person reads every mail").waitFor();
    await row.getByText("refuse").waitFor();
    await page.context().close();
  });

  it("have a history with who, why and the difference, at both widths and in both themes", () =>
    checkPage(console, "/policies?view=history", async (page) => {
      await page.getByText("U+202E").first().waitFor();
      await page.getByRole("button", { name: "Show the difference" }).nth(1).click();
      await page.locator(".diff-added").first().waitFor();
    }));

  it("are edited at both widths and in both themes", () =>
    checkPage(console, "/policies?name=house-rules", (page) => page.getByText("The policy is valid.").waitFor()));
});
