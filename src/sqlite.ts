export { type SqliteOptions, sqlite } from "./store/sqlite/sqlite-store.ts";
