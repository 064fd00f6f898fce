import { actBugs } from "./act-bugs.ts";
import { fileBugs } from "./file-bugs.ts";
import { haltBugs } from "./halt-bugs.ts";
import { leaseBugs } from "./lease-bugs.ts";
import { limitBugs } from "./limit-bugs.ts";
import { modelBugs } from "./model-bugs.ts";
import type { PlantedBug } from "./plant-bug.ts";
import { rollbackBugs } from "./rollback-bugs.ts";
import { runBugs } from "./run-bugs.ts";
import { sessionBugs } from "./session-bugs.ts";
import { signalBugs } from "./signal-bugs.ts";
import { stateBugs } from "./state-bugs.ts";
import { voteBugs } from "./vote-bugs.ts";

export const plantedBugs: readonly PlantedBug[] = [
  ...actBugs,
  ...signalBugs,
  ...leaseBugs,
  ...runBugs,
  ...haltBugs,
  ...limitBugs,
  ...stateBugs,
  ...voteBugs,
  ...fileBugs,
  ...sessionBugs,
  ...modelBugs,
  ...rollbackBugs,
];
