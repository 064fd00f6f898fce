export type { WaitingCounts } from "./otel/engine-metrics.ts";
export { type OtelOptions, otel } from "./otel/otel.ts";
