import type { Command } from "../../core/decide/command.ts";
import type { Decision } from "../../core/decide/decide.ts";
import type { Event } from "../../core/event/event.ts";
import type { Run } from "../../core/run/run.ts";
import type { Check } from "../../core/store/store.ts";
import { assert } from "../../core/values/assert.ts";

/** Makes the command for each decision anew, with the facts as they are then. `run` is the run that decides it. */
export type MakeCommand = (run: Run) => Command;

export interface QueuedCommand {
  readonly make: MakeCommand;
  /** The outcome of a call: the mailbox offers it until the store has it or the run is lost. */
  readonly mustLand: boolean;
  readonly answer: (decision: Decision) => void;
  readonly refuse: (error: unknown) => void;
}

/** A caller that waits until the store has something. */
export interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Commands that were decided one after the other, and their events, which are one entry. */
export interface Batch {
  readonly commands: QueuedCommand[];
  readonly decisions: Decision[];
  readonly events: Event[];
  readonly before: Run;
  after: Run;
}

export function newBatch(before: Run): Batch {
  return { commands: [], decisions: [], events: [], before, after: before };
}

/** Returns one batch of two that were decided one after the other. One of them may be absent. */
export function joinBatches(first: Batch | null, second: Batch | null): Batch {
  const only = first === null ? second : second === null ? first : null;
  if (only !== null) return only;
  assert(first !== null && second !== null, "an append has events");
  return {
    commands: [...first.commands, ...second.commands],
    decisions: [...first.decisions, ...second.decisions],
    events: [...first.events, ...second.events],
    before: first.before,
    after: second.after,
  };
}

/** Returns the commands of a batch without their callers, which have their answers. */
export function answeredCommands({ commands }: Batch): readonly QueuedCommand[] {
  return commands.map(({ make }) => ({ make, mustLand: true, answer: () => {}, refuse: () => {} }));
}

/** Adds indices one by one: concatenating the lists of a thousand decisions takes longer than the decisions. */
export function readyIndices({ decisions }: Batch): readonly number[] {
  const all: number[] = [];
  for (const { fresh } of decisions) for (const index of fresh) all.push(index);
  return all;
}

export function batchChecks({ decisions }: Batch): readonly Check[] {
  const all: Check[] = [];
  for (const { checks } of decisions) all.push(...checks);
  return all;
}
