import { writeSync } from "node:fs";
import { connectSqlite } from "../src/store/sqlite/sqlite-driver.ts";
import { WORKER_READY } from "./worker-task.ts";

/** A program beside Writ that reads the file and never ends its transaction. It exits when its input closes. */
const db = connectSqlite(process.argv[2] ?? "");
db.exec("pragma busy_timeout = 10000; begin");
db.prepare("select count(*) from event").get();
writeSync(1, WORKER_READY);
process.stdin.on("end", () => process.exit(0)).resume();
