import { brotliCompressSync, constants } from "node:zlib";
import { build } from "esbuild";
import { pageScripts } from "../../tests/console/page-scripts.ts";
import { repositoryPath } from "../../tests/repo/repository-path.ts";
import type { Measurement } from "../measurement.ts";

/** The libraries that every page needs. */
const libraries = ["preact", "preact/hooks", "@preact/signals", "preact-iso"];

/** Measures the compressed scripts of the page that needs the most. */
export function consoleBytes(id: string): Measurement {
  return {
    id,
    about: "the scripts that the largest page of the console loads, compressed (Brotli)",
    limitAbout: "the libraries that every page needs, in one script, compressed",
    unit: "KB",
    goal: { of: "value", atMost: 80 },
    maxRounds: 1,
    round: async () => {
      const value = Math.max(...pageScripts().map(({ bytes }) => bytes)) / 1024;
      const limit = (await libraryBytes()) / 1024;
      return { value, limit, ratio: value / limit };
    },
  };
}

async function libraryBytes(): Promise<number> {
  const contents = libraries.map((name, at) => `export * as library${at} from "${name}";`).join("\n");
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: repositoryPath() },
    bundle: true,
    minify: true,
    format: "esm",
    write: false,
  });
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
  return outputFiles.reduce((sum, { contents: bytes }) => sum + brotliCompressSync(bytes, { params }).length, 0);
}
