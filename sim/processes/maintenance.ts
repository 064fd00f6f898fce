import { statSync } from "node:fs";
import { FaultError } from "../../src/core/values/fault.ts";
import { openDatabase } from "../../src/store/sqlite/open-database.ts";
import { connectSqlite, type SqliteDatabase } from "../../src/store/sqlite/sqlite-driver.ts";
import type { FileContext } from "./file-context.ts";
import type { FileProcess } from "./file-process.ts";

/** The work on a whole file: its log is emptied while a program reads it, and a newer version opens it. */
export class Maintenance {
  readonly #sim: FileContext;
  /** The connection of a program that reads. */
  #reader: SqliteDatabase | null = null;

  constructor(sim: FileContext) {
    this.#sim = sim;
  }

  /** Another program reads the file for a while. */
  read(): void {
    const { scheduler, rng, counts, file } = this.#sim;
    if (this.#reader !== null) return;
    counts.readers += 1;
    this.#reader = connectSqlite(file);
    this.#reader.exec("begin");
    this.#reader.prepare("select count(*) from lease").all();
    const execute = () => {
      this.close();
      return "left";
    };
    scheduler.addAt(scheduler.now() + rng.below(4000), { name: "reader", owner: 0, about: "", execute });
  }

  close(): void {
    this.#reader?.close();
    this.#reader = null;
  }

  /** F8: a process that reports an empty log has emptied it. */
  truncate(process: FileProcess): void {
    const { scheduler, counts, file, violate } = this.#sim;
    const execute = () => {
      counts.truncations += 1;
      void process.truncateLog().then(
        (found) => {
          const { size } = statSync(`${file}-wal`);
          if (found === "empty" && size > 0)
            violate(`F8: ${process.worker} reports an empty log, which has ${size} bytes`);
        },
        () => {}, // Another program holds the write lock.
      );
      return "called";
    };
    scheduler.add({ name: "truncate", owner: process.number, about: "", execute });
  }

  /** F9: a newer version that opens the file migrates nothing while a process has it open. */
  upgrade(processes: readonly FileProcess[]): void {
    const { counts, file, violate } = this.#sim;
    if (!processes.some(({ alive }) => alive)) return;
    const db = connectSqlite(file);
    const removed = db
      .prepare("delete from migration where number = (select max(number) from migration) returning number, name")
      .all() as readonly { readonly number: number; readonly name: string }[];
    counts.upgrades += 1;
    try {
      openDatabase(file).db.close();
      violate("F9: a newer version migrated the file while a process has it open");
    } catch (error) {
      if (!(error instanceof FaultError) || error.fault.code !== "STORE_BUSY")
        violate(`F9: a newer version began to migrate the file while a process has it open: ${error}`);
    }
    for (const { number, name } of removed)
      db.prepare("insert or ignore into migration (number, name) values (?, ?)").run(number, name);
    db.close();
  }
}
