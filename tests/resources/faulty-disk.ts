import { type Disk, realDisk } from "../../src/resources/host/disk.ts";

/** The functions that change the disk. All others only read. */
const changingSteps = [
  ...(["chmodSync", "chownSync", "fdatasyncSync", "fsyncSync", "ftruncateSync", "lchownSync", "linkSync"] as const),
  ...(["lutimesSync", "mkdirSync", "openSync", "renameSync", "rmdirSync", "symlinkSync", "unlinkSync"] as const),
  ...(["fchmodSync", "fchownSync", "futimesSync", "utimesSync", "writeSync"] as const),
];

type Step = (typeof changingSteps)[number];

export interface FaultyDisk {
  readonly disk: Disk;
  /** Starts to count. */
  arm(): void;
}

/** Makes a disk that calls `onStep` before each change. If it throws during a write, half of the bytes are written. */
function diskWithEventAt(onStep: (step: Step, count: number) => void): FaultyDisk {
  let count = Number.NEGATIVE_INFINITY;
  const steps = changingSteps.map((step) => [
    step,
    (...args: unknown[]) => {
      count += 1;
      if (step === "writeSync") writeHalf(() => onStep(step, count), args);
      else onStep(step, count);
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

function writeHalf(onStep: () => void, [file, bytes, from, length, at]: unknown[]): void {
  try {
    onStep();
  } catch (error) {
    const half = Math.floor((length as number) / 2);
    if (half > 0) realDisk.writeSync(file as number, bytes as Uint8Array, from as number, half, at as number | null);
    throw error;
  }
}

/** Simulates the death of the process: this step and all later ones fail. */
export class SimulatedDeath extends Error {}

export function crashingDisk(at: number): FaultyDisk {
  return diskWithEventAt((_, count) => {
    if (count >= at) throw new SimulatedDeath();
  });
}

/** Makes a disk without space for a number of steps that need some. */
export function fullDisk(from: number, times: number): FaultyDisk {
  const spaceSteps = new Set<Step>(["writeSync", "mkdirSync", "linkSync", "symlinkSync", "fsyncSync", "fdatasyncSync"]);
  let spaceCount = 0;
  return diskWithEventAt((step, count) => {
    if (!spaceSteps.has(step) || count < 1) return;
    spaceCount += 1;
    if (spaceCount < from || spaceCount >= from + times) return;
    throw Object.assign(new Error(`ENOSPC: no space left on device, ${step}`), { code: "ENOSPC" });
  });
}
