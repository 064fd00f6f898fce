import assert from "node:assert/strict";
import type { AdapterScenario } from "./adapter-scenario.ts";
import type { AdapterUnderTest } from "./adapter-under-test.ts";
import { approvalScenarios } from "./approval-scenarios.ts";
import { argumentScenarios } from "./argument-scenarios.ts";
import type { CallRecord } from "./call-record.ts";
import { callScenarios } from "./call-scenarios.ts";
import { ContractEnvironment } from "./contract-environment.ts";
import { crashScenarios } from "./crash-scenarios.ts";
import { directCalls } from "./direct-calls.ts";
import { stopScenarios } from "./stop-scenarios.ts";

export interface AdapterCheck {
  readonly title: string;
  /** Rejects with an AssertionError when the adapter breaks the promise in the title. */
  check(): Promise<void>;
}

const scenarios: readonly AdapterScenario[] = [
  ...callScenarios,
  ...argumentScenarios,
  ...approvalScenarios,
  ...stopScenarios,
  ...crashScenarios,
];

/**
 * The checks that every adapter must pass. Any test runner can run them in a loop. Each plays a scenario with the adapter
 * and with direct calls of an open run, and compares what the two leave on record.
 */
export function adapterContract(adapter: AdapterUnderTest): readonly AdapterCheck[] {
  const lacks = new Set(adapter.lacks ?? []);
  return scenarios
    .filter(({ needs = [] }) => !needs.some((trait) => lacks.has(trait)))
    .map((scenario) => ({
      title: scenario.title,
      check: async () => {
        const record = await play(scenario, adapter);
        const { isCompared = scenario.needs?.includes("model") !== true } = scenario;
        if (isCompared) assert.deepEqual(record, await play(scenario, directCalls));
      },
    }));
}

async function play(scenario: AdapterScenario, adapter: AdapterUnderTest): Promise<readonly CallRecord[]> {
  const { script, gated = false, engine = {}, work = {}, maxRetries = 0 } = scenario;
  const stage = await ContractEnvironment.start(adapter, { script: script(), gated, engine, work, maxRetries });
  try {
    await scenario.play(stage);
    return await stage.record();
  } finally {
    await stage.close();
  }
}
