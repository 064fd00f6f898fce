import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseSync } from "oxc-parser";

interface ExportedName {
  readonly name: string;
  readonly text: string;
}

/** Lists every name that an entry point exports with its declaration, sorted. */
export function apiReport(dist: string, entryPoint: string): string {
  const names = exportsOf(join(dist, `${entryPoint}.d.ts`)).sort((left, right) => (left.name < right.name ? -1 : 1));
  const blocks = names.map(({ name, text }) => `## ${name}\n\n\`\`\`ts\n${text}\n\`\`\`\n`);
  return [`# Entry point \`writ${entryPoint === "index" ? "" : `/${entryPoint}`}\`\n`, ...blocks].join("\n");
}

function exportsOf(path: string): ExportedName[] {
  const { program } = parseSync(path, readFileSync(path, "utf8"));
  return program.body.flatMap((node) => {
    if (node.type !== "ExportNamedDeclaration" || node.source === null) return [];
    const from = join(dirname(path), node.source.value.replace(/\.js$/, ".d.ts"));
    return node.specifiers.map(({ exported, local }) => {
      const name = "name" in exported ? exported.name : exported.value;
      return { name, text: declarationOf(from, "name" in local ? local.name : local.value) };
    });
  });
}

/** Returns the declaration of a name with its comment, as the compiler emitted it. */
function declarationOf(path: string, name: string): string {
  if (!existsSync(path)) throw new Error(`${path} is not built; run npm run build`);
  const text = readFileSync(path, "utf8");
  const { program } = parseSync(path, text);
  const found = program.body.find((node) => {
    const declared = node.type === "ExportNamedDeclaration" ? node.declaration : null;
    if (declared === null || declared === undefined) return false;
    if ("id" in declared && declared.id !== null && "name" in declared.id) return declared.id.name === name;
    return "declarations" in declared && declared.declarations.some(({ id }) => "name" in id && id.name === name);
  });
  if (found === undefined) throw new Error(`${path} does not declare ${name}`);
  return text.slice(found.start, found.end).replaceAll(/\n +readonly #\w+[^;]*;/g, "");
}
