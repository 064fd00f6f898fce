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
    file: "policy/guards/repeated-act-guard.js",
    find: "forkReason(run, step) ?? (isKnownOther ? null : branchReason(run, step))",
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
    file: "core/decide/decide-open-run.js",
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
  {
    name: "the acts of a sub-agent that a branch leaves hold nothing",
    simulation,
    file: "core/run/branch-acts.js",
    find: "if (mayHaveActed(step) && !isUndoStep(step))",
    replace: "if (false)",
  },
  {
    name: "the acts below a sub-agent that a branch leaves hold nothing",
    simulation,
    file: "engine/messages/child-runs.js",
    find: "for (const below of subAgentsOf(left))",
    replace: "for (const below of [])",
  },
  {
    name: "a sub-agent does not know what the branches above it have left",
    simulation,
    file: parentCall,
    find: "return inheritedActs(after);",
    replace: "return [];",
    also: {
      file: "engine/messages/tell-left-acts.js",
      find: "const acts = inheritedActs(above);",
      replace: "const acts = [];",
    },
  },
  {
    name: "an act of a sub-agent that answered a call holds nothing after the next branch",
    simulation,
    file: evolveModel,
    find: "if (act.answers !== null && calls.has(act.answers))",
    replace: "if (false)",
    also: {
      file: "core/run/branch-acts.js",
      find: "if (answers !== null || act.branch",
      replace: "if (act.branch",
    },
  },
  {
    name: "an act of an old branch answers every call that an approver names it for",
    simulation,
    file: "core/decide/answer-by-named-act.js",
    find: "if (isFree)",
    replace: "if (true)",
  },
  {
    name: "a sub-agent that a branch has left goes on",
    simulation,
    file: "core/decide/ask-model.js",
    find: "const notices = [...leftAgentNotices(run, left), ...leftActsNotices(run, left)];",
    replace: "const notices = [...leftActsNotices(run, left)];",
    also: {
      file: "engine/messages/child-runs.js",
      find: "await cancelChild(ports, leasedRuns, run, { parent: parentOf(ports, run, step_id), id: child });\n    const acts = [];",
      replace: "const acts = [];",
    },
  },
];
