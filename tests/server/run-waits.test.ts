import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { RunHandle } from "../../src/engine/api/engine-api.ts";
import { RunWaits } from "../../src/server/run-waits.ts";
import { planOf, type ServedEngine, serveEngine } from "./server-fixture.ts";

const ana = { id: "ana", kind: "person", tenant: "acme" } as const;
const going = new AbortController().signal;

let served: ServedEngine;
let handle: RunHandle;
let waits: RunWaits;
beforeEach(async () => {
  served = await serveEngine();
  const run = await served.client({ id: "bot", kind: "agent" }).submit(planOf("ana@example.org"));
  await run.result();
  handle = await served.engine.run(run.run_id, { principal: ana });
  waits = new RunWaits();
});
afterEach(() => served.close());

describe("waits for a run that a person holds", () => {
  it("end with their last request, so that nothing waits on for weeks", async () => {
    expect(await waits.wait(ana, handle, "finished", 0, going)).toBeNull();
    expect(waits.size).toBe(0);
  });

  it("share one wait, and all of them receive the result", async () => {
    let asked = 0;
    const counted: RunHandle = {
      ...handle,
      finished: (options) => {
        asked += 1;
        return handle.finished(options);
      },
    };
    const asking = [1, 2, 3].map(() => waits.wait(ana, counted, "finished", 20_000, going));
    const gone = new AbortController();
    const left = waits.wait(ana, counted, "finished", 20_000, gone.signal);
    gone.abort();
    expect(await left).toBeNull();
    const [gate] = await served.client().gates();
    await served.client().approve(gate?.gate_id as string, {});
    expect((await Promise.all(asking)).map((result) => result?.status)).toEqual(Array(3).fill("completed"));
    expect([asked, waits.size]).toEqual([1, 0]);
  });

  it("are not shared with a principal of another kind or with other roles", async () => {
    const asking = [ana, { ...ana, kind: "service" as const }, { ...ana, roles: ["chief"] }].map((principal) =>
      waits.wait(principal, handle, "finished", 20_000, going),
    );
    expect(waits.size).toBe(3);
    await served.engine.run(handle.run_id, { principal: ana }).then((run) => run.cancel());
    await Promise.all(asking);
  });
});
