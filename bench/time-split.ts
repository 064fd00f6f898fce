import { type Profiler, Session } from "node:inspector/promises";

/** Where a program spent its time, by what it was doing, in parts of the whole. */
export type TimeSplit = Readonly<Record<Activity, number>>;

const activities = ["parse", "hash", "decide", "SQL", "commit", "idle", "other"] as const;

type Activity = (typeof activities)[number];

/** The first place on the stack that one of these names says what was being done. */
const places: readonly (readonly [path: RegExp, activity: Activity])[] = [
  [/\/src\/engine\/(?:journal|digest)\.js$/, "hash"],
  [/\/src\/core\/(?:canonical)\.js$/, "hash"],
  [/\/src\/schema\/|\/node_modules\/(?:zod|ajv)|\/src\/core\/(?:check-|fields|plan-|template|reasons)/, "parse"],
  [/\/src\/core\/(?:decide|evolve|place|vector|trie-map|rows-of|run|step|guard)|\/src\/policy\//, "decide"],
  [/\/src\/store\/sqlite\/group-commit\.js$/, "commit"],
  [/\/src\/store\/sqlite\//, "SQL"],
  [/\/src\/|\/bench\//, "other"],
];

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
  const activity = activitiesOf(nodes);
  const spent: Record<Activity, number> = { parse: 0, hash: 0, decide: 0, SQL: 0, commit: 0, idle: 0, other: 0 };
  let whole = 0;
  for (const [at, id] of samples.entries()) {
    const delta = timeDeltas[at] ?? 0;
    spent[activity.get(id) ?? "other"] += delta;
    whole += delta;
  }
  for (const name of activities) spent[name] /= whole;
  return spent;
}

/** Nodes come parents first, so that a child can inherit. */
function activitiesOf(nodes: readonly Profiler.ProfileNode[]): ReadonlyMap<number, Activity> {
  const found = new Map<number, Activity>();
  for (const { id, callFrame, children = [] } of nodes) {
    const own = callFrame.functionName === "(idle)" ? "idle" : activityAt(callFrame.url);
    const activity = own ?? found.get(id) ?? "other";
    found.set(id, activity);
    for (const child of children) found.set(child, activity);
  }
  return found;
}

function activityAt(url: string): Activity | undefined {
  return places.find(([path]) => path.test(url))?.[1];
}
