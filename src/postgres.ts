export { type Migrated, type MigrateOptions, migrate } from "./store/postgres/migrate.ts";
export { type PostgresOptions, postgres } from "./store/postgres/postgres-store.ts";
