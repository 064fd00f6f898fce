import { describe, expect, it } from "vitest";
import { FaultError, fault } from "../../src/core/values/fault.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectJournal, rejectedFault, scriptedTool, throwsNotDone } from "./scripted-tool.ts";

const input = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
const counts = (effect: "pure" | "acts" = "pure") => scriptedTool("count", () => 1, { effect, input });
const invalid = { steps: [{ step_id: "a", name: "cuont" }] };
const valid = { steps: [{ step_id: "a", name: "count", payload: { n: 1 } }] };

describe.each(storeKinds)("refused call, on $name", ({ newFixture: newStage }) => {
  it("of an unknown tool, or with an invalid input, is a run on record with one rejected step", async () => {
    const stage = newStage();
    const count = counts();
    const first = await stage.open({ tools: [count.tool] });
    const unknown = await first.call("cuont", { n: 2 }, { principal: botAgent, project: "garden" });
    const misfit = await first.call("count", { n: "x" }, { principal: botAgent, correlationId: "c-7" });
    expect(unknown.step).toMatchObject({
      state: "rejected",
      fault: { code: "TOOL_UNKNOWN", message: expect.stringContaining("did you mean count?") },
    });
    expect(misfit.step).toMatchObject({ state: "rejected", fault: { code: "INVALID_INPUT" } });
    expect(misfit.result).toMatchObject({ status: "failed", rejected: true, final: true, next: null });
    await stage.crash();

    const engine = await stage.open({ tools: [count.tool] });
    const run = await engine.run(unknown.run_id, { principal: botAgent });
    expect(await run.now()).toMatchObject({ rejected: true, steps: { call: { fault: { code: "TOOL_UNKNOWN" } } } });
    expect(await run.transcript()).toMatchObject([
      { tool: "cuont", input: { n: 2 }, attempt: null, outcome: { kind: "refusal", fault: { code: "TOOL_UNKNOWN" } } },
    ]);
    const journal = await collectJournal(await engine.run(misfit.run_id, { principal: botAgent }));
    expect(journal.map(({ type }) => type)).toEqual(["run.accepted", "run.refused", "step.rejected", "run.ended"]);
    expect(journal[0]).toMatchObject({ correlation_id: "c-7", principal: { id: "bot" } });
    expect(count.calls).toHaveLength(0);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ runs: 2, broken: [] });
  });

  it("is recorded by digest and size if its input is large, and without them if it is not JSON", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [counts().tool] });
    const large = { n: "secret".repeat(10_000) };
    const cyclic: Record<string, unknown> = { n: 1 };
    cyclic.self = cyclic;
    const refused = [];
    for (const given of [large, [1], cyclic, { n: 1n }, { n: "x".repeat(9 * 1024 * 1024) }])
      refused.push(await engine.call("count", given as never, { principal: botAgent }));
    for (const { step } of refused) expect(step).toMatchObject({ state: "rejected", fault: { code: "INVALID_INPUT" } });
    const details = refused.map(({ result }) => result.refused?.detail);
    expect(details).toMatchObject([
      { input: { digest: expect.stringMatching(/^[0-9a-f]{64}$/), bytes: 60_008 } },
      { input: { bytes: 3 } },
      { input: null },
      { input: null },
      { input: null },
    ]);
    expect(JSON.stringify(await stage.dump()).length).toBeLessThan(100_000);
    const nameless = await engine.call("x\u0000y".repeat(10_000), {}, { principal: botAgent });
    expect(nameless.step).toMatchObject({ state: "rejected", fault: { code: "TOOL_UNKNOWN" } });
  });

  it("cannot be resumed, cancelled or forked", async () => {
    const engine = await newStage().open({ tools: [counts().tool] });
    const { run_id } = await engine.call("count", { n: "x" }, { principal: botAgent });
    expect(await rejectedFault(engine.resume(run_id, { principal: anaPerson }))).toMatchObject({
      code: "NOT_POSSIBLE",
      message: expect.stringContaining("the record of a refused request"),
    });
    const run = await engine.run(run_id, { principal: botAgent });
    expect((await rejectedFault(run.cancel())).code).toBe("NOT_POSSIBLE");
    const at = { runId: run_id, stepId: "call", side: "before" } as const;
    expect((await rejectedFault(engine.checkpoints.fork(at, { principal: anaPerson }))).code).toBe(
      "CHECKPOINT_NOT_FOUND",
    );
  });

  it("is not recorded for an unidentified caller, in mode dry_run, or by a simulation or a check", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [counts().tool] });
    const before = await stage.dump();
    const unnamed = { ...botAgent, id: "" };
    expect((await rejectedFault(engine.call("cuont", {}, { principal: unnamed }))).code).toBe("AUTH_FORBIDDEN");
    expect((await rejectedFault(engine.submit(invalid, { principal: unnamed }))).code).toBe("AUTH_FORBIDDEN");
    const dry = { principal: botAgent, mode: "dry_run" } as const;
    expect((await rejectedFault(engine.call("cuont", {}, dry))).code).toBe("TOOL_UNKNOWN");
    expect((await rejectedFault(engine.submit(invalid, dry))).code).toBe("PLAN_INVALID");
    expect((await rejectedFault(engine.simulate(invalid, { principal: botAgent }))).code).toBe("PLAN_INVALID");
    expect(engine.check(invalid).ok).toBe(false);
    expect(await stage.dump()).toEqual(before);
  });
});

describe.each(storeKinds)("refused plan, on $name", ({ newFixture: newStage }) => {
  it("is a run on record without the plan, which the fault names, and uses up no request key", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [counts().tool] });
    const options = { principal: botAgent, requestKey: "k", project: "garden" };
    const refused = await rejectedFault(engine.submit(invalid, options));
    const { run_id } = refused.detail as { run_id: string };
    expect(refused).toMatchObject({ code: "PLAN_INVALID", message: expect.stringContaining(run_id) });
    const again = await rejectedFault(engine.submit(invalid, options));
    expect(again.detail).not.toMatchObject({ run_id });
    const run = await engine.run(run_id, { principal: botAgent });
    expect(await run.result()).toMatchObject({
      status: "failed",
      rejected: true,
      refused: {
        code: "PLAN_INVALID",
        detail: { reasons: [{ path: "/steps/0/name" }], plan: { digest: expect.any(String), bytes: 42 } },
      },
      steps: {},
      next: null,
    });
    expect((await rejectedFault(engine.resume(run_id, { principal: anaPerson }))).code).toBe("NOT_POSSIBLE");
    const corrected = await engine.submit(valid, options);
    expect(corrected.attached).toBe(false);
    expect((await corrected.result()).status).toBe("completed");
    expect((await engine.submit(valid, options)).run_id).toBe(corrected.run_id);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });

  it("is refused with its reasons, and without a record, while the store fails", async () => {
    const stage = newStage();
    const failing = { ...stage.store(), append: () => Promise.reject(new FaultError(fault("STORE_FULL", "no room"))) };
    const engine = await stage.open({ tools: [counts().tool], store: failing });
    expect(await rejectedFault(engine.submit(invalid, { principal: botAgent }))).toMatchObject({
      code: "PLAN_INVALID",
      detail: expect.not.objectContaining({ run_id: expect.anything() }),
    });
  });
});

describe.each(storeKinds)("flood of refused requests, on $name", ({ newFixture: newStage }) => {
  it("is recorded up to a limit per principal and hour, and each request still gets its reasons", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [], limits: { refusalsPerHour: 2 } });
    const call = () => engine.call("nothing", {}, { principal: botAgent });
    for (const _ of [1, 2]) expect((await call()).step.fault?.code).toBe("TOOL_UNKNOWN");
    const before = await stage.dump();
    const refused = await rejectedFault(call());
    expect(refused).toMatchObject({
      code: "LIMIT_EXCEEDED",
      message: expect.stringContaining("there is no tool at all"),
      detail: { limit: "refusalsPerHour", refused: "TOOL_UNKNOWN" },
    });
    expect((await rejectedFault(engine.submit({}, { principal: botAgent }))).code).toBe("LIMIT_EXCEEDED");
    expect(await stage.dump()).toEqual(before);
    const other = await engine.call("nothing", {}, { principal: { ...botAgent, id: "rob" } });
    expect(other.step.fault?.code).toBe("TOOL_UNKNOWN");
    stage.clock.advance(3_600_000);
    expect((await call()).step.fault?.code).toBe("TOOL_UNKNOWN");
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], rows: [], tallies: [] });
  });
});

describe.each(storeKinds)("flood of refused decisions about a gate, on $name", ({ newFixture: newStage }) => {
  it("is recorded up to the limit, and leaves the gate to a person who may decide it", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [counts("acts").tool], tenants: {}, limits: { refusalsPerHour: 2 } });
    const run = await engine.submit(valid, { principal: botAgent });
    const [gate] = (await run.result()).gates;
    const gateId = gate?.gate_id ?? "";
    for (const decide of [engine.approve, engine.reject])
      expect((await rejectedFault(decide(gateId, { principal: botAgent }))).code).toBe("AUTH_FORBIDDEN");
    const before = await stage.dump();
    for (const decide of [engine.approve, engine.reject])
      expect(await rejectedFault(decide(gateId, { principal: botAgent }))).toMatchObject({
        code: "LIMIT_EXCEEDED",
        message: expect.stringContaining("only a person can"),
        detail: { limit: "refusalsPerHour", refused: "AUTH_FORBIDDEN" },
      });
    expect(await stage.dump()).toEqual(before);
    await engine.approve(gateId, { principal: anaPerson });
    expect((await run.result()).status).toBe("completed");
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], rows: [], tallies: [] });
  });
});

describe.each(storeKinds)("list of runs, on $name", ({ newFixture: newStage }) => {
  it("tells a rejected run from a failed one", async () => {
    const fails = scriptedTool("fail", throwsNotDone("TOOL_FAILED"), { effect: "reads" });
    const denied = scriptedTool("deny", () => 1, { effect: "pure", roles: ["chief"] });
    const engine = await newStage().open({ tools: [fails.tool, denied.tool] });
    const principal = botAgent;
    const failed = await engine.call("fail", {}, { principal });
    const unknown = await engine.call("nope", {}, { principal });
    const refused = await engine.call("deny", {}, { principal });
    expect([failed.result.status, unknown.result.status, refused.result.status]).toEqual(Array(3).fill("failed"));
    const both = {
      steps: [
        { step_id: "a", name: "fail", on_failure: "skip" },
        { step_id: "b", name: "deny" },
      ],
    };
    const mixed = await engine.submit(both, { principal });
    expect(await mixed.result()).not.toHaveProperty("rejected");
    const listed = async (status?: string) =>
      Object.fromEntries(
        (await engine.runs({ principal, ...(status !== undefined && { status }) })).map((row) => [
          row.run_id,
          row.status,
        ]),
      );
    const [rejectedRuns, failedRuns] = [
      { [refused.run_id]: "rejected", [unknown.run_id]: "rejected" },
      { [mixed.run_id]: "failed", [failed.run_id]: "failed" },
    ];
    expect(await listed()).toEqual({ ...rejectedRuns, ...failedRuns });
    expect(await listed("rejected")).toEqual(rejectedRuns);
    expect(await listed("failed")).toEqual(failedRuns);
  });
});
