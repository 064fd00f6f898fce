export { type OtelOptions, otel } from "./otel/otel.ts";
