import { FaultError, notDone } from "../src/core/fault.ts";
import type { ToolContext } from "../src/core/tool.ts";
import { defineTool } from "../src/schema/define-tool.ts";
import { cabinets, clerk, counter, filed, filer, goesBack, looksUp, tally } from "./desk-tools.ts";
import { awaitsSchedule, cancels, letsGoOn, mends, setsSchedule, signals, undoes } from "./persons.ts";
import { inbox, looks, type Mail, mailer, type Scenario, type Sent, send, shape, type World } from "./scenario.ts";

const toAna = { did: "send", to: "ana@example.org" } as const;
const sendToAna = { step_id: "send", name: "mail.send", payload: { to: toAna.to } } as const;
const roomSeven = { step_id: "book", name: "room.book", payload: { to: "room 7" } } as const;
const booked = { did: "book", to: "room 7" } as const;
const cancelled = { did: "cancel", to: "room 7" } as const;

const pause = { step_id: "pause", kind: "wait", payload: { ms: 1 } } as const;

const opaque: Scenario = {
  about: "an act that nobody can look for",
  tools: (world) => [mailer(world)],
  steps: [sendToAna],
  acts: { send: toAna },
  ends: ["completed", "partial"],
  settles: false,
};

/** Two steps of one effect: they change nothing outside, and what was answered once is not asked again. */
function quiet(effect: "pure" | "reads" | "writes", about: string): Scenario {
  return {
    about,
    tools: (world) => [asker(world, "page.ask", effect)],
    steps: [
      { step_id: "ask", name: "page.ask", payload: { to: "the page" } },
      {
        step_id: "more",
        name: "page.ask",
        payload: { to: "more" },
        bindings: { "/body": { step: "ask", path: "/sent" } },
        outcome: { type: "page.answer", status: "draft" },
      },
    ],
    acts: {},
    asks: ["the page", "more"].map((to) => ({ did: "page.ask", to })),
    ends: ["completed"],
    settles: true,
  };
}

export const scenarios = {
  pure: quiet("pure", "steps that only compute, one on top of the other"),
  reads: quiet("reads", "steps that ask, one on top of the other"),
  writes: quiet("writes", "steps that make something of our own, one on top of the other"),
  opaque,
  verifiable: {
    ...opaque,
    about: "an act that can be looked for",
    tools: (world) => [mailer(world, { verify: inbox(world), timeoutMs: 150, settleAfter: 30 })],
    ends: ["completed"],
    settles: true,
  },
  idempotent: {
    ...opaque,
    about: "an act whose world promises to recognise the key",
    tools: (world) => [mailer(world, { idempotent: { forMs: 600_000 } })],
    acts: { send: { ...toAna, deduped: true } },
    ends: ["completed"],
    settles: true,
  },
  gated: { ...opaque, about: "an act that a person lets go", mode: "human_gated" },
  refused: {
    ...opaque,
    about: "an act that a person refuses",
    mode: "human_gated",
    ends: ["failed"],
    decide: () => "reject",
  },
  expired: {
    ...opaque,
    about: "an act that nobody lets go in time",
    mode: "human_gated",
    gateMs: 40,
    ends: ["failed"],
    decide: () => "leave",
  },
  cancelled: {
    ...opaque,
    about: "an act behind a timer, in a run that a person cancels",
    steps: [
      { step_id: "pause", kind: "wait", payload: { ms: 3_600_000 } },
      { ...sendToAna, depends_on: ["pause"] },
    ],
    ends: ["cancelled"],
    person: cancels,
  },
  hesitant: {
    ...opaque,
    about: "an act that says the first time that nothing happened",
    tools: (world) => [mailer(world, { run: hesitant(world) })],
  },
  mumbling: {
    ...opaque,
    about: "an act whose answer does not fit: it happened, and nobody may build on it",
    tools: (world) => [mailer(world, { output: shape<Sent>((value) => "receipt" in value) })],
    ends: ["failed", "partial"],
  },
  asked: {
    ...opaque,
    about: "an act that fails after it happened, and a person who looks",
    tools: (world) => [mailer(world, { run: failing(world) })],
    ends: ["completed"],
    settles: true,
    person: (rest) => looks(rest, { send: toAna }),
  },
  undone: {
    about: "an act that a person undoes, and that can be looked for",
    tools: (world) => [desk(world, { verify: bookings(world), timeoutMs: 150, settleAfter: 30 })],
    steps: [roomSeven],
    acts: { book: booked, "undo.book.1": cancelled },
    ends: ["failed", "partial"],
    settles: true,
    person: (rest) => undoes(rest, ["succeeded"]),
  },
  retracted: {
    about: "an act that a person undoes even in doubt, since that does no harm",
    tools: (world) => [desk(world, { safeIfAbsent: true })],
    steps: [roomSeven],
    acts: { book: booked, "undo.book.1": cancelled },
    ends: ["failed", "partial"],
    settles: false,
    person: async (rest) =>
      (await looks(rest, { "undo.book.1": cancelled })) || undoes(rest, ["succeeded", "in_doubt"]),
  },
  waiting: {
    ...opaque,
    about: "an act behind a timer",
    steps: [
      { step_id: "pause", kind: "wait", payload: { ms: 30 } },
      { ...sendToAna, depends_on: ["pause"] },
    ],
  },
  signalled: {
    ...opaque,
    about: "an act behind a wait for a signal",
    steps: [
      { step_id: "paid", kind: "wait", payload: { signal: "paid" } },
      { ...sendToAna, depends_on: ["paid"] },
    ],
    person: async (rest) => rest.result.steps.paid?.state === "waiting" && signals(rest, "paid"),
  },
  foreseen: {
    ...opaque,
    about: "an act behind a wait for a signal that comes before anyone waits for it",
    steps: [
      { step_id: "paid", kind: "wait", payload: { signal: "paid in advance" } },
      { ...sendToAna, depends_on: ["paid"] },
    ],
    before: async (opening) => void (await signals(opening, "paid in advance")),
  },
  errand: {
    ...opaque,
    about: "an act that another step leaves behind as an errand",
    tools: (world) => [mailer(world), planner(world)],
    steps: [{ step_id: "plan", name: "mail.plan", payload: { to: toAna.to } }],
    acts: { "plan.1": toAna },
  },
  notice: {
    ...opaque,
    about: "an act that leaves a message for someone",
    tools: (world) => [mailer(world, { run: announcing(world) })],
  },
  parallel: {
    ...opaque,
    about: "many acts and reads at once",
    tools: (world) => [mailer(world), asker(world, "model.ask", "reads")],
    steps: [
      ...[1, 2, 3].map((n) => ({ step_id: `send${n}`, name: "mail.send", payload: { to: `friend ${n}` } })),
      ...[1, 2].map((n) => ({ step_id: `ask${n}`, name: "model.ask", payload: { to: `model ${n}` } })),
    ],
    acts: Object.fromEntries([1, 2, 3].map((n) => [`send${n}`, { did: "send", to: `friend ${n}` }])),
    asks: [1, 2].map((n) => ({ did: "model.ask", to: `model ${n}` })),
  },
  counting: {
    about: "steps that count in a state they share, each once",
    tools: (world) => [counter(world)],
    slices: [tally],
    steps: [
      { step_id: "one", name: "count", payload: {} },
      { step_id: "two", name: "count", payload: {}, depends_on: ["one"] },
      { step_id: "look", kind: "state_read", payload: { path: "/tally/n" }, depends_on: ["two"] },
      { step_id: "is", kind: "assertion", payload: { step: "look", path: "", operator: "eq", value: 2 } },
    ],
    acts: {},
    ends: ["completed"],
    settles: true,
  },
  filing: {
    about: "steps that count in two trees and in state, each once, until a person goes back",
    tools: (world) => [filer(world), clerk()],
    slices: [filed],
    resources: cabinets,
    project: "filing",
    steps: [
      { step_id: "one", name: "file", payload: {} },
      { step_id: "two", name: "file", payload: { stumbles: true }, depends_on: ["one"] },
      { step_id: "is", kind: "assertion", payload: { step: "two", path: "", operator: "eq", value: 2 } },
    ],
    acts: {},
    ends: ["completed"],
    settles: true,
    before: looksUp,
    person: goesBack,
  },
  metered: {
    ...quiet("reads", "steps that ask, each paid for in advance"),
    // An attempt that died keeps what it reserved: there is room for more deaths than chance deals out.
    budgets: ({ named }) => [{ unit: "calls", limit: 60, per: "run", tool: named("page.ask") }],
  },
  paid: {
    ...opaque,
    about: "an act that is paid for in advance, with all there is",
    tools: (world) => [mailer(world, { cost: { credits: 5 } })],
    budgets: ({ named }) => [{ unit: "credits", limit: 5, per: "tenant-month", tool: named("mail.send") }],
  },
  twice: {
    ...opaque,
    about: "two steps that mean the same act",
    tools: (world) => [mailer(world, { identity: ["to"] })],
    steps: [sendToAna, { ...sendToAna, step_id: "again" }],
    acts: { send: toAna, again: toAna },
  },
  large: {
    ...opaque,
    about: "an act on an input too large for the journal",
    tools: (world) => [mailer(world), writer()],
    steps: [
      { step_id: "write", name: "mail.write", payload: {} },
      { ...sendToAna, bindings: { "/body": { step: "write", path: "/text" } } },
    ],
  },
  child: {
    ...opaque,
    about: "an act in a run that another run asks for",
    tools: (world) => [mailer(world, { verify: inbox(world), timeoutMs: 150, settleAfter: 30 })],
    steps: [
      { step_id: "ask", kind: "run", payload: { plan: { steps: [{ ...sendToAna, name: "child.mail.send" }] } } },
      { step_id: "more", kind: "run", payload: { plan: { steps: [pause] } }, depends_on: ["ask"] },
    ],
    acts: {},
    elsewhere: [toAna],
    ends: ["completed"],
    settles: true,
  },
  scheduled: {
    ...opaque,
    about: "an act that is for a certain time, whoever is there then",
    tools: (world) => [mailer(world, { verify: inbox(world), timeoutMs: 150, settleAfter: 30 })],
    steps: [pause],
    acts: {},
    elsewhere: [toAna],
    ends: ["completed"],
    settles: true,
    before: setsSchedule,
    person: awaitsSchedule,
  },
  poisonous: {
    ...opaque,
    about: "a step that takes its process with it, until a person lets it go on",
    tools: (world) => [asker(world, "page.ask", "reads")],
    steps: [{ step_id: "ask", name: "page.ask", payload: { to: "the page" } }],
    acts: {},
    asks: [{ did: "page.ask", to: "the page" }],
    ends: ["completed"],
    settles: true,
    takeovers: 3,
    person: letsGoOn,
  },
  resumed: {
    ...opaque,
    about: "an act behind a step that fails until a person mends its cause",
    tools: (world) => [mailer(world), broken(world)],
    steps: [
      { step_id: "check", name: "mail.check", payload: {} },
      { ...sendToAna, depends_on: ["check"] },
    ],
    person: mends,
  },
} as const satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof scenarios;

/** A tool that notes that it was asked, and answers with whom it was asked about. */
function asker({ witness, at }: World, name: string, effect: "reads" | "pure" | "writes") {
  return defineTool({
    name,
    effect,
    input: shape<Mail>(),
    output: shape<Sent>(),
    run: async ({ to }) => {
      at("tool.called");
      await witness.act({ did: name, to });
      at("tool.sent");
      return { sent: to };
    },
  });
}

function hesitant(world: World) {
  return async (mail: Mail, { key, attempt }: ToolContext) => {
    if (attempt === 1) throw notDone("TEMPORARY_PROVIDER_ERROR", "the server hung up before it listened");
    return send(world, mail, key);
  };
}

function failing(world: World) {
  return async (mail: Mail, { key }: ToolContext) => {
    await send(world, mail, key);
    throw new Error("the line went dead");
  };
}

function announcing(world: World) {
  return async (mail: Mail, { key, notice }: ToolContext) => {
    notice("mail.sent", { to: mail.to });
    return send(world, mail, key);
  };
}

function planner({ at, named }: World) {
  return defineTool({
    name: "mail.plan",
    effect: "reads",
    input: shape<Mail>(),
    output: shape<Sent>(),
    run: async ({ to }, { errand }) => {
      at("tool.called");
      errand(named("mail.send"), { to });
      return { sent: to };
    },
  });
}

function writer() {
  return defineTool({
    name: "mail.write",
    effect: "reads",
    input: shape<object>(),
    output: shape<{ readonly text: string }>(),
    run: () => ({ text: "x".repeat(100_000) }),
  });
}

function broken({ witness }: World) {
  return defineTool({
    name: "mail.check",
    effect: "reads",
    input: shape<object>(),
    output: shape<object>(),
    run: () => {
      if (witness.count("mend", "the server") > 0) return {};
      throw new FaultError({ code: "TOOL_FAILED", message: "the server is not set up" });
    },
  });
}

/** Books rooms and cancels bookings. */
function desk(world: World, more: object) {
  const { witness, at } = world;
  return defineTool({
    name: "room.book",
    effect: "acts",
    input: shape<Mail>(),
    output: shape<Sent>(),
    run: async ({ to }) => {
      at("tool.called");
      await witness.act({ did: "book", to });
      at("tool.sent");
      return { sent: to };
    },
    compensate: async ({ input }) => {
      at("tool.called");
      await witness.act({ did: "cancel", to: input.to });
      at("tool.sent");
    },
    ...more,
  });
}

function bookings({ witness, at }: World) {
  return ({ input }: { readonly input: unknown }) => {
    at("verify.asked");
    const { to } = input as Mail;
    const stands = witness.count("book", to) > witness.count("cancel", to);
    return stands ? { saw: "happened", output: { sent: to } } : { saw: "absent" };
  };
}
