import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { MeasurementRound } from "./measurement.ts";

const program = fileURLToPath(new URL("main.js", import.meta.url));

/** Measures one round in a new process, whose code is not compiled yet. */
export async function coldRound(id: string): Promise<Pick<MeasurementRound, "value" | "limit" | "ratio">> {
  const args = [program, "--json", "--cold", "--only", id];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const { results } = JSON.parse(stdout) as { readonly results: readonly MeasurementRound[] };
  const [{ value, limit, ratio } = { value: Number.NaN, limit: Number.NaN, ratio: Number.NaN }] = results;
  return { value, limit, ratio };
}
