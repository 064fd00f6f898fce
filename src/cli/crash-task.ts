import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FaultError, fault } from "../core/fault.ts";
import type { Json } from "../core/json/json.ts";
import type { Recorded } from "./crash-window.ts";

/** The name under which the program starts itself to be killed. Not for people, so no help lists it. */
export const victimName = "crashtest-victim";

/** What a process that is to be killed shall do, left in the scratch folder in which it does it. */
export interface CrashTask {
  readonly tool: string;
  readonly input: Json;
  /** How long the act may take to come to rest. */
  readonly patience_ms: number;
}

/** What a process that lived has to say. */
export interface CrashReport {
  readonly run_id: string;
  readonly recorded: Recorded;
  /** False: it would still have moved by itself, but nobody waited any longer. */
  readonly settled: boolean;
  /** Why it is not simply done, in words. */
  readonly note: string | null;
}

/** Named like nothing else, so that no store of a user is ever taken for a scratch one. */
export const scratchStore = (folder: string): string => join(folder, "crashtest.db");

const taskFile = (folder: string): string => join(folder, "crashtest.json");

export function writeTask(folder: string, task: CrashTask): void {
  writeFileSync(taskFile(folder), JSON.stringify(task), { flag: "wx" });
}

/** Without a task that `writ crashtest` has left there, a folder is no place to act in. */
export function readTask(folder: string): CrashTask {
  try {
    return JSON.parse(readFileSync(taskFile(folder), "utf8")) as CrashTask;
  } catch (cause) {
    const message = `${victimName} is what writ crashtest starts in a scratch folder, and ${folder} is none; use writ crashtest`;
    throw new FaultError(fault("INVALID_INPUT", message), { cause });
  }
}
