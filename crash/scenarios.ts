import { hostedScenario, sessionScenario } from "./agent-scenarios.ts";
import { branchedScenario, delegatedScenario } from "./conversation-scenarios.ts";
import { heldBackup, heldFork, heldRestore, heldRetention, heldUndo } from "./held-scenarios.ts";
import { modelScenario, streamScenario } from "./model-scenarios.ts";
import { nonActScenario } from "./non-act-scenario.ts";
import {
  assertNotSentToAna,
  cancelAsPerson,
  releaseParkedRun,
  resumeAfterLoss,
  resumeAfterRepair,
  retryAfterRepair,
  setScheduleAsPerson,
  signalAsPerson,
  undoAsPerson,
  verifyAsPerson,
  waitForSchedule,
} from "./person-actions.ts";
import { recordScenarios } from "./record-scenarios.ts";
import { replannedScenario } from "./replanned-scenario.ts";
import { rollbackScenario } from "./rollback-scenario.ts";
import { cheapSchema, type MailOutput, mailTool, resolveByLooking, type Scenario, verifyMail } from "./scenario.ts";
import {
  askTool,
  bookingTool,
  errandTool,
  failAfterSendTool,
  failUntilRepairedTool,
  largeInputTool,
  notDoneOnceTool,
  noticeTool,
  pingTool,
  verifyBooking,
} from "./scenario-tools.ts";
import { deliveredScenario, forgottenScenario, segmentedScenario } from "./segmented-scenario.ts";
import {
  countTool,
  fileCountTool,
  filedSlice,
  fileTrees,
  readCountTool,
  restoreSecondStep,
  tallySlice,
  waitForMatchingState,
} from "./state-and-file-tools.ts";
import { uncapturedScenario } from "./uncaptured-scenario.ts";
import { watchedScenario } from "./watched-scenario.ts";

const toAna = { did: "send", to: "ana@example.org" } as const;
const sendToAna = { step_id: "send", name: "mail.send", payload: { to: toAna.to } } as const;
const roomSeven = { step_id: "book", name: "room.book", payload: { to: "room 7" } } as const;
const booked = { did: "book", to: "room 7" } as const;
const cancelled = { did: "cancel", to: "room 7" } as const;

const pause = { step_id: "pause", kind: "wait", payload: { ms: 1 } } as const;

const opaque: Scenario = {
  about: "an act without a verifier",
  tools: (world) => [mailTool(world)],
  steps: [sendToAna],
  acts: { send: toAna },
  endStatuses: ["completed", "partial"],
  settlesAllDoubts: false,
};

const undone = {
  about: "an act with a verifier that a person undoes",
  tools: (world) => [bookingTool(world, { verify: verifyBooking(world), timeoutMs: 150, settleAfter: 30 })],
  steps: [roomSeven],
  acts: { book: booked, "undo.book.1": cancelled },
  endStatuses: ["failed", "partial"],
  settlesAllDoubts: true,
  person: (recovered) => undoAsPerson(recovered, ["succeeded"]),
} as const satisfies Scenario;

export const scenarios = {
  pure: nonActScenario("pure", "dependent steps of a pure tool"),
  reads: nonActScenario("reads", "dependent steps of a tool that reads"),
  writes: nonActScenario("writes", "dependent steps of a tool that writes"),
  opaque,
  verifiable: {
    ...opaque,
    about: "an act with a verifier",
    tools: (world) => [mailTool(world, { verify: verifyMail(world), timeoutMs: 150, settleAfter: 30 })],
    endStatuses: ["completed"],
    settlesAllDoubts: true,
  },
  idempotent: {
    ...opaque,
    about: "an act of an idempotent tool",
    tools: (world) => [mailTool(world, { idempotent: { forMs: 600_000 } })],
    acts: { send: { ...toAna, deduped: true } },
    endStatuses: ["completed"],
    settlesAllDoubts: true,
  },
  gated: { ...opaque, about: "an act that a person approves", mode: "human_gated" },
  keyless: { ...opaque, about: "an act without a request key", keyless: true },
  keylessWrites: { ...nonActScenario("writes", "steps that write, without a request key"), keyless: true },
  edited: {
    ...opaque,
    about: "an act that a person approves with another input",
    mode: "human_gated",
    acts: { send: { did: "send", to: "eva@example.org" } },
    edit: { to: "eva@example.org" },
    person: assertNotSentToAna,
  },
  refused: {
    ...opaque,
    about: "an act that a person rejects",
    mode: "human_gated",
    endStatuses: ["failed"],
    decide: () => "reject",
  },
  expired: {
    ...opaque,
    about: "an act whose gate expires",
    mode: "human_gated",
    gateMs: 40,
    endStatuses: ["failed"],
    decide: () => "leave",
  },
  cancelled: {
    ...opaque,
    about: "an act after a wait, in a run that a person cancels",
    steps: [
      { step_id: "pause", kind: "wait", payload: { ms: 3_600_000 } },
      { ...sendToAna, depends_on: ["pause"] },
    ],
    endStatuses: ["cancelled"],
    person: cancelAsPerson,
  },
  hesitant: {
    ...opaque,
    about: "an act that reports not done at its first attempt",
    tools: (world) => [mailTool(world, { run: notDoneOnceTool(world) })],
  },
  mumbling: {
    ...opaque,
    about: "an act that happens, but whose output is invalid",
    tools: (world) => [mailTool(world, { output: cheapSchema<MailOutput>((value) => "receipt" in value) })],
    endStatuses: ["failed", "partial"],
  },
  asked: {
    ...opaque,
    about: "an act that fails after its effect, and that a person resolves",
    tools: (world) => [mailTool(world, { run: failAfterSendTool(world) })],
    endStatuses: ["completed"],
    settlesAllDoubts: true,
    person: (recovered) => resolveByLooking(recovered, { send: toAna }),
  },
  undone,
  retracted: {
    about: "an act that a person may undo while it is in doubt",
    tools: (world) => [bookingTool(world, { safeIfAbsent: true })],
    steps: [roomSeven],
    acts: { book: booked, "undo.book.1": cancelled },
    endStatuses: ["failed", "partial"],
    settlesAllDoubts: false,
    person: async (recovered) =>
      (await resolveByLooking(recovered, { "undo.book.1": cancelled })) ||
      undoAsPerson(recovered, ["succeeded", "in_doubt"]),
  },
  waiting: {
    ...opaque,
    about: "an act after a wait",
    steps: [
      { step_id: "pause", kind: "wait", payload: { ms: 30 } },
      { ...sendToAna, depends_on: ["pause"] },
    ],
  },
  signalled: {
    ...opaque,
    about: "an act after a wait for a signal",
    steps: [
      { step_id: "paid", kind: "wait", payload: { signal: "paid" } },
      { ...sendToAna, depends_on: ["paid"] },
    ],
    person: async (recovered) => recovered.result.steps.paid?.state === "waiting" && signalAsPerson(recovered, "paid"),
  },
  foreseen: {
    ...opaque,
    about: "an act after a wait for a signal that was sent before",
    steps: [
      { step_id: "paid", kind: "wait", payload: { signal: "paid in advance" } },
      { ...sendToAna, depends_on: ["paid"] },
    ],
    before: async (opening) => void (await signalAsPerson(opening, "paid in advance")),
  },
  errand: {
    ...opaque,
    about: "an act that is an errand of another step",
    tools: (world) => [mailTool(world), errandTool(world)],
    steps: [{ step_id: "plan", name: "mail.plan", payload: { to: toAna.to } }],
    acts: { "plan.1": toAna },
  },
  notice: {
    ...opaque,
    about: "an act that sends a notice",
    tools: (world) => [mailTool(world, { run: noticeTool(world) })],
  },
  handed: {
    ...opaque,
    about: "an act whose tool only the second of two processes has, while the first holds the run for its notice",
    tools: (world) => [pingTool(world), mailTool(world)],
    steps: [
      { step_id: "ping", name: "mail.ping", payload: {} },
      { ...sendToAna, depends_on: ["ping"] },
    ],
    isHandedOver: true,
  },
  parallel: {
    ...opaque,
    about: "parallel acts and reads",
    tools: (world) => [mailTool(world), askTool(world, "model.ask", "reads")],
    steps: [
      ...[1, 2, 3].map((n) => ({ step_id: `send${n}`, name: "mail.send", payload: { to: `friend ${n}` } })),
      ...[1, 2].map((n) => ({ step_id: `ask${n}`, name: "model.ask", payload: { to: `model ${n}` } })),
    ],
    acts: Object.fromEntries([1, 2, 3].map((n) => [`send${n}`, { did: "send", to: `friend ${n}` }])),
    calls: [1, 2].map((n) => ({ did: "model.ask", to: `model ${n}` })),
  },
  counting: {
    about: "steps that increment a count in shared state, each once",
    tools: (world) => [countTool(world)],
    slices: [tallySlice],
    steps: [
      { step_id: "one", name: "count", payload: {} },
      { step_id: "two", name: "count", payload: {}, depends_on: ["one"] },
      { step_id: "look", kind: "state_read", payload: { path: "/tally/n" }, depends_on: ["two"] },
      { step_id: "is", kind: "assertion", payload: { step: "look", path: "", operator: "eq", value: 2 } },
    ],
    acts: {},
    endStatuses: ["completed"],
    settlesAllDoubts: true,
  },
  filing: {
    about: "steps that increment a count in two trees and in state, until a person restores a checkpoint",
    tools: (world) => [fileCountTool(world), readCountTool()],
    slices: [filedSlice],
    resources: fileTrees,
    project: "filing",
    steps: [
      { step_id: "one", name: "file", payload: {} },
      { step_id: "two", name: "file", payload: { failsFirst: true }, depends_on: ["one"] },
      { step_id: "is", kind: "assertion", payload: { step: "two", path: "", operator: "eq", value: 2 } },
    ],
    acts: {},
    endStatuses: ["completed"],
    settlesAllDoubts: true,
    before: waitForMatchingState,
    person: restoreSecondStep,
  },
  ...recordScenarios,
  uncaptured: uncapturedScenario,
  watched: watchedScenario,
  metered: {
    ...nonActScenario("reads", "steps of a tool that reads, under a budget on calls"),
    // A killed attempt keeps its reservation, so the limit allows for many kills.
    budgets: ({ named }) => [{ unit: "calls", limit: 60, per: "run", tool: named("page.ask") }],
  },
  paid: {
    ...opaque,
    about: "an act that reserves its whole budget",
    tools: (world) => [mailTool(world, { cost: { credits: 5 } })],
    budgets: ({ named }) => [{ unit: "credits", limit: 5, per: "tenant-month", tool: named("mail.send") }],
  },
  twice: {
    ...opaque,
    about: "two steps with the same act",
    tools: (world) => [mailTool(world, { identity: ["to"] })],
    steps: [sendToAna, { ...sendToAna, step_id: "again" }],
    acts: { send: toAna, again: toAna },
  },
  large: {
    ...opaque,
    about: "an act whose input is stored as a blob",
    tools: (world) => [mailTool(world), largeInputTool()],
    steps: [
      { step_id: "write", name: "mail.write", payload: {} },
      { ...sendToAna, bindings: { "/body": { step: "write", path: "/text" } } },
    ],
  },
  child: {
    ...opaque,
    about: "an act in a child run",
    tools: (world) => [mailTool(world, { verify: verifyMail(world), timeoutMs: 150, settleAfter: 30 })],
    steps: [
      { step_id: "ask", kind: "run", payload: { plan: { steps: [{ ...sendToAna, name: "child.mail.send" }] } } },
      { step_id: "more", kind: "run", payload: { plan: { steps: [pause] } }, depends_on: ["ask"] },
    ],
    acts: {},
    indirectEffects: [toAna],
    endStatuses: ["completed"],
    settlesAllDoubts: true,
  },
  scheduled: {
    ...opaque,
    about: "an act in a scheduled run",
    tools: (world) => [mailTool(world, { verify: verifyMail(world), timeoutMs: 150, settleAfter: 30 })],
    steps: [pause],
    acts: {},
    indirectEffects: [toAna],
    endStatuses: ["completed"],
    settlesAllDoubts: true,
    before: setScheduleAsPerson,
    person: waitForSchedule,
  },
  poisonous: {
    ...opaque,
    about: "a step that kills its workers until its run is parked and a person resumes it",
    tools: (world) => [askTool(world, "page.ask", "reads")],
    steps: [{ step_id: "ask", name: "page.ask", payload: { to: "the page" } }],
    acts: {},
    calls: [{ did: "page.ask", to: "the page" }],
    endStatuses: ["completed"],
    settlesAllDoubts: true,
    takeovers: 3,
    person: releaseParkedRun,
  },
  confirmed: {
    ...opaque,
    about: "an act that is confirmed when its run is resumed, before the next act relies on it",
    tools: (world) => [
      mailTool(world, { verify: verifyMail(world), confirm: "strict", timeoutMs: 150, settleAfter: 30 }),
      failUntilRepairedTool(world),
    ],
    steps: [
      sendToAna,
      { step_id: "check", name: "mail.check", payload: {}, depends_on: ["send"] },
      { step_id: "copy", name: "mail.send", payload: { to: "bob@example.org" }, depends_on: ["check"] },
    ],
    acts: { send: toAna, copy: { did: "send", to: "bob@example.org" } },
    endStatuses: ["completed"],
    settlesAllDoubts: true,
    person: resumeAfterRepair,
  },
  vanished: {
    ...opaque,
    about: "an act that is gone when its run is resumed, so that no later act happens",
    tools: (world) => [
      mailTool(world),
      bookingTool(world, { verify: verifyBooking(world), confirm: "strict", timeoutMs: 150, settleAfter: 30 }),
      failUntilRepairedTool(world),
    ],
    steps: [
      roomSeven,
      { step_id: "check", name: "mail.check", payload: {}, depends_on: ["book"] },
      { ...sendToAna, depends_on: ["check"] },
    ],
    acts: { book: booked, send: toAna },
    endStatuses: ["partial"],
    person: resumeAfterLoss,
  },
  verified: {
    ...opaque,
    about: "an act with a verifier that a person has verified after the run",
    tools: (world) => [mailTool(world, { verify: verifyMail(world), timeoutMs: 150, settleAfter: 30 })],
    endStatuses: ["completed"],
    settlesAllDoubts: true,
    person: verifyAsPerson,
  },
  retried: {
    ...opaque,
    about: "an act after a step that fails until its request is submitted again",
    tools: (world) => [mailTool(world), failUntilRepairedTool(world)],
    steps: [
      { step_id: "check", name: "mail.check", payload: {} },
      { ...sendToAna, depends_on: ["check"] },
    ],
    person: retryAfterRepair,
  },
  resumed: {
    ...opaque,
    about: "an act after a step that fails until a person removes the cause",
    tools: (world) => [mailTool(world), failUntilRepairedTool(world)],
    steps: [
      { step_id: "check", name: "mail.check", payload: {} },
      { ...sendToAna, depends_on: ["check"] },
    ],
    person: resumeAfterRepair,
  },
  held: heldRetention,
  session: sessionScenario,
  hosted: hostedScenario,
  heldBackup,
  heldFork,
  heldRestore,
  heldUndo: heldUndo(undone),
  replanned: replannedScenario,
  rollback: rollbackScenario,
  model: modelScenario,
  stream: streamScenario,
  branched: branchedScenario,
  delegated: delegatedScenario,
  segmented: segmentedScenario,
  delivered: deliveredScenario,
  forgotten: forgottenScenario,
} as const satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof scenarios;
