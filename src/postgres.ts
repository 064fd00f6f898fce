export { type MigrateOptions, type MigrationResult, migrate } from "./store/postgres/migrate.ts";
export { type PostgresOptions, postgres } from "./store/postgres/postgres-store.ts";
