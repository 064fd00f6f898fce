import type { Measurement } from "../measurement.ts";
import { aiSdkTime } from "./adapter-time.ts";
import { gatewayTime } from "./gateway-time.ts";

/** Measurements of the surfaces of Writ: the time that each adds to a call. */
export function surfaceMeasurements(): readonly Measurement[] {
  return [aiSdkTime("adapter.ai-sdk"), gatewayTime("gateway.read", "reads"), gatewayTime("gateway.act", "acts")];
}
