import assert from "node:assert/strict";
import type { AdapterScenario } from "./adapter-scenario.ts";
import { anaPerson, botAgent, type ContractEnvironment } from "./contract-environment.ts";

const send = (to: string) => ({ tool: "send", input: { to } });
const heldOne = () => [{ calls: [send("ana")] }, { text: "waits" }, { text: "still waits" }];
const heldTwo = () => [{ calls: [send("ana"), send("bo")] }, { text: "waits" }];
const principal = anaPerson;

/** Asks the question. The acts of the answer are held, and nothing was done. */
async function askHeld(stage: ContractEnvironment): Promise<void> {
  await stage.ask();
  assert.deepEqual(stage.sent, []);
  for (const id of ["call_1_1", "call_1_2"]) {
    const told = stage.told(id);
    if (told !== null) assert.match(told, /a person has to approve this call|approval/i);
  }
}

/** Held calls, and the ways in which approvals go wrong. */
export const approvalScenarios: readonly AdapterScenario[] = [
  {
    title: "a held call runs once when the person approves it, and the framework meets its result",
    gated: true,
    script: heldOne,
    play: async (stage) => {
      await askHeld(stage);
      await stage.engine.approve((await stage.gate("ana")).gate_id, { principal });
      await stage.respond([{ id: "call_1_1", approved: true }]);
      await stage.settle();
      assert.deepEqual(stage.sent, [{ to: "ana" }]);
    },
  },
  {
    title: "a held call that the person rejects is never made",
    gated: true,
    script: heldOne,
    play: async (stage) => {
      await askHeld(stage);
      await stage.engine.reject((await stage.gate("ana")).gate_id, { principal, reason: "no" });
      await stage.respond([{ id: "call_1_1", approved: false }]);
      await stage.settle();
      assert.deepEqual(stage.sent, []);
    },
  },
  {
    title: "a held call that the person edits is made as edited",
    gated: true,
    script: heldOne,
    play: async (stage) => {
      await askHeld(stage);
      await stage.engine.approve((await stage.gate("ana")).gate_id, { principal, input: { to: "ann" } });
      await stage.respond([{ id: "call_1_1", approved: true }]);
      await stage.settle();
      assert.deepEqual(stage.sent, [{ to: "ann" }]);
    },
  },
  {
    title: "two held calls are decided in the reverse order, each by itself",
    gated: true,
    script: heldTwo,
    play: async (stage) => {
      await askHeld(stage);
      const [first, second] = [await stage.gate("ana"), await stage.gate("bo")];
      await stage.engine.approve(second.gate_id, { principal });
      await stage.settle();
      assert.deepEqual(stage.sent, [{ to: "bo" }]);
      await stage.engine.reject(first.gate_id, { principal, reason: "no" });
      await stage.respond([
        { id: "call_1_1", approved: false },
        { id: "call_1_2", approved: true },
      ]);
      assert.deepEqual(stage.sent, [{ to: "bo" }]);
    },
  },
  {
    title: "of three calls, the read is made while the two acts are held",
    gated: true,
    script: () => [{ calls: [{ tool: "search", input: { q: "ana" } }, send("ana"), send("bo")] }, { text: "waits" }],
    play: async (stage) => {
      await stage.ask();
      const records = await stage.record();
      assert.deepEqual(
        records.map(({ events }) => events.at(-1)?.type),
        ["step.succeeded", "gate.opened", "gate.opened"],
      );
      assert.deepEqual(stage.sent, []);
    },
  },
  {
    title: "an approval that only the client reports makes nothing",
    gated: true,
    script: heldOne,
    play: async (stage) => {
      await askHeld(stage);
      await stage.respond([{ id: "call_1_1", approved: true }]);
      await stage.settle();
      assert.deepEqual(stage.sent, []);
      await stage.gate("ana");
    },
  },
  {
    title: "an approval by the agent itself is refused",
    gated: true,
    script: heldOne,
    play: async (stage) => {
      await askHeld(stage);
      const { gate_id } = await stage.gate("ana");
      assert.notEqual(await stage.codeOf(stage.engine.approve(gate_id, { principal: botAgent })), "no fault");
      await stage.settle();
      assert.deepEqual(stage.sent, []);
    },
  },
  {
    title: "an approval of a call that the person did not see is refused",
    gated: true,
    script: heldTwo,
    play: async (stage) => {
      await askHeld(stage);
      const [first, second] = [await stage.gate("ana"), await stage.gate("bo")];
      const stale = stage.engine.approve(first.gate_id, { principal, digest: second.digest });
      assert.equal(await stage.codeOf(stale), "GATE_MISMATCH");
      await stage.settle();
      assert.deepEqual(stage.sent, []);
    },
  },
  {
    title: "a stale approval of a rejected call reaches no other call",
    gated: true,
    script: heldTwo,
    play: async (stage) => {
      await askHeld(stage);
      const { gate_id } = await stage.gate("ana");
      await stage.engine.reject(gate_id, { principal, reason: "no" });
      assert.notEqual(await stage.codeOf(stage.engine.approve(gate_id, { principal })), "no fault");
      // A framework may demand that all responses come together.
      await stage.respond([{ id: "call_1_1", approved: true }]).catch(() => {});
      await stage.settle();
      assert.deepEqual(stage.sent, []);
      await stage.gate("bo");
    },
  },
  {
    title: "an approval that is given twice, and reported twice, makes the call once",
    gated: true,
    script: heldOne,
    play: async (stage) => {
      await askHeld(stage);
      const { gate_id } = await stage.gate("ana");
      await stage.engine.approve(gate_id, { principal });
      await stage.codeOf(stage.engine.approve(gate_id, { principal }));
      await stage.respond([{ id: "call_1_1", approved: true }]);
      await stage.respond([{ id: "call_1_1", approved: true }]);
      await stage.settle();
      assert.deepEqual(stage.sent, [{ to: "ana" }]);
    },
  },
  {
    title: "a policy refuses a call without asking a person",
    engine: {
      policies: [
        {
          schema_version: "1.0",
          name: "no-mail",
          rules: [{ id: "never", kind: "deny", on: { effects: ["acts"] }, reason: "mail is off" }],
        },
      ],
    },
    script: () => [{ calls: [send("ana")] }, { text: "sorry" }],
    play: async (stage) => {
      assert.equal(await stage.ask(), "sorry");
      assert.deepEqual(stage.sent, []);
      assert.match(stage.told("call_1_1") ?? "", /Refused: .*Nothing was done/);
    },
  },
];
