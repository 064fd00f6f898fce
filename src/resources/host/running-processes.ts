import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** A tree and the folder that stores its captures. */
interface TreeLocation {
  readonly root: string;
  readonly store: string;
}

/** The start of a call in the clock of the kernel (boot id and ticks), and the process group of the worker. */
export interface ProcessMark {
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

/**
 * Returns a mark; every process that starts later has at least these ticks. Null if the operating system does not
 * provide them.
 */
export function currentProcessMark(): ProcessMark | null {
  const perSecond = 100;
  const uptime = readOrNull(() => Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]));
  const [boot, own] = [readBootId(), readProcess(process.pid)];
  if (uptime === null || boot === null || own === null) return null;
  return { boot, ticks: Math.floor(uptime * perSecond), group: own.group };
}

/**
 * Returns the processes that started after the mark and have a file of the tree open or work in it, for example a
 * background process that a tool left running. Sees only what the permissions of this process allow; empty on systems
 * without /proc.
 */
export function findRunningProcesses(place: TreeLocation, since: ProcessMark | null): readonly string[] {
  return processesStartedSince(since)
    .filter(({ pid }) => usesTree(place, pid))
    .map(processLabel);
}

/**
 * Returns only the processes that the call may have started, also if its worker has died. Excludes the ancestors of
 * this process and processes of other groups, such as a shell in which a person inspects the tree.
 */
export function findOrphanedProcesses(place: TreeLocation, since: ProcessMark | null): readonly string[] {
  const started = processesStartedSince(since);
  // The usual case. Finding the ancestors would take a fifth of the time of a restore.
  if (started.length === 0) return [];
  const ancestors = ancestorsOf(process.pid);
  return started
    .filter(
      ({ pid, group }) =>
        !ancestors.includes(pid) && (group === since?.group || ancestorsOf(pid).includes(process.pid)),
    )
    .filter(({ pid }) => usesTree(place, pid))
    .map(processLabel);
}

function processesStartedSince(since: ProcessMark | null): readonly Process[] {
  if (since === null || since.boot !== readBootId()) return [];
  const names = readOrNull(() => readdirSync("/proc")) ?? [];
  return names
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readProcess(Number(name)) ?? [])
    .filter(({ pid, start }) => pid !== process.pid && start >= since.ticks);
}

function readProcess(pid: number): Process | null {
  // The process name in parentheses may contain any character.
  const fields = readOrNull(() => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" "));
  if (!fields) return null;
  return { pid, parent: Number(fields[1]), group: Number(fields[2]), start: Number(fields[19]) };
}

/** Returns the id of a process and of all its ancestors. */
function ancestorsOf(pid: number): readonly number[] {
  const parent = readProcess(pid)?.parent ?? 0;
  return parent === 0 ? [pid] : [pid, ...ancestorsOf(parent)];
}

/**
 * True if a process uses the tree. A process that also uses the store is another worker, which changes the tree only
 * while it holds the lock.
 */
function usesTree({ root, store }: TreeLocation, pid: number): boolean {
  const open = (readOrNull(() => readdirSync(`/proc/${pid}/fd`)) ?? []).map((name) => `/proc/${pid}/fd/${name}`);
  const places = [`/proc/${pid}/cwd`, ...open].flatMap((place) => readOrNull(() => readlinkSync(place)) ?? []);
  const isBelow = (folder: string): boolean =>
    places.some((place) => place === folder || place.startsWith(`${folder}/`));
  return isBelow(root) && !isBelow(store);
}

function processLabel({ pid }: Process): string {
  return `${pid} (${readOrNull(() => readFileSync(`/proc/${pid}/comm`, "utf8").trim()) ?? "ended"})`;
}

function readBootId(): string | null {
  return readOrNull(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
}

/** Returns null if the process has ended or may not be read. */
function readOrNull<Answer>(read: () => Answer): Answer | null {
  try {
    return read();
  } catch {
    return null;
  }
}
