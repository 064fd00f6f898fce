import type { Failpoints } from "../ports/failpoint.ts";
import type { StatePorts } from "../state/state-ports.ts";
import type { ResourceRegistry } from "./resource-registry.ts";

/** The services that restoring resources uses. */
export interface ResourceRestorePorts extends StatePorts {
  readonly resources: ResourceRegistry;
  readonly failpoint: Failpoints;
}
