import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/**
 * Processes that were started after a moment and have a file of the tree open, or work in it: what a tool has left behind still
 * writing. As far as the operating system lets us see; empty where it does not.
 */
export function lingering(root: string, since: ProcessMoment): readonly string[] {
  return processes()
    .filter((pid) => pid !== process.pid && (startOf(pid) ?? 0) >= since)
    .filter((pid) => placesOf(pid).some((place) => place === root || place.startsWith(`${root}/`)))
    .map((pid) => `${pid} (${commandOf(pid)})`);
}

/** In the ticks that processes are dated with. */
export type ProcessMoment = number;

/** A process that starts from now on has this moment or a later one. */
export function processMoment(): ProcessMoment {
  const ticks = 100;
  const uptime = reading(() => Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]));
  return uptime === null ? 0 : Math.floor(uptime * ticks);
}

function processes(): readonly number[] {
  const names = reading(() => readdirSync("/proc")) ?? [];
  return names.filter((name) => /^\d+$/.test(name)).map(Number);
}

function startOf(pid: number): ProcessMoment | null {
  // The name in parentheses may hold anything; the start is the 20th field after it.
  return reading(() => Number(readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ")[19]));
}

function placesOf(pid: number): readonly string[] {
  const open = (reading(() => readdirSync(`/proc/${pid}/fd`)) ?? []).map((name) => `/proc/${pid}/fd/${name}`);
  return [`/proc/${pid}/cwd`, ...open].flatMap((place) => reading(() => readlinkSync(place)) ?? []);
}

function commandOf(pid: number): string {
  return reading(() => readFileSync(`/proc/${pid}/comm`, "utf8").trim()) ?? "ended";
}

/** A process that has ended meanwhile, or is not ours to look at, tells nothing. */
function reading<Answer>(read: () => Answer): Answer | null {
  try {
    return read();
  } catch {
    return null;
  }
}
