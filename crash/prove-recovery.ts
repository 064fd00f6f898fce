import type { Store } from "../src/core/store/store.ts";
import type { ChildReport } from "./child-task.ts";
import { findLeftovers } from "./find-leftovers.ts";
import { inspectStore, type ProgramSetup, runUserProgram } from "./run-user-program.ts";
import { readWorldEntries } from "./world-log.ts";

/** The setup of the last process of a cell, with its store for one more start. */
export interface RecoverySetup extends ProgramSetup {
  /** The folder of the store. */
  readonly folder: string;
  open(): Store;
}

/** Reads every run without working, runs the program to its end, and then once more, which must change nothing. */
export async function proveRecovery(setup: RecoverySetup): Promise<Omit<ChildReport, "passed">> {
  await inspectStore(setup.store);
  const recovered = await runUserProgram(setup);
  const entries = readWorldEntries(setup.world).length;
  const restarted = await runUserProgram({ ...setup, store: setup.open() });
  return { recovered, restarted, entries, leftovers: findLeftovers(setup.folder) };
}
