import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { client } from "../../src/client/client.ts";
import { CliProject } from "./cli-project.ts";

let site: CliProject;
beforeEach(() => {
  site = new CliProject();
});
afterEach(() => site.clear());

const listening = /serving (http:\S+);/;

async function keyOf(id: string, ...given: readonly string[]): Promise<string> {
  const { answer } = await site.json("keys", "add", id, ...given);
  return String(answer.key);
}

describe("writ serve", () => {
  it("serves the API with the keys of its file, executes runs, and exits on a signal", async () => {
    const agent = await keyOf("bot", "--scope", "submit", "--scope", "read");
    const person = await keyOf("bea", "--kind", "person", "--scope", "read", "--scope", "decide");
    const server = site.start("serve", "--port", "0");
    const [, url = ""] = await server.until(listening);
    const run = await client({ url, token: agent }).submit(
      JSON.parse(readFileSync(join(site.folder, "plan.json"), "utf8")),
    );
    const { gates } = await run.result();
    await client({ url, token: person }).approve(gates[0]?.gate_id as string, {});
    expect((await run.finished()).status).toBe("completed");
    expect(site.effects()).toEqual(["mail to ana@example.org"]);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    expect(await (await fetch(`${url}/metrics`)).text()).toContain('writ_events_total{type="run.ended"} 1\n');

    const { answer } = await site.json("keys", "list");
    await site.run("keys", "revoke", String((answer.keys as readonly { readonly key_id: string }[])[0]?.key_id));
    await expect(client({ url, token: agent }).whoami()).rejects.toMatchObject({ fault: { code: "AUTH_REQUIRED" } });
    server.kill("SIGTERM");
    expect((await server.ended).exit).toBe(0);
  });

  it("is a window without a config: it shows and decides, and the process of the agent executes", async () => {
    const person = await keyOf(
      "bea",
      "--kind",
      "person",
      "--scope",
      "read",
      "--scope",
      "decide",
      "--keys",
      "window.json",
    );
    const agent = site.start("run", "plan.json", "--wait");
    const [, gate = ""] = await agent.until(/(gate_\w+)/);
    // The agent has loaded its config. The window finds none.
    rmSync(join(site.folder, "writ.config.mjs"));
    const window = site.start("serve", "--port", "0", "--keys", "window.json");
    await window.until(/executes nothing/);
    const [, url = ""] = await window.until(listening);
    await client({ url, token: person }).approve(gate, {});
    expect((await agent.ended).exit).toBe(0);
    expect(site.effects()).toEqual(["mail to ana@example.org"]);
    window.kill("SIGTERM");
    await window.ended;
  });
});
