import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Measurement, MeasurementRound } from "./measurement.ts";
import { median } from "./samples.ts";
import { withScratchFile } from "./scratch-file.ts";

/** 2,000 runs to warm up, then 10,000 measured runs. */
const runsPerPart = 500;
const warmUpParts = 4;
const measuredParts = 20;

/** The memory of a process varies with its heap, so a value is the median of several samples. */
const samplesPerFigure = 7;

const childProgram = fileURLToPath(new URL("./many-runs.js", import.meta.url));

/** Measures the memory growth of a process that executes many runs. The limit is its memory at the beginning. */
export function memoryUse(id: string): Measurement {
  return {
    id,
    about: "memory of a process (RSS) at the end of 10000 runs of a read and an act, 50 at a time",
    limitAbout: "the same at the beginning, after 2000 other runs",
    unit: "MiB",
    goal: { of: "ratio", atMost: 1.1 },
    maxRounds: 1,
    round: () => withScratchFile(measureGrowth),
  };
}

function measureGrowth(file: string): MeasurementRound {
  const args = [childProgram, file, String(runsPerPart), String(warmUpParts + measuredParts)];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${childProgram} exited with ${status}: ${stderr}`);
  const memoryMib = (JSON.parse(stdout) as readonly number[]).slice(warmUpParts).map((bytes) => bytes / 2 ** 20);
  const [limit, value] = [median(memoryMib.slice(0, samplesPerFigure)), median(memoryMib.slice(-samplesPerFigure))];
  return { value, limit, ratio: value / limit };
}
