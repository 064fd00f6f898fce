import { existsSync, readFileSync, statfsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

const memory = "/dev/shm";

/** Memory in which there is room for files, and from which programs may be started. */
function hasMemory(): boolean {
  if (!existsSync("/proc/mounts")) return false;
  const mounts = readFileSync("/proc/mounts", "utf8").split("\n");
  const mount = mounts.findLast((line) => line.split(" ")[1] === memory)?.split(" ")[3] ?? "noexec";
  const { bavail, bsize } = statfsSync(memory);
  return !mount.split(",").includes("noexec") && bavail * bsize > 4 * 2 ** 30;
}

// Files of tests outlive processes, not the power: what is synced is asked of the stores, and no test waits for a disk.
if (process.env.TMPDIR === undefined && hasMemory()) process.env.TMPDIR = memory;

export default defineConfig({
  test: {
    globalSetup: "tests/store/postgres/global-setup.ts",
    // One more than by default: who waits for a process, a server or a disk leaves a core to another.
    maxWorkers: availableParallelism(),
    projects: [
      {
        test: {
          name: "fast",
          include: ["src/**/*.test.ts", "console/**/*.test.ts", "tests/**/*.test.ts"],
          exclude: ["**/*.slow.test.ts"],
          setupFiles: "tests/property-seed.ts",
          // They leave nothing behind in their process; loading everything anew for each file takes longer than the tests.
          isolate: false,
          // Only what hangs takes that long, even on a machine that has other work to do.
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: "postgres",
          // The same stories on the store that needs a server.
          include: ["tests/engine/*.test.ts"],
          exclude: ["**/*.slow.test.ts"],
          setupFiles: "tests/property-seed.ts",
          env: { WRIT_PLACE: "postgres" },
          // One database for all files of a process, besides what the fast ones gain.
          isolate: false,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: "slow",
          include: ["tests/**/*.slow.test.ts"],
          exclude: ["tests/console/**"],
          testTimeout: 240_000,
          hookTimeout: 240_000,
          // These spawn processes and wait for them; they start when the fast ones are done.
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: "console",
          include: ["tests/console/*.slow.test.ts"],
          // One browser, and one copy of the modules, for all files of a process.
          isolate: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 2 },
        },
      },
    ],
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts"],
      exclude: ["src/**/*.test.ts"],
      reporter: ["text-summary", "html"],
      thresholds: { "src/core/**": { branches: 100 } },
    },
  },
});
