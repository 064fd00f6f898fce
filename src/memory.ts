export { type MemoryOptions, memory } from "./store/memory/memory.ts";
