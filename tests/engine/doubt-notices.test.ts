import { describe, expect, it } from "vitest";
import type { Notice } from "../../src/core/event/event.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, neverAnswers, scriptedTool, throwsFault } from "./scripted-tool.ts";

const one = { steps: [{ step_id: "a", name: "send" }] };

describe.each(storeKinds)("notice of an act in doubt, on $name", ({ newFixture: newStage }) => {
  it("is sent once per doubt, with the step, the attempt and the commands that settle it", async () => {
    const stage = newStage();
    const send = scriptedTool("send", [throwsFault("TOOL_FAILED"), throwsFault("TOOL_FAILED"), () => ({ id: 1 })]);
    const told: Notice[] = [];
    const engine = await stage.open({ tools: [send.tool], onNotice: async (notice) => void told.push(notice) });
    const run = await engine.submit(one, { principal: botAgent });
    expect((await run.result()).steps.a?.state).toBe("in_doubt");
    await stage.advance(0);
    const { run_id } = run;
    expect(told).toMatchObject([
      {
        run_id,
        topic: "step.doubted",
        notice_id: `ntc_${run_id.slice(4)}_!doubt_a_1`,
        payload: {
          run_id,
          step_id: "a",
          tool: "send",
          attempt: 1,
          fault: { code: "OUTCOME_UNKNOWN" },
          settles_itself: false,
          commands: [
            `writ show ${run_id}`,
            `writ resolve ${run_id} a --happened --output '{}' --attempt 1`,
            `writ resolve ${run_id} a --absent --attempt 1`,
            `writ resolve ${run_id} a --undo --attempt 1`,
            `writ resolve ${run_id} a --give-up --attempt 1`,
          ],
        },
      },
    ]);
    await engine.resolve(run_id, "a", { principal: anaPerson, as: "absent" });
    await run.result();
    await stage.advance(0);
    expect(told.map(({ notice_id }) => notice_id.split("_!")[1])).toEqual(["doubt_a_1", "doubt_a_2"]);
    await engine.resolve(run_id, "a", { principal: anaPerson, as: "absent" });
    expect((await run.result()).status).toBe("completed");
    expect(await collectEvents(run, "notice.delivered")).toHaveLength(2);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });

  it("is sent for an act whose worker died, under the same id until it is accepted", async () => {
    const stage = newStage();
    const stuck = scriptedTool("send", neverAnswers);
    const first = await stage.open({ tools: [stuck.tool] });
    const { run_id } = await first.submit(one, { principal: botAgent });
    await stage.advance(0);
    expect(stuck.calls).toHaveLength(1);
    await stage.crash();

    const offered: string[] = [];
    const deaf = await stage.open({
      tools: [stuck.tool],
      onNotice: async ({ notice_id }) => {
        offered.push(notice_id);
        throw new Error("the pager is down");
      },
    });
    const run = await deaf.run(run_id, { principal: botAgent });
    expect((await run.result()).steps.a?.state).toBe("in_doubt");
    await stage.advance(0);
    await stage.crash();

    const told: Notice[] = [];
    const engine = await stage.open({ tools: [stuck.tool], onNotice: async (notice) => void told.push(notice) });
    await stage.advance(60_000);
    expect(told).toMatchObject([{ topic: "step.doubted", payload: { step_id: "a", attempt: 1 } }]);
    expect(new Set([...offered, ...told.map(({ notice_id }) => notice_id)]).size).toBe(1);
    const doubts = await collectEvents(await engine.run(run_id, { principal: botAgent }), "step.doubted");
    expect(doubts.filter(({ notices }) => notices !== undefined)).toHaveLength(1);
  });

  it("says that the engine checks by itself if the tool has a verifier, and is sent even so", async () => {
    const stage = newStage();
    const send = scriptedTool("send", throwsFault("TOOL_FAILED"), {
      verify: async () => ({ saw: "happened", output: { id: 1 } }),
    });
    const told: Notice[] = [];
    const engine = await stage.open({ tools: [send.tool], onNotice: async (notice) => void told.push(notice) });
    const run = await engine.submit(one, { principal: botAgent });
    expect((await stage.runUntilIdle(run)).status).toBe("completed");
    await stage.advance(0);
    expect(told).toMatchObject([{ topic: "step.doubted", payload: { settles_itself: true } }]);
  });
});
