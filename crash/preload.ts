import { Killer } from "./killer.ts";
import { layUnder } from "./machine.ts";

/** Loaded before a program that knows nothing of it: kills it at its nth write, whatever it is doing then. */
const nth = Number(process.env.WRIT_CRASH_WRITE);
const killer = new Killer(nth > 0 ? { point: "sql", nth } : null);
layUnder({ writing: () => killer.at("sql"), written: () => {} });
process.on("exit", () => {
  if (process.env.WRIT_CRASH_COUNT !== undefined) process.stderr.write(`\nwrites ${killer.passed.length}\n`);
});
