import type { Engine } from "../../src/engine/api/engine-api.ts";
import { botAgent } from "../engine/engine-fixture.ts";
import { chief, plan, type samples, submitted } from "../engine/verb-samples.ts";

/** The verbs of the table that a command can be judged by. */
type SampledVerb = keyof typeof samples;

/** How to call one command: it prepares its object as other principals, and returns the arguments. */
export interface CommandSample {
  /** The verbs that the command uses. The first one that the table refuses decides. */
  readonly verbs: readonly SampledVerb[];
  prepare(engine: Engine): Promise<readonly string[]> | readonly string[];
  /** The text on stdin. */
  readonly input?: string;
  /** True if it shows all of a state, which is refused to a principal that may read only parts of it. */
  readonly wholeState?: true;
  /** True if a person who can open the store uses it as an operator. */
  readonly asOperator?: true;
  /** True if it is about the tenant, where its verb can also be about a run. */
  readonly ofTenant?: true;
}

const planText = JSON.stringify(plan("write"));

function plain(verbs: readonly SampledVerb[], ...args: readonly string[]): CommandSample {
  return { verbs, prepare: () => args, input: planText };
}

/** A command on a run of the agent in a project. `run` is replaced by its id. */
function onRun(verbs: readonly SampledVerb[], tool: string, ...args: readonly string[]): CommandSample {
  return {
    verbs,
    prepare: async (engine) => {
      const { run_id } = await submitted({ engine }, tool);
      return args.map((arg) => arg.replace(/^run(?=\/|$)/, run_id));
    },
  };
}

/** A command on the gate of a held call of the agent. */
function onGate(verb: "approve" | "reject"): CommandSample {
  return {
    verbs: [verb],
    prepare: async (engine) => {
      const { gates } = await (await submitted({ engine }, "mail")).result();
      return [verb, gates[0]?.gate_id ?? ""];
    },
  };
}

function afterwards(sample: CommandSample, before: (engine: Engine) => Promise<unknown>): CommandSample {
  return {
    ...sample,
    prepare: async (engine) => {
      await before(engine);
      return sample.prepare(engine);
    },
  };
}

const scheduled = (engine: Engine) => engine.schedules.set("s", plan("write"), { principal: chief, cron: "0 * * * *" });
const halted = (engine: Engine) => engine.halts.set({ principal: chief, reason: "stop" });
const haltedEverywhere = (engine: Engine) => engine.halts.set({ principal: chief, reason: "stop", everything: true });
const locked = (engine: Engine) => engine.projects.close("p", { principal: chief, as: "locked" });
const inSession = (engine: Engine) => engine.openRun({ principal: botAgent, session: "chat" });

/** Every command that changes or reveals data of a store, in each of its forms. */
export const commandSamples: Readonly<Record<string, CommandSample>> = {
  run: plain(["submit"], "run", "-", "--no-wait"),
  "run --detach": plain(["submit"], "run", "-", "--detach"),
  workers: plain(["workers"], "workers"),
  approve: onGate("approve"),
  reject: onGate("reject"),
  gates: plain(["gates"], "gates"),
  doubts: plain(["inDoubt"], "doubts"),
  show: onRun(["run", "run.now"], "write", "show", "run"),
  events: onRun(["run", "run.events"], "write", "events", "run"),
  runs: plain(["runs"], "runs"),
  "resolve --absent": onRun(["resolve"], "doubt", "resolve", "run", "a", "--absent"),
  "resolve --verify": onRun(["resolve:verify"], "doubt", "resolve", "run", "a", "--verify"),
  resume: onRun(["run", "resume"], "fail", "resume", "run"),
  cancel: onRun(["run", "run.cancel"], "mail", "cancel", "run"),
  undo: onRun(["undo"], "doubt", "undo", "run"),
  verify: onRun(["verify"], "doubt", "verify", "run"),
  "halt <run>": onRun(["halts.set"], "mail", "halt", "run", "--reason", "stop"),
  halt: plain(["halts.set:tenant"], "halt", "--reason", "stop"),
  "halt --everything": {
    ...plain(["halts.set:everything"], "halt", "--everything", "--reason", "stop"),
    asOperator: true,
  },
  lift: afterwards(plain(["halts.lift"], "lift"), halted),
  "lift --everything": {
    ...afterwards(plain(["halts.lift:everything"], "lift", "--everything"), haltedEverywhere),
    asOperator: true,
  },
  halts: plain(["halts.list"], "halts"),
  signal: plain(["signal"], "signal", "go"),
  schedule: plain(["schedules.set"], "schedule", "t", "-", "--cron", "0 * * * *"),
  "schedule --pause": afterwards(plain(["schedules.pause"], "schedule", "s", "--pause"), scheduled),
  "schedule --resume": afterwards(plain(["schedules.resume"], "schedule", "s", "--resume"), scheduled),
  "schedule --remove": afterwards(plain(["schedules.remove"], "schedule", "s", "--remove"), scheduled),
  schedules: plain(["schedules.list"], "schedules"),
  explain: onRun(["run", "run.events"], "write", "explain", "run", "a"),
  export: onRun(["run", "run.events"], "write", "export", "run", "--otlp"),
  state: { ...plain(["state"], "state", "p"), wholeState: true },
  check: plain(["check"], "check", "-"),
  "project show": { ...plain(["state", "projects.closure"], "project", "show", "p"), wholeState: true },
  "project history": plain(["projects.history"], "project", "history", "p"),
  "project lock": plain(["projects.close"], "project", "lock", "p"),
  "project archive": plain(["projects.close"], "project", "archive", "p"),
  "project open": afterwards(plain(["projects.open"], "project", "open", "p"), locked),
  "project revert": plain(["projects.revert"], "project", "revert", "p", "--version-number", "0"),
  "checkpoint list": plain(["checkpoints.list"], "checkpoint", "list", "--project", "p"),
  "checkpoint diff": onRun(["checkpoints.diff"], "write", "checkpoint", "diff", "run/a/before"),
  "checkpoint restore": onRun(["checkpoints.restore"], "write", "checkpoint", "restore", "run/a/before"),
  "checkpoint fork": onRun(["checkpoints.fork"], "write", "checkpoint", "fork", "run/a/before"),
  simulate: plain(["simulate"], "simulate", "-"),
  audit: { ...plain(["audit"], "audit"), ofTenant: true },
  "audit <run>": onRun(["audit"], "write", "audit", "run"),
  cost: plain(["spent"], "cost", "--period", "2023-11"),
  "cost <run>": onRun(["cost"], "write", "cost", "run"),
  budget: plain(["budgets"], "budget", "--by", "bot"),
  retain: plain(["retain"], "retain", "--older-than", "30d"),
  forget: afterwards(plain(["forget"], "forget", "chat"), inSession),
};

/** The commands that work on the store itself, and not through a server. */
export const localSamples: Readonly<Record<string, CommandSample>> = {
  backup: { ...plain(["backup"], "backup", "copy.db"), asOperator: true },
  "restore --in-place": plain(["adoptBackup"], "restore", "--in-place", "--reason", "copied"),
};

/** The commands that no verb judges: they work on files of the user, or on a store of their own. */
export const commandsWithoutVerb: Readonly<Record<string, string>> = {
  worker: "executes runs, each of whose calls is judged",
  serve: "authenticates each request, whose verb is judged",
  mcp: "serves one principal, each of whose calls is judged",
  tools: "reads the config",
  policy: "reads a file",
  crashtest: "has a store of its own",
  init: "writes a config",
  demo: "has a store of its own",
  keys: "writes the file of keys",
  open: "opens a page, whose requests are judged",
  doctor: "reads by several verbs, each of which is judged, and shows a refusal as a finding",
  migrate: "changes the format of the store, and no data",
};
