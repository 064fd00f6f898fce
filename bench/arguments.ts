import { parseArgs } from "node:util";

export interface Arguments {
  readonly json: boolean;
  readonly only: string | null;
  readonly store: "sqlite" | "postgres";
  readonly rounds: number;
  /** Others on the same work, too; from where their packages are looked for. */
  readonly peers: { readonly from: string } | null;
  /** Put the figures on the page in docs. */
  readonly write: boolean;
}

export const usage =
  "npm run --silent bench -- [--json] [--store sqlite|postgres] [--only ID] [--rounds 7] [--write] [--peers [--from FOLDER]]";

/** Fewer rounds than this and one disturbed round could be the median. */
const roundsDefault = 7;

const options = {
  json: { type: "boolean" },
  only: { type: "string" },
  store: { type: "string" },
  rounds: { type: "string" },
  peers: { type: "boolean" },
  from: { type: "string" },
  write: { type: "boolean" },
} as const;

/** Reads the command line, or says what is wrong with it. */
export function readArguments(args: readonly string[], ids: readonly string[]): Arguments | { readonly wrong: string } {
  try {
    const { values } = parseArgs({ args: [...args], options });
    const { json = false, write = false, only = null, store = "sqlite" } = values;
    if (store !== "sqlite" && store !== "postgres") return { wrong: `--store ${store} is neither sqlite nor postgres` };
    if (store === "postgres" && values.peers === true)
      return { wrong: "--peers is for the figures of SQLite; it does not go with --store postgres" };
    const rounds = values.rounds === undefined ? roundsDefault : Number(values.rounds);
    if (!Number.isInteger(rounds) || rounds < 1) return { wrong: `--rounds ${values.rounds} is not a whole number` };
    if (only !== null && !ids.includes(only))
      return { wrong: `no result is called ${only}; there are ${ids.join(", ")}` };
    if (only !== null && write) return { wrong: "the page shows every result; --write does not go with --only" };
    if (values.from !== undefined && values.peers !== true) return { wrong: "--from goes with --peers" };
    const peers = values.peers === true ? { from: values.from ?? process.cwd() } : null;
    return { json, only, store, rounds, peers, write };
  } catch (error) {
    return { wrong: error instanceof Error ? error.message : String(error) };
  }
}
