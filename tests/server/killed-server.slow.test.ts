import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { client } from "../../src/client/client.ts";
import { CliProject, libraryImport } from "../cli/cli-project.ts";

const kills = Number(process.env.WRIT_SERVER_KILLS ?? 4);
const clients = 8;
const listening = /serving (http:\S+);/;

/** Submits orders one after another until it is stopped, and repeats each with its key until the order has ended. */
class OrderingClient {
  readonly statuses = new Map<string, string>();
  #isStopped = false;
  readonly #caller: ReturnType<typeof client>;
  readonly #lane: number;

  constructor(url: string, token: string, lane: number) {
    this.#caller = client({ url, token });
    this.#lane = lane;
  }

  stop(): void {
    this.#isStopped = true;
  }

  async work(): Promise<void> {
    for (let count = 0; !this.#isStopped || count === 0; count += 1) {
      const order = `order-${this.#lane}-${count}`;
      while (!this.statuses.has(order)) await this.#ask(order);
    }
  }

  async #ask(order: string): Promise<void> {
    const plan = { steps: [{ step_id: "pay", name: "payment.make", payload: { order } }] };
    try {
      const run = await this.#caller.submit(plan, { requestKey: order });
      this.statuses.set(order, (await run.finished()).status);
    } catch (error) {
      const code = expect.stringMatching(/SERVER_UNREACHABLE|ENGINE_CLOSED|STORE_/);
      expect(error).toMatchObject({ fault: { code } });
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

it(
  "a server that is killed under load loses, repeats and leaves nothing",
  async () => {
    const site = new CliProject();
    site.write("writ.config.mjs", countingConfig);
    const { answer } = await site.json(
      "keys",
      "add",
      "bot",
      "--kind",
      "service",
      "--scope",
      "submit",
      "--scope",
      "read",
    );
    let server = site.start("serve", "--port", "0");
    const [, url = ""] = await server.until(listening);
    const { port } = new URL(url);
    const lanes = Array.from({ length: clients }, (_, lane) => new OrderingClient(url, String(answer.key), lane));
    const ended = () => lanes.reduce((sum, { statuses }) => sum + statuses.size, 0);
    const work = Promise.all(lanes.map((lane) => lane.work()));
    // A linear congruential generator, so that the moments of the kills spread over the life of a server.
    let seed = Number(process.env.WRIT_SERVER_KILLS_SEED ?? 19);
    for (let kill = 0; kill < kills; kill += 1) {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      const goal = ended() + (seed % 40);
      await expect.poll(ended, { timeout: 60_000, interval: 5 }).toBeGreaterThan(goal);
      server.kill("SIGKILL");
      await server.ended;
      server = site.start("serve", "--port", port);
      await server.until(listening);
    }
    for (const lane of lanes) lane.stop();
    await work;
    server.kill("SIGTERM");
    expect((await server.ended).exit).toBe(0);

    const witness = join(site.folder, "payments.txt");
    const lines = existsSync(witness) ? readFileSync(witness, "utf8").trimEnd().split("\n") : [];
    const paid = lines.map((line) => line.split(" ")[0] as string);
    const statuses = new Map(lanes.flatMap((lane) => [...lane.statuses]));
    expect(paid.length, "an order was paid twice").toBe(new Set(paid).size);
    expect(new Set(paid), "an order was lost").toEqual(new Set(statuses.keys()));
    expect(new Set(statuses.values())).toEqual(new Set(["completed"]));
    for (const status of ["running", "waiting"])
      expect((await site.json("runs", "--status", status)).answer.runs, "a run is stuck").toEqual([]);
    expect((await site.run("audit")).exit).toBe(0);
    await site.clear();
  },
  120_000 + kills * 20_000,
);

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
