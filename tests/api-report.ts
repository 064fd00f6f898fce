import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseSync } from "oxc-parser";

interface Exported {
  readonly name: string;
  readonly text: string;
}

/** Every name a door exports with its whole declaration, sorted: what a user of the package can see and rely on. */
export function apiReport(dist: string, door: string): string {
  const names = exportsOf(join(dist, `${door}.d.ts`)).sort((left, right) => (left.name < right.name ? -1 : 1));
  const blocks = names.map(({ name, text }) => `## ${name}\n\n\`\`\`ts\n${text}\n\`\`\`\n`);
  return [`# The door \`writ${door === "index" ? "" : `/${door}`}\`\n`, ...blocks].join("\n");
}

function exportsOf(path: string): Exported[] {
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

/** The declaration of one name, with the comment above it, as the compiler emitted it. */
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
