import { parseArgs } from "node:util";

export interface BenchArguments {
  readonly json: boolean;
  readonly only: string | null;
  readonly store: "sqlite" | "postgres";
  readonly rounds: number;
  /** Measure one round without a warm-up. */
  readonly cold: boolean;
  /** Measure several processes on one SQLite file. */
  readonly processes: boolean;
  /** Measure what adapters and the gateway add to a call. */
  readonly surfaces: boolean;
  /** Measure the console alone. Without it, the default measures it too. */
  readonly console: boolean;
  /** Measure other engines too, with packages from this folder; null: no. */
  readonly peers: { readonly from: string } | null;
  /** Write the results to the page in docs. */
  readonly write: boolean;
}

export const benchUsage =
  "npm run --silent bench -- [--json] [--store sqlite|postgres] [--only ID] [--rounds 7] [--cold] [--write] [--processes] [--surfaces] [--console] [--peers [--from FOLDER]]";

/** With fewer rounds one disturbed round could be the median. */
const DEFAULT_ROUNDS = 7;

const options = {
  json: { type: "boolean" },
  only: { type: "string" },
  store: { type: "string" },
  rounds: { type: "string" },
  cold: { type: "boolean" },
  processes: { type: "boolean" },
  surfaces: { type: "boolean" },
  console: { type: "boolean" },
  peers: { type: "boolean" },
  from: { type: "string" },
  write: { type: "boolean" },
} as const;

/** Parses the command line, or returns what is wrong with it. */
export function parseBenchArguments(
  args: readonly string[],
  ids: readonly string[],
): BenchArguments | { readonly wrong: string } {
  try {
    const { values } = parseArgs({ args: [...args], options });
    const {
      json = false,
      write = false,
      cold = false,
      processes = false,
      surfaces = false,
      console: consoleAlone = false,
      only = null,
      store = "sqlite",
    } = values;
    if (store !== "sqlite" && store !== "postgres") return { wrong: `--store ${store} is neither sqlite nor postgres` };
    if (store === "postgres" && values.peers === true)
      return { wrong: "--peers is for the figures of SQLite; it does not go with --store postgres" };
    if (processes && (store === "postgres" || values.peers === true))
      return { wrong: "--processes is for one SQLite file; it does not go with --store postgres or --peers" };
    if (surfaces && (processes || store === "postgres" || values.peers === true))
      return { wrong: "--surfaces does not go with --processes, --store postgres or --peers" };
    if (consoleAlone && (surfaces || processes || store === "postgres" || values.peers === true))
      return { wrong: "--console does not go with --surfaces, --processes, --store postgres or --peers" };
    const rounds = values.rounds === undefined ? DEFAULT_ROUNDS : Number(values.rounds);
    if (!Number.isInteger(rounds) || rounds < 1) return { wrong: `--rounds ${values.rounds} is not a whole number` };
    if (only !== null && !ids.includes(only))
      return { wrong: `there is no result ${only}; the results are ${ids.join(", ")}` };
    if (only !== null && write) return { wrong: "the page shows every result; --write does not go with --only" };
    if (cold && (only === null || write)) return { wrong: "--cold measures one result: it goes with --only" };
    if (values.from !== undefined && values.peers !== true) return { wrong: "--from goes with --peers" };
    const peers = values.peers === true ? { from: values.from ?? process.cwd() } : null;
    return { json, only, store, rounds, cold, processes, surfaces, console: consoleAlone, peers, write };
  } catch (error) {
    return { wrong: error instanceof Error ? error.message : String(error) };
  }
}
