import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { Ajv } from 'ajv';
import type { ErrorObject, ValidateFunction } from 'ajv';
import type { FastifyInstance } from 'fastify';
import { resolved } from './document.ts';
import type { Document, Json } from './document.ts';
import { withHiddenRoutes } from './hidden_routes.ts';

/** An answer: `path` is the document's path, with `{name}` for each parameter. */
export type Answered = {
  method: string;
  path: string;
  status: number;
  content_type: string | undefined;
  text: string;
};

/**
 * Creates the check of answers against an OpenAPI document. The operation must declare the status
 * and the media type. JSON must have the declared shape, with no additional field, and six digits
 * in every instant. The check returns what is wrong with an answer. A path or method that the
 * document lacks may only be 404, or 413 for an unread body.
 */
export function openAnswerCheck(document: Document): (answer: Answered) => string[] {
  const ajv = new Ajv({ strict: false, allErrors: true });
  for (const format of ['uuid', 'email', 'uri']) ajv.addFormat(format, () => true);
  ajv.addFormat('date-time', (text) => wire_instant.test(text));
  // Keywords of the document are beside `$ref`, and its references lead to components.
  ajv.addSchema({ $id: 'document', ...(closed({ components: document.components }) as Json) });
  // By its text, because most answers share their declaration with others, above all the refusals.
  const compiled = new Map<string, ValidateFunction>();
  const validatorOf = (schema: Json) => {
    const text = JSON.stringify(schema);
    const known = compiled.get(text) ?? ajv.compile(rooted(closed(schema)) as Json);
    compiled.set(text, known);
    return known;
  };
  return ({ method, path, status, content_type, text }) => {
    const name = `${method} ${path} ${status}`;
    const operations = document.paths[path];
    const operation =
      operations?.[method.toLowerCase()] ?? (method === 'HEAD' ? operations?.['get'] : undefined);
    if (operation === undefined)
      return status === 404 || status === 413
        ? []
        : [`${name}: the document has no such operation`];
    const found = operation.responses[String(status)];
    if (found === undefined) return [`${name} is not documented`];
    const response = resolved(document, found);
    if (text === '' || method === 'HEAD') return [];
    const type = content_type?.split(';')[0] ?? '';
    const declared = response.content?.[type];
    if (declared === undefined) return [`${name}: the media type "${type}" is not documented`];
    if (declared.schema === undefined || !/[/+]json$/.test(type)) return [];
    const validate = validatorOf(declared.schema);
    const body: unknown = JSON.parse(text);
    const odd = oddInstants(body).map((instant) => `${name}: ${instant} has not six digits`);
    return validate(body)
      ? odd
      : [
          ...odd,
          ...(validate.errors ?? []).map(
            (error: ErrorObject) =>
              `${name}: ${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`,
          ),
        ];
  };
}

/**
 * Returns the check of the whole application, whose document is the same for all test files of a
 * process.
 */
let whole: ReturnType<typeof openAnswerCheck> | undefined;

/**
 * Returns the document of the whole application, which the first process of a run leaves to the
 * others in the file of `SLUICE_TEST_DOCUMENT`. Its creation takes half a second in each.
 */
function wholeDocument(app: FastifyInstance): Document {
  const path = process.env['SLUICE_TEST_DOCUMENT'];
  if (path !== undefined && existsSync(path))
    return JSON.parse(readFileSync(path, 'utf8')) as Document;
  const document = app.swagger() as unknown as Document;
  if (path !== undefined) {
    const unfinished = `${path}.${process.pid}`;
    writeFileSync(unfinished, JSON.stringify(document));
    renameSync(unfinished, path);
  }
  return document;
}

/** Passes on the same pieces; `see` gets them together, before the last one is sent. */
function seenWhole(pieces: Readable, see: (text: string) => void): Readable {
  const seen: Buffer[] = [];
  return Readable.from(
    (async function* () {
      for await (const piece of pieces) {
        seen.push(Buffer.from(piece as Buffer));
        yield piece as Buffer;
      }
      see(Buffer.concat(seen).toString());
    })(),
  );
}

/** Returns the text of a body in the encoding of its header. */
function unpacked(body: string | Buffer, encoding: unknown): string {
  if (encoding === 'br') return brotliDecompressSync(body).toString();
  return encoding === 'gzip' ? gunzipSync(body).toString() : body.toString();
}

/**
 * Watches every answer of an app against the app's own OpenAPI document. `is_whole`: it is the
 * whole application, whose hidden routes are watched too. Returns a function that returns the
 * faults since its last call.
 */
export function watchAnswers(
  app: FastifyInstance,
  is_whole: boolean,
  hidden: () => Document['paths'],
): () => string[] {
  let check: typeof whole;
  const declared = () =>
    is_whole
      ? withHiddenRoutes(wholeDocument(app), hidden())
      : (app.swagger() as unknown as Document);
  let faults: string[] = [];
  app.addHook('onSend', (request, reply, payload, done) => {
    const { config, schema = config.declared } = request.routeOptions;
    const { completed } = request;
    const url = completed?.url ?? request.routeOptions.url;
    const isDeclared = completed ? is_whole : schema !== undefined && (is_whole || !schema.hide);
    if (url === undefined || !isDeclared) return done(null, payload);
    if (is_whole) check ??= whole;
    const look = (check ??= openAnswerCheck(declared()));
    if (is_whole) whole = look;
    const content_type = reply.getHeader('content-type')?.toString();
    const isTrial = (request.query as Json)['validate_only'] === 'true';
    const see = (text: string) =>
      faults.push(
        ...look({
          method: request.method,
          path: url.replaceAll(/:(\w+)/g, '{$1}'),
          status: reply.statusCode,
          content_type,
          text: isTrial ? withoutWarnings(text) : text,
        }),
      );
    if (payload instanceof Readable && /[/+]json(;|$)/.test(content_type ?? ''))
      return done(null, seenWhole(payload, see));
    // For other streams only the type is checked.
    const isText = typeof payload === 'string' || Buffer.isBuffer(payload);
    const text = () => unpacked(payload as string | Buffer, reply.getHeader('content-encoding'));
    see(isText ? text() : payload === null || payload === undefined ? '' : ' ');
    done(null, payload);
  });
  return () => {
    const found = faults;
    faults = [];
    return found;
  };
}

/**
 * Returns only the record: with `validate_only`, the answer also has the request's ignored fields.
 */
function withoutWarnings(text: string): string {
  if (!text.includes('"warnings":')) return text;
  const { warnings: _told, ...record } = JSON.parse(text) as Json;
  return JSON.stringify(record);
}

/** The form of every instant in an answer: in UTC, with six digits after the second. */
const wire_instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const instant_name = /(_at|_start|_end|_until|^timestamp|^at)$/;
const any_instant = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/;

/**
 * Returns the instants in another spelling, at any depth. They are found by the names of our
 * fields, because a person's text may look like anything. Requests in the document may be spelled
 * as people do.
 */
function oddInstants(value: unknown, name = ''): string[] {
  if (name === 'requestBody') return [];
  if (typeof value === 'string')
    return instant_name.test(name) && any_instant.test(value) && !wire_instant.test(value)
      ? [value]
      : [];
  return typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, inner]) => oddInstants(inner, key))
    : [];
}

/**
 * Returns the schema with `additionalProperties: false` on every object that lists its properties.
 */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner: Json = Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, closed(value)]),
  );
  return isObjectSchema(inner) ? { ...inner, additionalProperties: false } : inner;
}

function isObjectSchema(schema: Json): boolean {
  return (
    typeof schema['properties'] === 'object' &&
    schema['type'] !== undefined &&
    !('additionalProperties' in schema)
  );
}

/** Leads references of the document to the schema that `openAnswerCheck` added. */
function rooted(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(rooted);
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [
      keyword,
      keyword === '$ref' ? `document${String(value)}` : rooted(value),
    ]),
  );
}
