/** What is known by now of the run that a story is about. */
export interface Known {
  readonly run: string;
  readonly gate: string;
}

/** A command of the command line, as a user types it. */
export interface Typed {
  args(known: Known): readonly string[];
  /** Its process is killed at every write. */
  readonly dies: boolean;
  /** With what it may exit, if not with what any command may exit with that is typed once more. */
  readonly codes?: readonly number[];
}

/** What a user does with the command line, one command after the other, and what it comes to. */
export interface Story {
  readonly about: string;
  readonly commands: readonly Typed[];
}

const typed =
  (dies: boolean) =>
  (...words: readonly string[]): Typed => ({
    dies,
    args: ({ run, gate }) => words.map((word) => word.replace("RUN", run).replace("GATE", gate)),
  });

const dies = typed(true);
const lives = typed(false);

const order = (plan: string, tenant = "default") =>
  ["run", `${plan}.json`, "--request-key", plan, "--no-wait", "--tenant", tenant] as const;
const free = ["--tenant", "free"] as const;

export const stories = {
  sent: {
    about: "a mail is held, approved and sent",
    commands: [dies(...order("mail")), dies("approve", "GATE", "--as", "ana"), dies("resume", "RUN")],
  },
  refused: {
    about: "a mail is held and refused",
    commands: [lives(...order("mail")), dies("reject", "GATE", "--as", "ana")],
  },
  cancelled: {
    about: "a mail is held and its run is cancelled",
    commands: [lives(...order("mail")), dies("cancel", "RUN")],
  },
  doubted: {
    about: "a mail goes out and the line goes dead; a person says that it went out",
    commands: [
      dies(...order("dead-line", "free")),
      dies("resolve", "RUN", "send", "--happened", "--output", `{"id":"found"}`, ...free),
    ],
  },
  undone: {
    about: "a room is booked and given back",
    commands: [
      lives(...order("room", "free")),
      dies("resolve", "RUN", "book", "--undo", ...free),
      dies("resume", "RUN", ...free),
    ],
  },
  retained: {
    about: "what a run said is erased, and the same request is still the same",
    commands: [
      lives(...order("room", "free")),
      dies("retain", "--older-than", "0s", ...free),
      { ...lives(...order("room", "free")), codes: [5] },
    ],
  },
} as const satisfies Record<string, Story>;

export type StoryName = keyof typeof stories;

/** The plans of the stories, by the name of their file. */
export const plans = {
  mail: [
    { step_id: "write", name: "mail.write", payload: { to: "ana" } },
    { step_id: "send", name: "mail.send", payload: { to: "ana" }, depends_on: ["write"] },
  ],
  "dead-line": [{ step_id: "send", name: "mail.drop", payload: { to: "ana" } }],
  room: [{ step_id: "book", name: "room.book", payload: { to: "room 7" } }],
} as const;

/** A user's config: tools that note in `world.txt` what they did, and a tenant in which nobody is asked. */
export const configFor = (library: string): string => `
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
      throw new Error("the line went dead");
    }),
    tool("room.book", "acts", async ({ to }) => (did("book " + to), { id: to }), {
      compensate: async ({ input }) => did("give back " + input.to),
    }),
  ],
};
`;
