import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Measurement, Round } from "./measurement.ts";
import { median } from "./samples.ts";
import { withScratch } from "./scratch.ts";

/** 2,000 runs to warm up, 10,000 that count. */
const partRuns = 500;
const warmUp = 4;
const counted = 20;

/** What a process holds goes up and down with its heap, so several looks make one figure. */
const looks = 7;

const child = fileURLToPath(new URL("./many-runs.js", import.meta.url));

/** What a process that does run after run holds in memory. Flat is the limit. */
export function memory(id: string): Measurement {
  return {
    id,
    about: "memory of a process (RSS) at the end of 10000 runs of a read and an act, 50 at a time",
    beside: "the same at their beginning, after 2000 others",
    unit: "MiB",
    goal: { of: "ratio", atMost: 1.1 },
    enough: 1,
    round: () => withScratch(heldOver),
  };
}

function heldOver(file: string): Round {
  const args = [child, file, String(partRuns), String(warmUp + counted)];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${child} exited with ${status}: ${stderr}`);
  const held = (JSON.parse(stdout) as readonly number[]).slice(warmUp).map((bytes) => bytes / 2 ** 20);
  const [limit, value] = [median(held.slice(0, looks)), median(held.slice(-looks))];
  return { value, limit, ratio: value / limit };
}
