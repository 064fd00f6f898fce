/** The ids that earlier commands have printed. */
export interface KnownIds {
  readonly run: string;
  readonly gate: string;
}

/** A command of the command line, as a user types it. */
export interface CliCommand {
  args(ids: KnownIds): readonly string[];
  /** True: its process is killed at every write. */
  readonly isKilled: boolean;
  /** The allowed exit codes, if not the usual ones of a repeated command. */
  readonly codes?: readonly number[];
  /** A text that no file of the store contains when the command has ended. */
  readonly erases?: string;
  /** True: another process runs the same command while this one is killed. */
  readonly hasTwin?: true;
}

/** A sequence of commands of a user. */
export interface CliScenario {
  readonly about: string;
  readonly commands: readonly CliCommand[];
  /** The name of the store in which the story ends, if it is another one. */
  readonly endsIn?: string;
}

const cliCommand =
  (isKilled: boolean) =>
  (...template: readonly string[]): CliCommand => ({
    isKilled,
    args: ({ run, gate }) => template.map((arg) => arg.replace("RUN", run).replace("GATE", gate)),
  });

const killedCommand = cliCommand(true);
const undisturbedCommand = cliCommand(false);

const submitArgs = (plan: string, tenant = "default") =>
  ["run", `${plan}.json`, "--request-key", plan, "--no-wait", "--tenant", tenant] as const;
const freeTenant = ["--tenant", "free"] as const;
const inRestored = ["--store", "restored.db"] as const;

export const cliScenarios = {
  sent: {
    about: "a mail is held, approved and sent",
    commands: [
      killedCommand(...submitArgs("mail")),
      killedCommand("approve", "GATE", "--as", "ana"),
      killedCommand("resume", "RUN"),
    ],
  },
  refused: {
    about: "a mail is held and refused",
    commands: [undisturbedCommand(...submitArgs("mail")), killedCommand("reject", "GATE", "--as", "ana")],
  },
  cancelled: {
    about: "a mail is held and its run is cancelled",
    commands: [undisturbedCommand(...submitArgs("mail")), killedCommand("cancel", "RUN")],
  },
  doubted: {
    about: "a mail is sent but not confirmed, and a person resolves it as happened",
    commands: [
      killedCommand(...submitArgs("dead-line", "free")),
      killedCommand("resolve", "RUN", "send", "--happened", "--output", `{"id":"found"}`, ...freeTenant),
    ],
  },
  undone: {
    about: "a room is booked and the booking is undone",
    commands: [
      undisturbedCommand(...submitArgs("room", "free")),
      killedCommand("resolve", "RUN", "book", "--undo", ...freeTenant),
      killedCommand("resume", "RUN", ...freeTenant),
    ],
  },
  retained: {
    about: "the content of a run is erased, and its request key stays reserved",
    commands: [
      undisturbedCommand(...submitArgs("room", "free")),
      { ...killedCommand("retain", "--older-than", "0s", ...freeTenant), erases: "a private note" },
      { ...undisturbedCommand(...submitArgs("room", "free")), codes: [5] },
    ],
  },
  maintained: {
    about: "two processes erase the content of a run at the same time, and one of them is killed",
    commands: [
      undisturbedCommand(...submitArgs("room", "free")),
      { ...killedCommand("retain", "--older-than", "0s", ...freeTenant), erases: "a private note", hasTwin: true },
    ],
  },
  restored: {
    about: "a mail is sent after a backup; the restored store holds it for a person and does not send it again",
    endsIn: "restored.db",
    commands: [
      undisturbedCommand(...submitArgs("later", "free")),
      killedCommand("backup", "copy.db", ...freeTenant),
      undisturbedCommand("signal", "go", ...freeTenant),
      undisturbedCommand("resume", "RUN", ...freeTenant),
      killedCommand("restore", "copy.db", "--reason", "the disk is lost", ...inRestored),
      undisturbedCommand("signal", "go", ...freeTenant, ...inRestored),
      killedCommand("resume", "RUN", ...freeTenant, ...inRestored),
    ],
  },
} as const satisfies Record<string, CliScenario>;

export type CliScenarioName = keyof typeof cliScenarios;

/** The plans of the scenarios, by file name. */
export const cliPlans = {
  mail: [
    { step_id: "write", name: "mail.write", payload: { to: "ana" } },
    { step_id: "send", name: "mail.send", payload: { to: "ana" }, depends_on: ["write"] },
  ],
  "dead-line": [{ step_id: "send", name: "mail.drop", payload: { to: "ana" } }],
  later: [
    { step_id: "wait", kind: "wait", name: "wait", payload: { signal: "go" } },
    { step_id: "send", name: "mail.send", payload: { to: "ana" }, depends_on: ["wait"] },
  ],
  room: [{ step_id: "book", name: "room.book", payload: { to: "room 7", note: "a private note" } }],
} as const;

/** The config of a user: tools that record their effects in `world.txt`, and a tenant without approvals. */
export const cliConfig = (library: string): string => `
import { appendFileSync } from "node:fs";
import { defineTool } from ${JSON.stringify(library)};

const text = { type: "string" };
const object = (properties) => ({ type: "object", properties, required: Object.keys(properties) });
const did = (what) => appendFileSync(new URL("world.txt", import.meta.url), what + "\\n");
const tool = (name, effect, run, more) =>
  defineTool({ name, effect, input: object({ to: text }), output: object({ id: text }), run, ...more });

export default {
  tenants: { free: { mode: "auto_exec" } },
  tools: [
    tool("mail.write", "reads", async ({ to }) => ({ id: to })),
    tool("mail.send", "acts", async ({ to }) => (did("mail to " + to), { id: to })),
    tool("mail.drop", "acts", async ({ to }) => {
      did("mail to " + to);
      throw new Error("the connection was lost");
    }),
    tool("room.book", "acts", async ({ to }) => (did("book " + to), { id: to }), {
      compensate: async ({ input }) => did("give back " + input.to),
    }),
  ],
};
`;
