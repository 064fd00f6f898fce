import { type Profiler, Session } from "node:inspector/promises";

/** The shares of the activities of a program in its time. */
export type TimeSplit = Readonly<Record<Activity, number>>;

export const activities = ["parse", "hash", "decide", "SQL", "commit", "garbage", "idle", "other"] as const;

type Activity = (typeof activities)[number];

/** The profiler takes time too, which is not counted. */
type ProfiledActivity = Activity | "watching";

/** The first match on the stack decides the activity. */
const sourceActivities: readonly SourceActivity[] = [
  { path: /^node:inspector/, doing: "watching" },
  { path: /\/src\/engine\/journal\/journal-codec\.js$/, name: /^(?:reviveEvent|open|blobNameIn)$/, doing: "parse" },
  { path: /\/src\/engine\/(?:journal\/journal-codec|ports\/digest)\.js$/, doing: "hash" },
  { path: /\/src\/core\/json\/canonical-json\.js$/, doing: "hash" },
  { path: /\/src\/schema\/|\/node_modules\/(?:zod|ajv)|\/src\/core\/(?:json|plan)\//, doing: "parse" },
  { path: /\/src\/core\/(?:decide|evolve|persistent|run|call)\/|\/src\/policy\//, doing: "decide" },
  { path: /\/src\/store\/sqlite\/group-commit\.js$/, doing: "commit" },
  { path: /\/src\/store\/(?:sqlite|postgres)\/|\/node_modules\/pg/, doing: "SQL" },
  { path: /\/src\/|\/bench\//, doing: "other" },
];

interface SourceActivity {
  readonly path: RegExp;
  /** Only functions of this name. */
  readonly name?: RegExp;
  readonly doing: ProfiledActivity;
}

/** Activities of the JavaScript runtime. */
const runtimeActivities: Readonly<Record<string, Activity>> = { "(idle)": "idle", "(garbage collector)": "garbage" };

/** Samples the stack while `work` runs. Counts by source file; drivers and built-ins count for their caller. */
export async function measureSplit(work: () => Promise<void>): Promise<TimeSplit> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.setSamplingInterval", { interval: 100 });
  await session.post("Profiler.start");
  await work();
  const { profile } = await session.post("Profiler.stop");
  session.disconnect();
  return sumSamples(profile);
}

function sumSamples({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): TimeSplit {
  const doing = activityByNode(nodes);
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

/** Parents come before children, so a child inherits the activity. */
function activityByNode(nodes: readonly Profiler.ProfileNode[]): ReadonlyMap<number, ProfiledActivity> {
  const found = new Map<number, ProfiledActivity>();
  for (const { id, callFrame, children = [] } of nodes) {
    const doing = activityAt(callFrame) ?? found.get(id) ?? "other";
    found.set(id, doing);
    for (const child of children) found.set(child, doing);
  }
  return found;
}

function activityAt({ url, functionName }: Profiler.ProfileNode["callFrame"]): ProfiledActivity | undefined {
  const place = sourceActivities.find(({ path, name }) => path.test(url) && (name?.test(functionName) ?? true));
  return runtimeActivities[functionName] ?? place?.doing;
}
