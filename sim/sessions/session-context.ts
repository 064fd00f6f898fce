import type { MemoryStore } from "../../src/store/memory/memory-store.ts";
import type { Rng } from "../rng.ts";
import type { VirtualScheduler } from "../virtual-scheduler.ts";
import type { ConversationObserver } from "./conversation-observer.ts";
import type { FamilyObserver } from "./family-observer.ts";
import type { SessionCounters } from "./session-counters.ts";
import type { SessionObserver } from "./session-observer.ts";

/** A call of the script of an agent. The script is the same at every start of its loop. */
export interface ScriptedCall {
  readonly id: string;
  /** send: the handler acts. look: the handler reads. act, read: the host does the work itself. */
  readonly kind: "send" | "look" | "act" | "read";
  /** True: the loop also proposes another call under this id. */
  readonly isReused: boolean;
}

/** The parameters of one seed. */
export interface SessionConfig {
  readonly processes: number;
  readonly sessions: number;
  readonly calls: number;
  readonly isGated: boolean;
  /** The steps after which a run is full. */
  readonly segmentSteps: number;
  /** The probability of a killed process per step. */
  readonly killed: number;
  /** The probability that a host dies with its work. */
  readonly hostDies: number;
  readonly faultSteps: number;
  /** The probability that the model does not answer, or that its stream is cut. */
  readonly modelFails: number;
  /** True: users edit their messages, prompts have a clock, and programs leave a turn. */
  readonly branches: boolean;
  /** The time without a call after which a session is released. */
  readonly releaseMs: number;
  /** The time until the deadline of a loop, which its sub-agents inherit. */
  readonly deadlineMs: number;
  /** The sends that a root session pays for; null: no budget. */
  readonly sends: number | null;
}

/** The shared objects of one simulation. */
export interface SessionContext {
  readonly rng: Rng;
  readonly config: SessionConfig;
  readonly scheduler: VirtualScheduler;
  readonly store: MemoryStore;
  readonly observer: SessionObserver;
  readonly conversations: ConversationObserver;
  readonly families: FamilyObserver;
  readonly counts: SessionCounters;
  /** By the id of a call: how often its effect happened in the world. */
  readonly effects: Map<string, number>;
  /** By the root session: how often it has sent. */
  readonly sends: Map<string, number>;
  /** True once the faults have ended. */
  isSettling: boolean;
  newId(prefix: string): string;
  violate(law: string): void;
}

const simTenant = "acme";
export const simAgent = { id: "bot", kind: "agent", tenant: simTenant } as const;
export const simPerson = { id: "ana", kind: "person", tenant: simTenant } as const;

/** Lets an action of the world or of a person happen after a time. */
export function later({ scheduler }: SessionContext, ms: number, name: string, work: () => void): void {
  const execute = () => {
    work();
    return "done";
  };
  scheduler.addAt(scheduler.now() + ms, { name, owner: 0, about: "", execute });
}
