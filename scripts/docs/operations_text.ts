import { globSync } from 'node:fs';
import { join } from 'node:path';
import type { TSchema } from 'typebox';
import { api_reference } from '../../server/api/reference/reference.ts';
import type { JsonObject } from '../../server/platform/http/openapi/json.ts';
import { publicDocument } from '../../server/platform/http/openapi/public_document.ts';
import { documentedRoute } from '../../server/platform/http/responses.ts';
import type { OpenRoutes } from './openapi_document.ts';

/** An operation of the API with the schemas of its route. */
export type Operation = {
  method: string;
  path: string;
  query: TSchema | undefined;
  body: TSchema | undefined;
  answer: TSchema | undefined;
};

/** The parts of JSON Schema that the routes use. */
type Shape = {
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: TSchema[];
  properties?: Record<string, TSchema>;
  required?: string[];
  items?: TSchema;
  additionalProperties?: boolean | TSchema;
  patternProperties?: Record<string, TSchema>;
};

const root = join(import.meta.dirname, '../..');

const head = `// Length: a line for each operation.
// Written by \`npm run docs:operations\` from the routes of the server.
import type { Static } from 'typebox';
import type { Continued, Listed } from './http/list.ts';
`;

/**
 * Returns the text of console/operations.ts: a line for each operation, with the types of its
 * query, body and answer. It imports the schemas that a schema.ts exports, so that a changed field
 * shows without writing the file again. It writes the others out.
 */
export async function operationsText(operations: readonly Operation[]): Promise<string> {
  const names = await exportedSchemas();
  const taken = new Map<string, Set<string>>();
  const typeOf = (schema: TSchema | undefined): string => {
    if (schema === undefined) return 'undefined';
    const known = names.get(schema);
    if (known === undefined) return writtenOut(schema, typeOf);
    taken.set(known.module, (taken.get(known.module) ?? new Set()).add(known.name));
    return `Static<typeof ${known.name}>`;
  };
  const lines = operations
    .toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
    .map(
      ({ query, body, answer, ...operation }) =>
        `  '${keyOf(operation)}': [${typeOf(query)}, ${typeOf(body)}, ${typeOf(answer)}];\n`,
    );
  const imports = [...taken]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(
      ([module, found]) =>
        `import type { ${[...found].toSorted().join(', ')} } from '../${module}';\n`,
    );
  return `${head}${imports.join('')}
/** The operations of the API: the types of their query, body and answer. */
export type Operations = {
${lines.join('')}};
`;
}

function keyOf({ method, path }: Pick<Operation, 'method' | 'path'>): string {
  return `${method} ${path}`;
}

/** The schemas that schema.ts files export, by object identity. */
async function exportedSchemas(): Promise<Map<unknown, { module: string; name: string }>> {
  const found = new Map<unknown, { module: string; name: string }>();
  const used = new Set<string>();
  for (const module of globSync('server/api/**/schema.ts', { cwd: root }).toSorted())
    for (const [name, value] of Object.entries(
      (await import(join(root, module))) as Record<string, unknown>,
    ))
      if (typeof value === 'object' && value !== null && !used.has(name)) {
        found.set(value, { module, name });
        used.add(name);
      }
  return found;
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value);
}

function writtenOut(schema: Shape, typeOf: (schema: TSchema) => string): string {
  const { enum: choices, anyOf } = schema;
  if (choices !== undefined) return choices.map((choice) => literal(choice)).join(' | ');
  if (schema.const !== undefined) return literal(schema.const);
  if (anyOf !== undefined) return anyOf.map(typeOf).join(' | ');
  return [schema.type ?? 'unknown']
    .flat()
    .map((type) => ofType(type, schema, typeOf))
    .join(' | ');
}

/** The names of the lists of the API, by their fields. */
const envelopes: Record<string, string> = {
  'count,next,previous,results': 'Listed',
  'next,previous,results': 'Continued',
};

function ofType(type: string, schema: Shape, typeOf: (schema: TSchema) => string): string {
  if (type === 'integer') return 'number';
  if (type === 'array')
    return schema.items === undefined ? 'unknown[]' : `(${typeOf(schema.items)})[]`;
  if (type !== 'object') return type;
  const { properties = {}, required = [], additionalProperties, patternProperties } = schema;
  const envelope = envelopes[Object.keys(properties).join()];
  if (envelope !== undefined)
    return `${envelope}<${typeOf((properties['results'] as Shape).items!)}>`;
  const fields = Object.entries(properties).map(
    ([name, field]) =>
      (/^\w+$/.test(name) ? name : literal(name)) +
      `${required.includes(name) ? '' : '?'}: ${typeOf(field)}`,
  );
  if (fields.length > 0) return `{ ${fields.join('; ')} }`;
  const [values] = Object.values(patternProperties ?? {});
  const others =
    values ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined);
  return `Record<string, ${others === undefined ? 'unknown' : typeOf(others)}>`;
}

/** Returns the operations of an application's OpenAPI document, with the schemas of its routes. */
export function operationsOf({ app, routes }: OpenRoutes): Operation[] {
  const { paths } = publicDocument(app.swagger(), api_reference, 'api');
  const shown = new Set(Object.keys(paths as JsonObject));
  return routes.flatMap((route) => {
    const { declared } = route.config ?? {};
    const method = String(route.method);
    if (declared === undefined || method === 'HEAD') return [];
    if (!shown.has(route.url.replaceAll(/:(\w+)/g, '{$1}'))) return [];
    const answers = (declared.response ?? {}) as Record<string, TSchema>;
    const status = Object.keys(answers).find((one) => one.startsWith('2') && one !== '204');
    return [
      {
        method,
        path: route.url,
        query: documentedRoute(route)?.querystring as TSchema | undefined,
        body: declared.body as TSchema | undefined,
        answer: status === undefined ? undefined : answers[status],
      },
    ];
  });
}
