import { Ajv } from 'ajv';
import type { ErrorObject, ValidateFunction } from 'ajv';
import type { FastifyInstance } from 'fastify';

type JsonSchema = { [keyword: string]: unknown };

/**
 * Watches every answer of an app: its status must be documented by the route and its body must be the documented shape, with not one field more and every instant with six digits. Gives a
 * function that returns the faults found since it was last called.
 */
export function watchAnswers(app: FastifyInstance): () => string[] {
  const ajv = new Ajv({ strict: false, allErrors: true });
  for (const format of ['uuid', 'email', 'uri']) ajv.addFormat(format, () => true);
  ajv.addFormat('date-time', (text) => wire_instant.test(text));
  const compiled = new Map<unknown, ValidateFunction>();
  let faults: string[] = [];
  app.addHook('onSend', (request, reply, payload, done) => {
    const answers = request.routeOptions.schema?.response as Record<string, JsonSchema> | undefined;
    const name = `${request.method} ${request.routeOptions.url} ${reply.statusCode}`;
    if (answers !== undefined) {
      const schema = answers[reply.statusCode];
      if (schema === undefined) faults.push(`${name} is not documented`);
      else if (typeof payload === 'string' && payload !== '' && request.method !== 'HEAD') {
        let validate = compiled.get(schema);
        if (validate === undefined)
          compiled.set(schema, (validate = ajv.compile(closed(schema) as JsonSchema)));
        const body: unknown = JSON.parse(payload);
        faults.push(...oddInstants(body).map((text) => `${name}: ${text} has not six digits`));
        if (!validate(body))
          faults.push(
            ...(validate.errors ?? []).map(
              (error: ErrorObject) =>
                `${name}: ${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`,
            ),
          );
      }
    }
    done(null, payload);
  });
  return () => {
    const found = faults;
    faults = [];
    return found;
  };
}

/** How every instant of an answer is spelled: in UTC, with six digits after the second. */
const wire_instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const any_instant = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/;

/** The texts that are an instant in another spelling, wherever they stand. */
function oddInstants(value: unknown): string[] {
  if (typeof value === 'string')
    return any_instant.test(value) && !wire_instant.test(value) ? [value] : [];
  return typeof value === 'object' && value !== null
    ? Object.values(value).flatMap(oddInstants)
    : [];
}

/** The schema with `additionalProperties: false` on every object that lists its properties. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner: JsonSchema = Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, closed(value)]),
  );
  return typeof inner['properties'] === 'object' && !('additionalProperties' in inner)
    ? { ...inner, additionalProperties: false }
    : inner;
}
