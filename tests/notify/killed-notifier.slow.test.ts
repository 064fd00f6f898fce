import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CliProject } from "../cli/cli-project.ts";
import { builtModule } from "../repo/repository-path.ts";
import { startWebSink } from "./message-sinks.ts";

let site: CliProject;
beforeEach(() => {
  site = new CliProject();
});
afterEach(() => site.clear());

const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

/** Starts a server that tells the recipients of its config. */
function startServer() {
  const env = { PATH: process.env.PATH, NO_COLOR: "1", HOOK: secret };
  return site.startAs({ cwd: site.folder, env }, "serve", "--port", "0", "--config", "notifying.mjs");
}

const idsIn = (body: string) => (JSON.parse(body) as { items: readonly { id: string }[] }).items.map(({ id }) => id);

describe("a server that is killed while it tells people", () => {
  it("tells again under the same id, and tells nothing twice once its recipient has accepted it", async () => {
    let answers = false;
    const sink = await startWebSink(() => (answers ? 200 : new Promise<number>(() => {})));
    const config = JSON.stringify(join(site.folder, "writ.config.mjs"));
    const recipients = JSON.stringify([{ webhook: sink.url, secret: { env: "HOOK" } }]);
    site.write(
      "notifying.mjs",
      `import config from ${config};\nexport default { ...config, store: "writ.db", notify: { recipients: ${recipients} } };`,
    );
    // This process opens the gate, and leaves the notice to a process that runs for long.
    const held = await site.json("run", "plan.json", "--config", "notifying.mjs");
    expect(held.exit).toBe(3);
    expect(sink.posts).toEqual([]);

    const killed = startServer();
    await expect.poll(() => sink.posts.length, { timeout: 30_000 }).toBe(1);
    killed.kill("SIGKILL");
    await killed.ended;

    answers = true;
    const second = startServer();
    await expect.poll(() => sink.posts.length, { timeout: 30_000 }).toBe(2);
    const [first, again] = sink.posts.map(({ body }) => idsIn(body));
    expect(again).toEqual(first);
    const [, url = ""] = await second.until(/serving (http:\S+);/);
    expect(sink.posts[1]?.body).toContain(`${url}/gates/${held.answer.gates[0]?.gate_id}`);
    await expect
      .poll(async () => (await site.run("events", held.answer.run_id, "--json")).out, { timeout: 30_000 })
      .toContain("notice.delivered");
    second.kill("SIGKILL");
    await second.ended;

    // A third server tells of the next gate only.
    site.plan("next.json", "bea@example.org");
    const next = await site.json("run", "next.json", "--config", "notifying.mjs");
    const third = startServer();
    await expect.poll(() => sink.posts.length, { timeout: 30_000 }).toBe(3);
    expect(sink.posts[2]?.body).toContain(next.answer.run_id);
    expect(idsIn(sink.posts[2]?.body ?? "")).toHaveLength(1);
    third.kill("SIGTERM");
    expect((await third.ended).exit).toBe(0);
    await sink.close();
  });
});

describe("writ/notify", () => {
  it("is an entry point of the package", async () => {
    const entry = (await import(builtModule("notify.js"))) as Record<string, unknown>;
    expect(Object.keys(entry)).toEqual(["notifyPeople"]);
  });
});
