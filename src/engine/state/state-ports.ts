import type { Policy } from "../../core/call/guard.ts";
import type { Run } from "../../core/run/run.ts";
import type { Slice } from "../../core/state/slice.ts";
import type { Tool } from "../../core/tool/tool.ts";
import type { JournalPorts } from "../journal/journal-ports.ts";
import type { NewId } from "../ports/system-ports.ts";
import type { ProjectStates } from "./project-states.ts";

/** The services that project states and attempts use. */
export interface StatePorts extends JournalPorts {
  readonly newId: NewId;
  readonly slices: readonly Slice[];
  readonly projects: ProjectStates;
  readonly policies: { of(run: Run): Policy | null };
  readonly toolbox: { get(name: string): Tool | undefined };
}
