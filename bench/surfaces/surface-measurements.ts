import type { Measurement } from "../measurement.ts";
import { aiSdkTime } from "./adapter-time.ts";
import { apiOverhead, apiTail } from "./api-time.ts";
import { gatewayTime } from "./gateway-time.ts";
import { streamCuts } from "./stream-cuts.ts";

/** Measurements of the surfaces of Writ: the time that each adds to a call, and the streams of the server. */
export function surfaceMeasurements(): readonly Measurement[] {
  return [
    aiSdkTime("adapter.ai-sdk"),
    gatewayTime("gateway.read", "reads"),
    gatewayTime("gateway.act", "acts"),
    apiOverhead("api.overhead"),
    apiTail("api.p99"),
    streamCuts("sse.reconnects"),
  ];
}
