import { Killer } from "./killer.ts";
import { observeDisk } from "./observe-disk.ts";
import { observeFiles } from "./observe-files.ts";

/** Is loaded before an unmodified program and kills it at its nth write. */
const nth = Number(process.env.WRIT_CRASH_WRITE);
const killer = new Killer(nth > 0 ? { point: "sql", nth } : null);
observeDisk({ writing: () => killer.at("sql"), written: () => {} });
observeFiles(() => killer.at("sql"));
process.on("exit", () => {
  if (process.env.WRIT_CRASH_COUNT !== undefined) process.stderr.write(`\nwrites ${killer.passed.length}\n`);
});
