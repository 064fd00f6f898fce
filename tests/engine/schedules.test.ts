import { describe, expect, it } from "vitest";
import type { ScheduleEvent } from "../../src/core/settings/schedule.ts";
import type { RunId, Tenant } from "../../src/core/values/ids.ts";
import type { Engine } from "../../src/engine/api/engine-api.ts";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import { rejectedFault, scriptedTool } from "./scripted-tool.ts";

const MINUTE = 60_000;
const plan = { steps: [{ step_id: "greet", name: "greet", payload: { to: "ana" } }] };
const hourly = { principal: anaPerson, runAs: botAgent, cron: "0 * * * *" };
const HOUR = 60 * MINUTE;

const greeter = () => scriptedTool("greet", ({ input }) => input, { effect: "acts" });

/** How far it is to the next full hour. */
const toTheHour = ({ clock }: EngineFixture): number => HOUR - (clock.now() % HOUR);

/** Shortly after the next full hour; what it is time for then takes a few turns. */
async function anHour(stage: EngineFixture): Promise<void> {
  stage.clock.advance(toTheHour(stage)); // In one step, so no timers fire in between.
  for (let second = 0; second < 5; second += 1) await stage.advance(1000);
}

const only = async (engine: Engine) => (await engine.schedules.list({ principal: anaPerson }))[0];

const runsOf = async (engine: Engine) => (await engine.runs({ principal: botAgent })).length;

/** Returns the firings in the journal of the only schedule. */
async function firedIn(stage: EngineFixture): Promise<readonly Extract<ScheduleEvent, { type: "schedule.fired" }>[]> {
  const tenant = botAgent.tenant as Tenant;
  const [journal] = await stage.store().runs(tenant, "sch_", 1);
  const events = await stage.store().events(tenant, journal as RunId, 0, 100);
  return events.filter(({ type }) => type === "schedule.fired").map(({ body }) => JSON.parse(body ?? ""));
}

describe.each(storeKinds)("schedule, on $name", ({ newFixture: newStage }) => {
  it("submits its plan as its principal at each time, and records the run", async () => {
    const greet = greeter();
    const stage = newStage();
    const engine = await stage.open({ tools: [greet.tool] });
    const set = await engine.schedules.set("hello", plan, hourly);
    expect(set).toMatchObject({ schedule: "hello", status: "on", zone: "UTC", catch_up: "latest", last: null });
    const due_at = stage.clock.now() + toTheHour(stage);
    expect(set.next_at).toBe(due_at);
    stage.clock.advance(toTheHour(stage) - 1500);
    await stage.advance(1000);
    expect(greet.calls).toHaveLength(0);
    await anHour(stage);
    expect(greet.calls).toHaveLength(1);
    const row = await only(engine);
    expect(row).toMatchObject({ next_at: due_at + HOUR, last: { due_at, fault: null } });
    const run = await engine.run(row?.last?.run_id ?? "", { principal: botAgent });
    expect((await run.now()).status).toBe("completed");
    await anHour(stage);
    expect(greet.calls).toHaveLength(2);
    expect((await engine.audit({ principal: anaPerson })).broken).toEqual([]);
  });

  it("submits its plan in its project and session", async () => {
    const stage = newStage();
    const greet = greeter();
    const engine = await stage.open({ tools: [greet.tool] });
    await engine.schedules.set("hello", plan, { ...hourly, project: "p", session: "s" });
    await anHour(stage);
    const run_id = (await only(engine))?.last?.run_id ?? "";
    for await (const { event } of (await engine.run(run_id, { principal: botAgent })).events()) {
      expect(event).toMatchObject({ type: "run.accepted", project: "p", session: "s" });
      break;
    }
  });

  it("submits once, though the worker is killed between the submit and its record", async () => {
    const greet = greeter();
    const stage = newStage();
    let dies = true;
    const first = await stage.open({
      tools: [greet.tool],
      failpoint: (point) => {
        if (point === "accept.after" && dies) throw new Error("killed");
      },
    });
    await first.schedules.set("hello", plan, hourly);
    stage.clock.advance(toTheHour(stage));
    await stage.advance(2000).catch(() => {});
    dies = false;
    await stage.crash();
    const next = await stage.open({ tools: [greet.tool] });
    await stage.advance(30_000);
    expect(await runsOf(next)).toBe(1);
    expect(greet.calls).toHaveLength(1);
    expect((await only(next))?.last).toMatchObject({ fault: null });
  });

  it.each([
    ["latest", 2],
    ["none", 1],
  ] as const)("records an unrecorded submit before it skips the time (%s)", async (catchUp, made) => {
    const greet = greeter();
    const stage = newStage();
    const first = await stage.open({
      tools: [greet.tool],
      failpoint: (point) => {
        if (point === "accept.after") throw new Error("killed");
      },
    });
    await first.schedules.set("hello", plan, { ...hourly, catchUp });
    stage.clock.advance(toTheHour(stage));
    const due_at = stage.clock.now();
    await stage.advance(2000).catch(() => {});
    await stage.crash();
    stage.clock.advance(2 * HOUR + HOUR / 2);
    const next = await stage.open({ tools: [greet.tool] });
    await stage.advance(2000);
    const fired = await firedIn(stage);
    expect(fired).toHaveLength(made);
    expect(fired[0]).toMatchObject({ firing: { due_at, missed_from: null } });
    expect(new Set(fired.map(({ run_id }) => run_id)).size).toBe(await runsOf(next));
  });

  it.each([
    ["all", 3, 3],
    ["latest", 1, 1],
    ["none", 0, 0],
  ] as const)("catches up %s of the missed times", async (catchUp, made, greeted) => {
    const greet = greeter();
    const stage = newStage();
    const engine = await stage.open({ tools: [greet.tool] });
    await engine.schedules.set("hello", plan, { ...hourly, catchUp });
    await stage.crash();
    stage.clock.advance(toTheHour(stage) + 2 * HOUR + 10 * MINUTE);
    const next = await stage.open({ tools: [greet.tool] });
    await stage.advance(5000);
    expect([await runsOf(next), greet.calls.length]).toEqual([made, greeted]);
    const row = await only(next);
    expect(row?.next_at).toBe(stage.clock.now() + toTheHour(stage));
    await anHour(stage);
    expect(greet.calls).toHaveLength(greeted + 1);
  });

  it("that is paused submits nothing, and continues with the next time", async () => {
    const greet = greeter();
    const stage = newStage();
    const engine = await stage.open({ tools: [greet.tool] });
    await engine.schedules.set("hello", plan, hourly);
    await engine.schedules.pause("hello", { principal: anaPerson });
    await engine.schedules.pause("hello", { principal: anaPerson });
    expect(await only(engine)).toMatchObject({ status: "paused", next_at: null });
    for (let hour = 0; hour < 3; hour += 1) await anHour(stage);
    await engine.schedules.resume("hello", { principal: anaPerson });
    expect(await only(engine)).toMatchObject({ status: "on", next_at: stage.clock.now() + toTheHour(stage) });
    await stage.advance(5000);
    expect(greet.calls).toHaveLength(0);
    await anHour(stage);
    expect(greet.calls).toHaveLength(1);
  });

  it("that is set again uses the new terms; that is removed is gone and can be set again", async () => {
    const greet = greeter();
    const stage = newStage();
    const engine = await stage.open({ tools: [greet.tool] });
    await engine.schedules.set("hello", plan, hourly);
    await engine.schedules.set("hello", plan, { ...hourly, cron: "0 0 1 1 *", zone: "Asia/Tokyo" });
    for (let hour = 0; hour < 2; hour += 1) await anHour(stage);
    expect(greet.calls).toHaveLength(0);
    await engine.schedules.remove("hello", { principal: anaPerson });
    expect(await only(engine)).toBeUndefined();
    expect(await rejectedFault(engine.schedules.pause("hello", { principal: anaPerson }))).toMatchObject({
      code: "SCHEDULE_NOT_FOUND",
    });
    await engine.schedules.set("hello", plan, hourly);
    await anHour(stage);
    expect(greet.calls).toHaveLength(1);
    expect((await engine.audit({ principal: anaPerson })).broken).toEqual([]);
  });

  it("that is set to the same terms keeps its due times and stays paused", async () => {
    const greet = greeter();
    const stage = newStage();
    const engine = await stage.open({ tools: [greet.tool] });
    await engine.schedules.set("hello", plan, { ...hourly, catchUp: "all" });
    await stage.crash();
    stage.clock.advance(toTheHour(stage) + HOUR);
    const clerk = await stage.open({ tools: [greet.tool], work: false });
    await clerk.schedules.set("hello", plan, { ...hourly, catchUp: "all" });
    await stage.crash();
    const next = await stage.open({ tools: [greet.tool] });
    await stage.advance(5000);
    expect(greet.calls).toHaveLength(2);
    await next.schedules.pause("hello", { principal: anaPerson });
    await next.schedules.set("hello", plan, { ...hourly, cron: "30 * * * *" });
    expect(await only(next)).toMatchObject({ status: "paused", next_at: null, cron: "30 * * * *" });
  });

  it("submits one run per time, though it is set again between the submit and its record", async () => {
    const greet = greeter();
    const stage = newStage();
    const first = await stage.open({
      tools: [greet.tool],
      failpoint: (point) => {
        if (point === "accept.after") throw new Error("killed");
      },
    });
    await first.schedules.set("hello", plan, hourly);
    stage.clock.advance(toTheHour(stage));
    await stage.advance(2000).catch(() => {});
    await stage.crash();
    const clerk = await stage.open({ tools: [greet.tool], work: false });
    const steps = [...plan.steps, { ...plan.steps[0], step_id: "again" }];
    await clerk.schedules.set("hello", { steps }, hourly);
    await stage.crash();
    const next = await stage.open({ tools: [greet.tool] });
    await stage.advance(5000);
    expect(await runsOf(next)).toBe(1);
    expect((await only(next))?.last).toMatchObject({ run_id: expect.any(String), fault: null });
  });

  it("with a plan that is no longer valid reports it and tries again next time", async () => {
    const greet = greeter();
    const stage = newStage();
    const engine = await stage.open({ tools: [greet.tool] });
    await engine.schedules.set("hello", plan, hourly);
    await stage.crash();
    const without = await stage.open({ tools: [] });
    await anHour(stage);
    expect((await only(without))?.last).toMatchObject({ run_id: null, fault: { code: "PLAN_INVALID" } });
    await stage.crash();
    await stage.open({ tools: [greet.tool] });
    await anHour(stage);
    expect(greet.calls).toHaveLength(1);
  });

  it("belongs to the workers of its queue, and so do its runs", async () => {
    const greet = greeter();
    const stage = newStage();
    const idle = await stage.open({ tools: [greet.tool], worker: { queues: ["default"] } });
    await idle.schedules.set("hello", plan, { ...hourly, queue: "mail", priority: 2 });
    await anHour(stage);
    expect(await only(idle)).toMatchObject({ queue: "mail", priority: 2, last: null });
    await stage.crash();
    const served = await stage.open({ tools: [greet.tool], worker: { queues: ["mail"] } });
    await stage.advance(5000);
    expect((await only(served))?.last).toMatchObject({ fault: null });
    expect(greet.calls).toHaveLength(1);
  });

  it("is visible to its tenant only", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [greeter().tool] });
    await engine.schedules.set("hello", plan, hourly);
    const stranger = { ...anaPerson, tenant: "globex" };
    expect(await engine.schedules.list({ principal: stranger })).toEqual([]);
    expect(await rejectedFault(engine.schedules.remove("hello", { principal: stranger }))).toMatchObject({
      code: "SCHEDULE_NOT_FOUND",
    });
  });
});

describe("invalid schedule", () => {
  it.each([
    ["hello", { cron: "61 * * * *" }, "INVALID_INPUT", "61 is no minute"],
    ["hello", { cron: "0 0 31 2 *" }, "INVALID_INPUT", "no time matches"],
    ["hello", { zone: "Mars/Olympus" }, "INVALID_INPUT", "no time zone Mars/Olympus"],
    ["hello", { catchUp: "some" }, "INVALID_INPUT", "all, latest or none"],
    ["hello", { requestKey: "x" }, "INVALID_INPUT", "no option requestKey"],
    ["hello", { mode: "dry_run" }, "INVALID_INPUT", "use simulate"],
    ["a\u0000b", {}, "INVALID_INPUT", "its name"],
    ["hello", { principal: { id: "", kind: "agent", tenant: "acme" } }, "AUTH_FORBIDDEN", "id must be"],
  ])("%j with %j is refused", async (name, wrong, code, message) => {
    const [memory] = storeKinds;
    const engine = await (memory as (typeof storeKinds)[number]).newFixture().open({ tools: [greeter().tool] });
    const setting = engine.schedules.set(name, plan, { ...hourly, ...wrong } as typeof hourly);
    expect(await rejectedFault(setting)).toMatchObject({ code, message: expect.stringContaining(message) });
    expect(await engine.schedules.list({ principal: anaPerson })).toEqual([]);
  });
});
