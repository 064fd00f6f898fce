// Writes src/server/engine-schemas.ts: the JSON Schemas of the arguments and answers of every verb of the engine, from the
// types in src/engine/api. With --check it compares, and exits 1 if the file is not up to date.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript-5";

const root = fileURLToPath(new URL("..", import.meta.url));
const api = `${root}src/engine/api/engine-api.ts`;
const handles = { run: "run-handle-api.ts#RunHandle", openRun: "open-run-api.ts#OpenRun" };
const target = `${root}src/server/engine-schemas.ts`;

const config = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile).config;
const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root);
const files = [api, ...Object.values(handles).map((place) => `${root}src/engine/api/${place.split("#")[0]}`)];
const program = ts.createProgram(files, options);
const checker = program.getTypeChecker();

/** Types that are written by their name. Their values are JSON of any form. */
const anyJson = { Json: {}, JsonObject: { type: "object" } };
const definitions = {};
/** True while arguments are read: their names are written in snake case. */
let readsArguments = false;

function exportedType(path, name) {
  const module = checker.getSymbolAtLocation(program.getSourceFile(path));
  const symbol = checker.getExportsOfModule(module).find((exported) => exported.name === name);
  return checker.getDeclaredTypeOfSymbol(
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol,
  );
}

function snakeCase(name) {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function schemaOf(type) {
  const alias = type.aliasSymbol?.name;
  if (alias !== undefined && alias in anyJson) return anyJson[alias];
  const { flags } = type;
  if (flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) return {};
  if (flags & (ts.TypeFlags.Void | ts.TypeFlags.Undefined | ts.TypeFlags.Null)) return { type: "null" };
  if (type.isStringLiteral() || type.isNumberLiteral()) return { const: type.value };
  if (flags & ts.TypeFlags.BooleanLiteral) return { const: type.intrinsicName === "true" };
  if (flags & ts.TypeFlags.StringLike) return { type: "string" };
  if (flags & ts.TypeFlags.NumberLike) return { type: "number" };
  if (flags & ts.TypeFlags.BooleanLike) return { type: "boolean" };
  if (type.isUnion()) return unionSchema(type);
  if (type.isIntersection()) {
    const plain = type.types.find((part) => part.flags & (ts.TypeFlags.StringLike | ts.TypeFlags.NumberLike));
    if (plain !== undefined) return schemaOf(plain);
  }
  const name = type.aliasSymbol?.name ?? type.symbol?.name;
  const hasName =
    name !== undefined && !name.startsWith("__") && !type.aliasTypeArguments && !type.typeArguments?.length;
  if (!hasName || readsArguments) return objectSchema(type);
  if (!(name in definitions)) {
    definitions[name] = null;
    definitions[name] = objectSchema(type);
  }
  return { $ref: `#/components/schemas/${name}` };
}

function unionSchema(type) {
  const parts = type.types.filter((part) => !(part.flags & ts.TypeFlags.Undefined));
  const name = type.aliasSymbol?.name;
  if (name !== undefined && !type.aliasTypeArguments && !readsArguments && parts.length > 1) {
    if (!(name in definitions)) {
      definitions[name] = null;
      definitions[name] = anyOf(parts);
    }
    return { $ref: `#/components/schemas/${name}` };
  }
  return anyOf(parts);
}

function anyOf(parts) {
  const schemas = parts.map(schemaOf).filter((schema) => schema !== undefined);
  const constants = schemas.filter((schema) => "const" in schema);
  const others = schemas.filter((schema) => !("const" in schema));
  const values = constants.map((schema) => schema.const);
  const isBoolean = values.length === 2 && values.includes(true) && values.includes(false);
  const listed = isBoolean ? [{ type: "boolean" }] : values.length === 0 ? [] : [{ enum: values }];
  const all = [...listed, ...others];
  const unique = [...new Map(all.map((schema) => [JSON.stringify(schema), schema])).values()];
  return unique.length === 1 ? unique[0] : { anyOf: unique };
}

function objectSchema(type) {
  if (checker.isTupleType(type)) return { type: "array" };
  if (checker.isArrayType(type) || type.symbol?.name === "ReadonlyArray")
    return { type: "array", items: schemaOf(checker.getTypeArguments(type)[0]) };
  if (type.symbol?.name === "ListPage") return listSchema(type);
  const index = checker.getIndexTypeOfType(type, ts.IndexKind.String);
  const properties = {};
  const required = [];
  for (const property of checker.getPropertiesOfType(type)) {
    if (property.name.startsWith("__@")) continue;
    const of = checker.getTypeOfSymbol(property);
    if (isFunction(of)) continue;
    const name = readsArguments ? snakeCase(property.name) : property.name;
    properties[name] = schemaOf(checker.getNonNullableType(of) === of ? of : withoutUndefined(of));
    if (!(property.flags & ts.SymbolFlags.Optional)) required.push(name);
  }
  return {
    type: "object",
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required }),
    ...(index !== undefined && { additionalProperties: schemaOf(index) }),
    ...(readsArguments && index === undefined && { additionalProperties: false }),
  };
}

/** The rows of a page, and its cursor. */
function listSchema(type) {
  const [row] = checker.getTypeArguments(type);
  return {
    type: "object",
    properties: {
      items: { type: "array", items: schemaOf(row) },
      next: anyOfSchemas("string"),
      count: anyOfSchemas("number"),
    },
    required: ["items", "next", "count"],
  };
}

function anyOfSchemas(type) {
  return { anyOf: [{ type: "null" }, { type }] };
}

function withoutUndefined(type) {
  return type.isUnion() && !type.types.some((part) => part.flags & ts.TypeFlags.Null)
    ? checker.getNonNullableType(type)
    : type;
}

function isFunction(type) {
  const parts = type.isUnion() ? type.types : [type];
  return parts.some((part) => part.getCallSignatures().length > 0 || part.symbol?.name === "AbortSignal");
}

/** Returns the schemas of one method: its arguments before the options, its options, and its answer. */
function methodSchemas(signature) {
  const parameters = signature.getParameters();
  const types = parameters.map((parameter) => checker.getTypeOfSymbol(parameter));
  const last = parameters.at(-1);
  const hasOptions = last !== undefined && ["options", "given", "report"].includes(last.name);
  readsArguments = true;
  const given = {};
  for (const [at, parameter] of parameters.entries()) {
    if (hasOptions && parameter === last) continue;
    if (!isFunction(types[at])) given[snakeCase(parameter.name)] = schemaOf(types[at]);
  }
  const optionSchemas = hasOptions ? optionsSchema(types.at(-1)) : { options: {}, required: [] };
  readsArguments = false;
  return { given, ...optionSchemas, answer: answerSchema(signature.getReturnType()) };
}

/** Merges the options of all members of a union: the engine checks which of them belong together. */
function optionsSchema(type) {
  const members = checker.getNonNullableType(type);
  const parts = members.isUnion() ? members.types : [members];
  const found = {};
  const counts = {};
  for (const part of parts)
    for (const property of checker.getPropertiesOfType(part)) {
      const of = checker.getTypeOfSymbol(property);
      if (property.name === "principal" || isFunction(of)) continue;
      const name = snakeCase(property.name);
      const schema = schemaOf(withoutUndefined(of));
      found[name] = [...(found[name] ?? []), schema];
      if (!(property.flags & ts.SymbolFlags.Optional)) counts[name] = (counts[name] ?? 0) + 1;
    }
  const merged = Object.entries(found).map(([name, schemas]) => [name, mergeSchemas(schemas)]);
  return {
    options: Object.fromEntries(merged),
    required: Object.keys(counts).filter((name) => counts[name] === parts.length),
  };
}

function mergeSchemas(schemas) {
  const unique = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
  if (unique.every((schema) => "const" in schema)) return { enum: unique.map((schema) => schema.const) };
  return unique.length === 1 ? unique[0] : { anyOf: unique };
}

function answerSchema(type) {
  const [awaited] = type.symbol?.name === "Promise" ? checker.getTypeArguments(type) : [type];
  return schemaOf(awaited);
}

function partSchemas(type, prefix, found) {
  for (const property of checker.getPropertiesOfType(type)) {
    const of = checker.getTypeOfSymbol(property);
    const signature = of.getCallSignatures().at(-1);
    if (signature !== undefined) found[`${prefix}${property.name}`] = methodSchemas(signature);
    else if (prefix === "" && of.isClassOrInterface()) partSchemas(of, `${property.name}.`, found);
  }
}

const verbs = {};
partSchemas(exportedType(api, "Engine"), "", verbs);
for (const [prefix, place] of Object.entries(handles)) {
  const [file, name] = place.split("#");
  partSchemas(exportedType(`${root}src/engine/api/${file}`, name), `${prefix}.`, verbs);
}

/** Writes each member on a line of its own. */
function lines(members) {
  return Object.entries(members)
    .map(([name, schema]) => `\n${JSON.stringify(name)}:${JSON.stringify(schema)}`)
    .join(",");
}

function source() {
  const json = `{"verbs":{${lines(verbs)}},\n"definitions":{${lines(definitions)}}}`;
  const text = json.replaceAll("\\", "\\\\").replaceAll("`", "\\`").replaceAll("${", "\\${");
  return `import type { JsonObject } from "../core/values/json.ts";

/** The JSON Schemas of a verb of the engine: its arguments before the options, its options, and its answer. */
export interface VerbSchemas {
  readonly given: Readonly<Record<string, JsonObject>>;
  readonly options: Readonly<Record<string, JsonObject>>;
  readonly required: readonly string[];
  readonly answer: JsonObject;
}

/**
 * The schemas of every verb, and the types that they name. \`node scripts/engine-schemas.js\` writes this file from the types
 * in \`src/engine/api\`.
 */
export const engineSchemas = JSON.parse(
  \`${text}\`,
) as {
  readonly verbs: Readonly<Record<string, VerbSchemas>>;
  readonly definitions: Readonly<Record<string, JsonObject>>;
};
`;
}

const written = source();
if (!process.argv.includes("--check")) writeFileSync(target, written);
else if (readFileSync(target, "utf8") !== written) {
  console.error("src/server/engine-schemas.ts is not up to date; run node scripts/engine-schemas.js");
  process.exit(1);
}
