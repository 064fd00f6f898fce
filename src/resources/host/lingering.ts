import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** A tree, and the folder that captures of it are kept in. */
interface Place {
  readonly root: string;
  readonly store: string;
}

/** When a call began, as processes are dated, and the group that those are in which it starts. */
export interface ProcessMoment {
  readonly boot: string;
  readonly ticks: number;
  readonly group: number;
}

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly start: number;
}

/** A process that starts from now on has this moment or a later one. Null where the operating system does not tell. */
export function processMoment(): ProcessMoment | null {
  const perSecond = 100;
  const uptime = reading(() => Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]));
  const [boot, own] = [bootOf(), processOf(process.pid)];
  if (uptime === null || boot === null || own === null) return null;
  return { boot, ticks: Math.floor(uptime * perSecond), group: own.group };
}

/**
 * Processes that were started after a moment and have a file of the tree open, or work in it: what a tool has left behind still
 * writing. As far as the operating system lets us see; empty where it does not.
 */
export function lingering(place: Place, since: ProcessMoment | null): readonly string[] {
  return startedSince(since)
    .filter(({ pid }) => isAtWork(place, pid))
    .map(named);
}

/** Those of them that the call may have started, though its worker be dead: not a person who looks at what happened, nor whoever started us. */
export function orphaned(place: Place, since: ProcessMoment | null): readonly string[] {
  const started = startedSince(since);
  if (started.length === 0) return []; // As nearly always; looking for those above us takes a fifth of a restore.
  const ours = lineOf(process.pid);
  return started
    .filter(({ pid, group }) => !ours.includes(pid) && (group === since?.group || lineOf(pid).includes(process.pid)))
    .filter(({ pid }) => isAtWork(place, pid))
    .map(named);
}

function startedSince(since: ProcessMoment | null): readonly Process[] {
  if (since === null || since.boot !== bootOf()) return [];
  const names = reading(() => readdirSync("/proc")) ?? [];
  return names
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => processOf(Number(name)) ?? [])
    .filter(({ pid, start }) => pid !== process.pid && start >= since.ticks);
}

function processOf(pid: number): Process | null {
  // The name in parentheses may hold anything.
  const fields = reading(() => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" "));
  if (!fields) return null;
  return { pid, parent: Number(fields[1]), group: Number(fields[2]), start: Number(fields[19]) };
}

/** A process and all that are above it. */
function lineOf(pid: number): readonly number[] {
  const parent = processOf(pid)?.parent ?? 0;
  return parent === 0 ? [pid] : [pid, ...lineOf(parent)];
}

/** Another worker has the tree open, too, and what is kept of it: it changes nothing out of its turn. */
function isAtWork({ root, store }: Place, pid: number): boolean {
  const open = (reading(() => readdirSync(`/proc/${pid}/fd`)) ?? []).map((name) => `/proc/${pid}/fd/${name}`);
  const places = [`/proc/${pid}/cwd`, ...open].flatMap((place) => reading(() => readlinkSync(place)) ?? []);
  const isBelow = (folder: string): boolean =>
    places.some((place) => place === folder || place.startsWith(`${folder}/`));
  return isBelow(root) && !isBelow(store);
}

function named({ pid }: Process): string {
  return `${pid} (${reading(() => readFileSync(`/proc/${pid}/comm`, "utf8").trim()) ?? "ended"})`;
}

function bootOf(): string | null {
  return reading(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
}

/** A process that has ended meanwhile, or is not ours to look at, tells nothing. */
function reading<Answer>(read: () => Answer): Answer | null {
  try {
    return read();
  } catch {
    return null;
  }
}
