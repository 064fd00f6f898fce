import type { PlantedBug } from "./plant-bug.ts";

const simulation = "sessions";
const askModel = "core/decide/ask-model.js";
const evolveModel = "core/evolve/evolve-model.js";
const modelSteps = "core/run/model-steps.js";
const parentCall = "engine/session/parent-call.js";

/** Bugs of the answers of models, of branches of a conversation, and of sub-agents. */
export const modelBugs: readonly PlantedBug[] = [
  {
    name: "a recorded answer is not replayed",
    simulation,
    file: modelSteps,
    find: "return equal[nth - 1];",
    replace: "return undefined;",
  },
  {
    name: "every equal request gets the first answer",
    simulation,
    file: modelSteps,
    find: "return equal[nth - 1];",
    replace: "return equal[0];",
  },
  {
    name: "an answer of a finished turn is replayed",
    simulation,
    file: evolveModel,
    find: "{ turn: turn + 1, asked: NONE, history, answers, pending: NONE }",
    replace: "{ turn: turn + 1, asked: laneOf(run, name).asked, history, answers, pending: NONE }",
  },
  {
    name: "a branch is not recorded",
    simulation,
    file: askModel,
    find: "...branchEvents(run, lane, command), ",
    replace: "",
  },
  {
    name: "an act after a branch is not held",
    simulation,
    file: "policy/guards/fork-acts-guard.js",
    find: "forkReason(run, step) ?? branchReason(run, step)",
    replace: "forkReason(run, step)",
  },
  {
    name: "a branch forgets the acts that answered its calls",
    simulation,
    file: "core/run/branch-acts.js",
    find: "reused === null ? step : findStep(run, reused)",
    replace: "step",
  },
  {
    name: "a branch knows only the acts that have ended",
    simulation,
    file: "core/run/branch-acts.js",
    find: "return act !== null && !didNothing.includes(act.state);",
    replace: 'return act !== null && act.state === "committed";',
  },
  {
    name: "an act that answered a call holds further calls",
    simulation,
    file: evolveModel,
    find: "branchActs: conversation.branchActs.delete(reused.step)",
    replace: "branchActs: conversation.branchActs",
  },
  {
    name: "a stream that was cut counts as an answer",
    simulation,
    file: "core/model/read-model-answer.js",
    find: "const isCut = isStream && this.#isKnownStream && !this.#hasEnded;",
    replace: "const isCut = false;",
  },
  {
    name: "a lane asks two questions at once",
    simulation,
    file: askModel,
    find: "if (other !== undefined) {",
    replace: "if (false) {",
  },
  {
    name: "a full run is closed in the middle of a turn",
    simulation,
    file: "core/decide/open-run.js",
    find: "return moving + retrying + waiting > 0 || hasUnfinishedTurn(run);",
    replace: "return moving + retrying + waiting > 0;",
  },
  {
    name: "a sub-agent has no deadline of its parent",
    simulation,
    file: parentCall,
    find: "deadline_at: earlier.length === 0 ? null : Math.min(...earlier),",
    replace: "deadline_at: own.deadline_at,",
  },
  {
    name: "a sub-agent does not pay from the budget of its root session",
    simulation,
    file: parentCall,
    find: "return root === null ? {} : { root };",
    replace: "return {};",
  },
];
