import { FaultError } from "../src/core/values/fault.ts";
import { defineReplanner } from "../src/schema/define-replanner.ts";
import { defineTool } from "../src/schema/define-tool.ts";
import { cheapSchema, mailTool, type Scenario, type ScenarioWorld, verifyMail } from "./scenario.ts";
import { bookingTool, verifyBooking } from "./scenario-tools.ts";

const mail = { step_id: "send", name: "mail.send", payload: { to: "ana@example.org" } } as const;

/** Its plan fails after a mail. The next plan sends the same mail, which must not be sent again, and books a room. */
export const replannedScenario: Scenario = {
  about: "an act before a failure, and the plan of a replanner that repeats it",
  tools: (world) => [
    mailTool(world, { verify: verifyMail(world), timeoutMs: 150, settleAfter: 30 }),
    bookingTool(world, { verify: verifyBooking(world), timeoutMs: 150, settleAfter: 30 }),
    defineTool({
      name: "room.find",
      effect: "reads",
      input: cheapSchema<object>(),
      output: cheapSchema<object>(),
      run: async () => {
        throw new FaultError({ code: "POLICY_DENIED", message: "no room is free" });
      },
    }),
    roomPlanner(world),
  ],
  steps: [mail, { step_id: "find", name: "room.find", depends_on: ["send"] }],
  replanner: "room.planner",
  acts: { send: { did: "send", to: "ana@example.org" }, book: { did: "book", to: "room 7" } },
  calls: [{ did: "plan", to: "room 7" }],
  endStatuses: ["completed"],
  settlesAllDoubts: true,
};

function roomPlanner({ worldLog, at, named }: ScenarioWorld) {
  return defineReplanner({
    name: "room.planner",
    replan: async () => {
      at("tool.called");
      await worldLog.appendAsync({ did: "plan", to: "room 7" });
      at("tool.sent");
      const again = { ...mail, name: named(mail.name) };
      return {
        steps: [again, { step_id: "book", name: named("room.book"), payload: { to: "room 7" }, depends_on: ["send"] }],
      };
    },
  });
}
