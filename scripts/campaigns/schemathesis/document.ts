import type { Json, JsonObject } from '../../../server/platform/http/openapi/json.ts';
import type { Operation, Parameter } from '../../../test/fuzz/operations.ts';
import type { Recorded } from '../../../test/reference/recorder.ts';
import { collectionOf, pointerTo, unnamed } from './objects.ts';
import type { Objects } from './objects.ts';

type Paths = Record<string, Record<string, JsonObject>>;
/** The published document, as JSON. */
export type Published = JsonObject & { paths: Paths; servers: JsonObject[] };
type World = { operations: Operation[]; recorded: Recorded; objects: Objects };

/**
 * Returns the published document for a tester: path parameters are ids of existing objects, and
 * bodies have the example of a successful request. Links lead from the answer of a list or a
 * creation to each operation on its records. Deletions only name objects that the tester created.
 * `If-Match` fits.
 */
export function preparedDocument(published: Published, address: string, world: World): Json {
  const document = JSON.parse(
    JSON.stringify({ ...published, servers: [{ url: address }] }, (key, value: unknown) =>
      key === 'example' ? undefined : value,
    ),
  ) as Published;
  for (const operation of world.operations) {
    const described = document.paths[operation.path]?.[operation.method.toLowerCase()];
    if (described === undefined) continue;
    described['parameters'] = parametersOf(operation, world.objects) as never;
    const body = world.recorded.get(operation.id)?.body;
    const content = (described['requestBody'] as JsonObject | undefined)?.['content'];
    if (body !== undefined && content !== undefined)
      ((content as JsonObject)['application/json'] as JsonObject)['example'] = body;
    for (const [source, status, link] of linksTo(operation, world))
      addLink(document.paths[source.path]![source.method.toLowerCase()]!, status, operation, link);
  }
  // The header has this value unchanged.
  const { securitySchemes } = document['components'] as { securitySchemes: JsonObject };
  securitySchemes['session'] = { type: 'apiKey', in: 'header', name: 'Cookie' };
  return document;
}

/**
 * Uses the ids of the first object of each outer collection, and of all objects of the innermost
 * one.
 */
function parametersOf({ method, path, parameters }: Operation, objects: Objects): Parameter[] {
  return parameters.map((parameter) => {
    if (parameter.name === 'If-Match')
      return { ...parameter, schema: { type: 'string', enum: ['*'] } };
    if (parameter.in !== 'path') return parameter;
    const collection = unnamed(path.slice(0, path.indexOf(`{${parameter.name}}`)));
    const ids = objects.get(collection) ?? [];
    const is_last = collection === collectionOf(path);
    if (ids.length === 0 || (is_last && isDeletion(method, path))) return parameter;
    const shown = is_last ? ids : ids.slice(0, 1);
    const is_number = parameter.schema.type === 'integer';
    const schema = { ...parameter.schema, enum: is_number ? shown.map(Number) : shown };
    return { ...parameter, schema };
  });
}

function isDeletion(method: string, path: string): boolean {
  return method === 'DELETE' && path.endsWith('}/');
}

/** The way to an operation: the source, its status, and the values that it passes on. */
function* linksTo(
  { id, method, path }: Operation,
  { operations, recorded }: World,
): Generator<[Operation, string, JsonObject]> {
  const body = recorded.get(id)?.body;
  const taken: JsonObject = body === undefined ? {} : { requestBody: body };
  const at = (wanted: string, place: string) =>
    operations.find((one) => one.method === wanted && unnamed(one.path) === unnamed(place));
  const list = at('GET', path);
  if (method === 'POST' && list !== undefined)
    yield [list, '200', { parameters: shared(list.path, path), ...taken }];
  if (!path.includes('{')) return;
  const parameter = /\{(\w+)\}[^{]*$/.exec(path)![1]!;
  const collection = path.slice(0, path.lastIndexOf('{'));
  const sources = { '201': at('POST', collection), '200': at('GET', collection) };
  for (const [status, source] of Object.entries(sources)) {
    if (source === undefined || (status === '200' && isDeletion(method, path))) continue;
    const pointer = `${status === '200' ? 'results/*/' : ''}${pointerTo(parameter)}`;
    const parameters = {
      ...shared(source.path, path),
      [parameter]: `$response.body#/${pointer}`,
    };
    yield [source, status, { parameters, ...taken }];
  }
}

/** The parameters of a path that stand at the same places as those of another path. */
function shared(source: string, target: string): JsonObject {
  const names = (path: string) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  const given = names(source);
  return Object.fromEntries(
    names(target).flatMap((name, place): [string, string][] =>
      given[place] === undefined ? [] : [[name, `$request.path.${given[place]}`]],
    ),
  );
}

function addLink(source: JsonObject, status: string, target: Operation, link: JsonObject): void {
  const response = (source['responses'] as JsonObject)[status] as JsonObject | undefined;
  if (response === undefined) return;
  const links = (response['links'] ??= {}) as JsonObject;
  // Schemathesis reads `*` as any entry of a list only in links that it inferred.
  const told = { is_inferred: true, merge_body: false };
  links[target.id] = { operationId: target.id, 'x-schemathesis': told, ...link };
}
