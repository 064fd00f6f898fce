import { type Profiler, Session } from "node:inspector/promises";

/** Where a program spent its time, by what it was doing, in parts of the whole. */
export type TimeSplit = Readonly<Record<Activity, number>>;

export const activities = ["parse", "hash", "decide", "SQL", "commit", "garbage", "idle", "other"] as const;

type Activity = (typeof activities)[number];

/** Watching takes time, too, and none of it is the program's. */
type Doing = Activity | "watching";

/** The first place on the stack that one of these names says what was being done. */
const places: readonly Place[] = [
  { path: /^node:inspector/, doing: "watching" },
  { path: /\/src\/engine\/journal\.js$/, name: /^(?:revive|open|blobIn)$/, doing: "parse" },
  { path: /\/src\/engine\/(?:journal|digest)\.js$/, doing: "hash" },
  { path: /\/src\/core\/(?:canonical)\.js$/, doing: "hash" },
  {
    path: /\/src\/schema\/|\/node_modules\/(?:zod|ajv)|\/src\/core\/(?:check-|fields|plan-|template|reasons)/,
    doing: "parse",
  },
  {
    path: /\/src\/core\/(?:decide|evolve|place|vector|trie-map|rows-of|run|step|guard)|\/src\/policy\//,
    doing: "decide",
  },
  { path: /\/src\/store\/sqlite\/group-commit\.js$/, doing: "commit" },
  { path: /\/src\/store\/(?:sqlite|postgres)\/|\/node_modules\/pg/, doing: "SQL" },
  { path: /\/src\/|\/bench\//, doing: "other" },
];

interface Place {
  readonly path: RegExp;
  /** Only functions of this name. */
  readonly name?: RegExp;
  readonly doing: Doing;
}

/** What the engine of JavaScript does by itself. */
const ownWork: Readonly<Record<string, Activity>> = { "(idle)": "idle", "(garbage collector)": "garbage" };

/** Samples the stack while `work` runs and counts by the source file that was at work, drivers and built-ins by their caller. */
export async function splitOf(work: () => Promise<void>): Promise<TimeSplit> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.setSamplingInterval", { interval: 100 });
  await session.post("Profiler.start");
  await work();
  const { profile } = await session.post("Profiler.stop");
  session.disconnect();
  return parts(profile);
}

function parts({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): TimeSplit {
  const doing = doingIn(nodes);
  const spent = Object.fromEntries(activities.map((name) => [name, 0])) as Record<Activity, number>;
  let whole = 0;
  for (const [at, id] of samples.entries()) {
    const activity = doing.get(id) ?? "other";
    if (activity === "watching") continue;
    const delta = timeDeltas[at] ?? 0;
    spent[activity] += delta;
    whole += delta;
  }
  for (const name of activities) spent[name] /= whole;
  return spent;
}

/** Nodes come parents first, so that a child can inherit. */
function doingIn(nodes: readonly Profiler.ProfileNode[]): ReadonlyMap<number, Doing> {
  const found = new Map<number, Doing>();
  for (const { id, callFrame, children = [] } of nodes) {
    const doing = doingAt(callFrame) ?? found.get(id) ?? "other";
    found.set(id, doing);
    for (const child of children) found.set(child, doing);
  }
  return found;
}

function doingAt({ url, functionName }: Profiler.ProfileNode["callFrame"]): Doing | undefined {
  const place = places.find(({ path, name }) => path.test(url) && (name?.test(functionName) ?? true));
  return ownWork[functionName] ?? place?.doing;
}
