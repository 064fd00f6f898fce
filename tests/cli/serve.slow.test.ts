import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { client } from "../../src/client/client.ts";
import { CliProject, libraryImport } from "./cli-project.ts";

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

  it("loses, repeats and leaves nothing when it is killed under load and clients repeat their requests", async () => {
    site.write("writ.config.mjs", countingConfig);
    const token = await keyOf("bot", "--kind", "service", "--scope", "submit", "--scope", "read");
    const kills = Number(process.env.WRIT_SERVER_KILLS ?? 4);
    let server = site.start("serve", "--port", "0");
    const [, first = ""] = await server.until(listening);
    const { port } = new URL(first);
    let stopped = false;
    const results = new Map<string, string>();
    const work = async (lane: number) => {
      for (let count = 0; !stopped || count === 0; count += 1) {
        const key = `order-${lane}-${count}`;
        const plan = { steps: [{ step_id: "pay", name: "payment.make", payload: { order: key } }] };
        for (;;) {
          try {
            const run = await client({ url: first, token }).submit(plan, { requestKey: key });
            results.set(key, (await run.finished()).status);
            break;
          } catch (error) {
            expect(error).toMatchObject({
              fault: { code: expect.stringMatching(/SERVER_UNREACHABLE|ENGINE_CLOSED|STORE_/) },
            });
            await new Promise((resolve) => setTimeout(resolve, 50));
          }
        }
      }
    };
    const lanes = Promise.all(Array.from({ length: 8 }, (_, lane) => work(lane)));
    for (let kill = 0; kill < kills; kill += 1) {
      const before = results.size;
      await expect.poll(() => results.size, { timeout: 60_000 }).toBeGreaterThan(before + 3);
      server.kill("SIGKILL");
      await server.ended;
      server = site.start("serve", "--port", port);
      await server.until(listening);
    }
    stopped = true;
    await lanes;
    server.kill("SIGTERM");
    await server.ended;
    const witness = join(site.folder, "payments.txt");
    const paid = existsSync(witness) ? readFileSync(witness, "utf8").trimEnd().split("\n") : [];
    const orders = paid.map((line) => line.split(" ")[0] as string);
    expect(orders.length).toBe(new Set(orders).size);
    expect([...results.values()].every((status) => status === "completed")).toBe(true);
    expect(new Set(orders)).toEqual(new Set(results.keys()));
  });
});

/** A tool that acts, and a verifier that finds the act. */
const countingConfig = `
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { defineTool } from ${libraryImport};

const file = new URL("payments.txt", import.meta.url);
const paid = () => (existsSync(file) ? readFileSync(file, "utf8").split("\\n") : []);
const object = (properties) => ({ type: "object", properties, required: Object.keys(properties) });

const pay = defineTool({
  name: "payment.make", effect: "acts",
  input: object({ order: { type: "string" } }), output: object({ paid: { type: "boolean" } }),
  run: async ({ order }, { key }) => {
    appendFileSync(file, order + " " + key + "\\n");
    return { paid: true };
  },
  verify: async ({ key }) =>
    paid().some((line) => line.endsWith(key)) ? { saw: "happened", output: { paid: true } } : { saw: "absent" },
});

export default { tools: [pay], tenants: { default: { mode: "auto_exec" } } };
`;
