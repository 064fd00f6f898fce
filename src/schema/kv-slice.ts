import { defineSlice } from "./define-slice.ts";

/** The slice `kv`, with a free key space: each key has any JSON value. */
export const kvSlice = defineSlice({ name: "kv", shape: "map", entry: {} });
