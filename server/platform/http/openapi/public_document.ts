import { codeSamples } from './code_samples.ts';
import type { SampledRequest } from './code_samples.ts';
import type { Json, JsonObject } from './json.ts';
import type { ApiReference, Example } from './reference.ts';

/** The parts of an operation that this code reads. */
type Operation = JsonObject & {
  operationId: string;
  tags: string[];
  parameters?: JsonObject[];
  requestBody?: { content: Record<string, JsonObject> };
  responses: Record<string, { content?: Record<string, JsonObject> }>;
};
type Paths = Record<string, Record<string, Operation>>;

/** The document to write: the API, or the routes of foreign protocols. */
export type Part = 'api' | 'apart';

/**
 * Returns the published document: the operations of one part in the order of their tags, tags with
 * their texts, and the components that these operations use. A tag without a text comes last.
 */
export function publicDocument(whole: object, reference: ApiReference, part: Part): JsonObject {
  const { paths, components, info, ...rest } = whole as JsonObject & { paths: JsonObject };
  const { apart, groups } = reference;
  const isShown = (tag: string) => apart.tags.includes(tag) === (part === 'apart');
  const shown = groups
    .map(({ name, tags }) => ({ name, tags: tags.filter((tag) => isShown(tag.name)) }))
    .filter(({ tags }) => tags.length > 0);
  const tags = shown.flatMap((group) => group.tags);
  const order = new Map(tags.map(({ name }, index) => [name, index]));
  const kept = Object.entries(paths as unknown as Paths)
    .filter(([, methods]) => isShown(tagOf(methods)))
    .map(([path, methods]) => [order.get(tagOf(methods)) ?? tags.length, path, methods] as const)
    .toSorted(([one], [other]) => one - other)
    .map(([, path, methods]) => [path, methods] as const);
  const own_paths = Object.fromEntries(kept) as unknown as JsonObject;
  const texts = part === 'apart' ? apart : reference;
  return {
    ...rest,
    info: { ...(info as JsonObject), title: texts.title, description: texts.introduction },
    tags: tags.map(({ name, label, description }) => ({
      name,
      'x-displayName': label,
      description,
    })),
    'x-tagGroups': shown.map((group) => ({
      name: group.name,
      tags: group.tags.map(({ name }) => name),
    })),
    paths: own_paths,
    components: reached(own_paths, components as JsonObject),
  };
}

const tagOf = (methods: Record<string, Operation>) => Object.values(methods)[0]?.tags[0] ?? '';

/** Returns the components that the operations use, directly or indirectly. */
function reached(paths: JsonObject, components: JsonObject): JsonObject {
  const found = new Set<string>();
  const open: Json[] = [paths];
  for (let next = open.pop(); next !== undefined; next = open.pop())
    for (const [, ref] of JSON.stringify(next).matchAll(/"#\/components\/(\w+\/[^"]+)"/g)) {
      if (found.has(ref!)) continue;
      found.add(ref!);
      const [place, name] = ref!.split('/') as [string, string];
      open.push((components[place] as JsonObject)[name]!);
    }
  const keep = ([place, all]: [string, Json]): [string, Json] => [
    place,
    place === 'securitySchemes'
      ? all
      : Object.fromEntries(
          Object.entries(all as JsonObject).filter(([name]) => found.has(`${place}/${name}`)),
        ),
  ];
  return Object.fromEntries(Object.entries(components).map(keep));
}

/**
 * Returns the document with a real request and answer at each operation that has an example, and
 * the same request as code.
 */
export function withExamples(
  document: JsonObject,
  examples: Record<string, Example>,
  address: string,
): JsonObject {
  const paths = Object.entries(document['paths'] as unknown as Paths).map(([path, methods]) => [
    path,
    Object.fromEntries(
      Object.entries(methods).map(([method, operation]) => {
        const example = examples[operation.operationId];
        if (example === undefined) return [method, operation];
        const request = { method: method.toUpperCase(), path, example, shows: shownBy(operation) };
        return [
          method,
          { ...exemplified(operation, example), 'x-codeSamples': codeSamples(address, request) },
        ];
      }),
    ),
  ]);
  return { ...document, paths: Object.fromEntries(paths) as JsonObject };
}

/** Returns the first credential that the operation accepts; by default a key. */
function shownBy({ security }: Operation): SampledRequest['shows'] {
  if (!Array.isArray(security)) return 'key';
  const [first] = security;
  return first === undefined ? 'nothing' : 'session' in (first as object) ? 'session' : 'key';
}

/**
 * The answer of `validate_only` also shows the example of a creation: readers see the first answer.
 */
function exemplified(operation: Operation, { body, status, answer }: Example): Operation {
  const shown = status > 200 && status < 300 ? [200, status] : [status];
  const exampled = shown.flatMap((one): [string, Operation['responses'][string]][] => {
    const response = operation.responses[String(one)];
    return answer === undefined || response?.content === undefined
      ? []
      : [[String(one), { ...response, content: withExample(response.content, answer) }]];
  });
  return {
    ...operation,
    ...(body === undefined || operation.requestBody === undefined
      ? {}
      : {
          requestBody: {
            ...operation.requestBody,
            content: withExample(operation.requestBody.content, body),
          },
        }),
    responses: { ...operation.responses, ...Object.fromEntries(exampled) },
  };
}

function withExample(content: Record<string, JsonObject>, example: Json) {
  const { 'application/json': json, ...others } = content;
  return json === undefined ? content : { 'application/json': { ...json, example }, ...others };
}
