import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** Where `npm run build` puts the console: the same place for the source and for the built package. */
const builtFolder = fileURLToPath(new URL("../../dist/console/", import.meta.url));

const mediaTypes: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  md: "text/plain; charset=utf-8",
  svg: "image/svg+xml",
};

/** The compressed forms of a file, best first, as the build writes them beside it. */
const encodings = [
  { name: "br", ending: ".br" },
  { name: "gzip", ending: ".gz" },
] as const;

interface StoredFile {
  readonly type: string;
  readonly etag: string;
  /** The bytes by content encoding. The key `identity` is always present. */
  readonly bodies: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

const missingPage = `<!doctype html>
<html lang="en"><head><meta charset="utf-8" /><title>Writ</title></head>
<body><h1>The console was not built</h1>
<p>This server runs from its source. Run <code>npm run build</code>, then load this page again.
The HTTP API and the command line work without the console.</p></body></html>
`;

/** The built files of the console, in memory. Only names that the build wrote are served. */
export class ConsoleFiles {
  readonly #files: ReadonlyMap<string, StoredFile>;
  /** Identifies the build. Null: the console was not built. */
  readonly buildId: string | null;

  /** Reads the files of a folder. Default: those of this package. */
  constructor(folder: string = builtFolder) {
    this.#files = readStoredFiles(folder);
    const page = this.#files.get("index.html")?.bodies.get("identity");
    this.buildId = /<meta name="writ-build" content="([^"]+)"/.exec(new TextDecoder().decode(page))?.[1] ?? null;
  }

  /** Returns the page. Its scripts and styles have hashed names, so that it is never kept. */
  page(request: Request, status: 200 | 404): Response {
    const page = this.#files.get("index.html");
    const headers = { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" };
    if (page === undefined) return new Response(missingPage, { status: 503, headers });
    return answer(page, request, { "cache-control": "no-store" }, status);
  }

  /** Returns a file below `/assets/`, or null. The name of such a file changes with its content. */
  asset(name: string, request: Request): Response | null {
    const file = this.#files.get(`assets/${name}`);
    if (file === undefined) return null;
    if (request.headers.get("if-none-match") === `"${file.etag}"`) return new Response(null, { status: 304 });
    return answer(file, request, { "cache-control": "public, max-age=31536000, immutable" }, 200);
  }

  /** Returns the licences of the libraries in the console, or null if it was not built. */
  licences(request: Request): Response | null {
    const file = this.#files.get("licences.md");
    return file === undefined ? null : answer(file, request, { "cache-control": "no-store" }, 200);
  }
}

function readStoredFiles(folder: string): ReadonlyMap<string, StoredFile> {
  const files = new Map<string, StoredFile>();
  if (!existsSync(folder)) return files;
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const type = mediaTypes[name.slice(name.lastIndexOf(".") + 1)];
    if (type === undefined) continue;
    const path = join(folder, name);
    const plain = new Uint8Array(readFileSync(path));
    const bodies = new Map([["identity", plain]]);
    for (const { name: encoding, ending } of encodings) {
      if (existsSync(`${path}${ending}`)) bodies.set(encoding, new Uint8Array(readFileSync(`${path}${ending}`)));
    }
    const etag = createHash("sha256").update(plain).digest("base64url").slice(0, 16);
    files.set(name.split(sep).join("/"), { type, etag, bodies });
  }
  return files;
}

function answer(
  { type, etag, bodies }: StoredFile,
  request: Request,
  headers: Readonly<Record<string, string>>,
  status: number,
): Response {
  const accepted = request.headers.get("accept-encoding") ?? "";
  const encoding = encodings.map(({ name }) => name).find((name) => accepted.includes(name) && bodies.has(name));
  return new Response(bodies.get(encoding ?? "identity") ?? null, {
    status,
    headers: {
      ...headers,
      "content-type": type,
      etag: `"${etag}"`,
      vary: "accept-encoding",
      ...(encoding !== undefined && { "content-encoding": encoding }),
    },
  });
}
