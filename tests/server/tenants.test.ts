import { afterEach, describe, expect, it } from "vitest";
import { makeRouteTable } from "../../src/server/make-route-table.ts";
import { routeUses } from "./route-uses.ts";
import { RouteWorld } from "./route-world.ts";

const table = makeRouteTable();
let world: RouteWorld | null = null;
afterEach(async () => {
  await world?.close();
  world = null;
});

/** The ids of runs, gates, outcomes and snapshots in a text. */
function idsIn(text: string): readonly string[] {
  return text.match(/\b(?:run|gate|out|snap)_[0-9a-z]{26}\w*/g) ?? [];
}

/** Requests with the key of an act, or the token of begun work or of a model call. */
const keyed = /^\/v1\/acts\/|"token":"|\/model\/\S/;

/** The hints of a list come after a look at it, and the other tenant delays that. So this stream is of a run. */
const uses: typeof routeUses = {
  ...routeUses,
  stream: async ({ agent, caller }) => {
    const run = await agent.submit({ steps: [{ step_id: "a", name: "note.write", payload: { word: "hello" } }] });
    const { body } = await caller.open("stream", { runs: run.run_id }, {});
    await body?.cancel();
  },
};

describe.each(table.map((route) => [`${route.method} ${route.path}`, route] as const))("%s", (_, route) => {
  it("gives another tenant nothing by the ids of this one, and this one is still served", async () => {
    world = await RouteWorld.open(table, true);
    await (uses[route.verb] as (world: RouteWorld) => Promise<unknown>)(world);
    expect(world.answers.map(({ verb }) => verb)).toContain(route.verb);
    expect(world.crossed.map(({ verb }) => verb)).toContain(route.verb);
    const own = new Set(world.answers.flatMap(({ body }) => idsIn(JSON.stringify(body) ?? "")));
    for (const { verb, request, status, answer } of world.crossed) {
      const sent = idsIn(request);
      const told = idsIn(answer).filter((id) => own.has(id) && !sent.includes(id));
      expect(told, `${verb} ${request}`).toEqual([]);
      expect(status, `${verb} ${request}: ${answer}`).toBeLessThan(500);
      // A snapshot that is sent with its contents is data like any other.
      const names = verb !== "checkpoints.load" && sent.some((id) => own.has(id));
      if (names || keyed.test(request)) expect(status, `${verb} ${request}: ${answer}`).toBeGreaterThanOrEqual(400);
    }
    expect(world.bugs).toEqual([]);
  });
});
