import type { JournalPorts } from "../journal/journal-ports.ts";

/** The services that policies, halts and trust use. */
export type RulesPorts = Pick<JournalPorts, "store" | "clock">;
