import { type Disk, realDisk } from "../src/resources/host/disk.ts";

/** What changes something. The others only look. */
const changing = [
  ...(["chmodSync", "chownSync", "fdatasyncSync", "fsyncSync", "ftruncateSync", "lchownSync", "linkSync"] as const),
  ...(["lutimesSync", "mkdirSync", "openSync", "renameSync", "rmdirSync", "symlinkSync", "unlinkSync"] as const),
  ...(["fchmodSync", "fchownSync", "futimesSync", "utimesSync", "writeSync"] as const),
];

type Step = (typeof changing)[number];

export interface TroubledDisk {
  readonly disk: Disk;
  /** From now on. */
  arm(): void;
}

/** A disk on which something happens at the n-th step that changes anything; a write is half done then. */
function diskThat(happens: (step: Step, count: number) => void): TroubledDisk {
  let count = Number.NEGATIVE_INFINITY;
  const steps = changing.map((step) => [
    step,
    (...args: unknown[]) => {
      count += 1;
      if (step === "writeSync") halfWritten(() => happens(step, count), args);
      else happens(step, count);
      return (realDisk[step] as (...args: unknown[]) => unknown)(...args);
    },
  ]);
  const disk = { ...realDisk, ...(Object.fromEntries(steps) as Partial<Disk>) };
  return {
    disk,
    arm: () => {
      count = 0;
    },
  };
}

function halfWritten(happens: () => void, [file, bytes, from, length, at]: unknown[]): void {
  try {
    happens();
  } catch (error) {
    const half = Math.floor((length as number) / 2);
    if (half > 0) realDisk.writeSync(file as number, bytes as Uint8Array, from as number, half, at as number | null);
    throw error;
  }
}

/** The process ends at a step: whatever it tries after that does not happen either. */
export class Death extends Error {}

export function deadlyDisk(at: number): TroubledDisk {
  return diskThat((_, count) => {
    if (count >= at) throw new Death();
  });
}

/** No room left, for so many steps that need some. */
export function fullDisk(from: number, times: number): TroubledDisk {
  const needy = new Set<Step>(["writeSync", "mkdirSync", "linkSync", "symlinkSync", "fsyncSync", "fdatasyncSync"]);
  let needs = 0;
  return diskThat((step, count) => {
    if (!needy.has(step) || count < 1) return;
    needs += 1;
    if (needs < from || needs >= from + times) return;
    throw Object.assign(new Error(`ENOSPC: no space left on device, ${step}`), { code: "ENOSPC" });
  });
}
