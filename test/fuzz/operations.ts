import { resolved } from '../watchers/document.ts';
import type { Document } from '../watchers/document.ts';

/** A JSON schema of the document. */
export type Schema = {
  type?: string | string[];
  $ref?: string;
  enum?: unknown[];
  const?: unknown;
  format?: string;
  pattern?: string;
  anyOf?: Schema[];
  oneOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
};

/** One parameter of an operation. */
export type Parameter = {
  in: 'path' | 'query' | 'header';
  name: string;
  required?: boolean;
  schema: Schema;
};

/**
 * An operation of the document: its method in capitals, its path with `{name}` for each parameter.
 */
export type Operation = {
  /** Its `operationId`. */
  id: string;
  method: string;
  path: string;
  parameters: Parameter[];
  body: Schema | undefined;
  /** A path of an SDK, under a write key. */
  is_door: boolean;
  tags: string[];
};

/** The document in the form that a fuzzer needs. */
export type FuzzedDocument = Document & {
  components: { schemas: Record<string, Schema> };
  paths: Record<
    string,
    Record<
      string,
      {
        operationId?: string;
        parameters?: (Parameter | { $ref: string })[];
        tags?: string[];
        requestBody?: { content: Record<string, { schema: Schema }> };
        responses: object;
      }
    >
  >;
};

/** Returns every operation of a document, in its order. */
export function listOperations(document: FuzzedDocument): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, { operationId = '', parameters = [], requestBody, tags }]) => ({
        id: operationId,
        method: method.toUpperCase(),
        path,
        parameters: parameters.map((one) => resolved<Parameter>(document, one)),
        body: requestBody?.content['application/json']?.schema,
        is_door: tags?.includes('capture') ?? false,
        tags: tags ?? [],
      }),
    ),
  );
}

/**
 * Finds the path of the document that answers a request. Of the paths that fit and have the method,
 * it is the one with the fewest parameters; undefined without one.
 */
export function openPathFinder(
  document: FuzzedDocument,
): (method: string, path: string) => string | undefined {
  const known = Object.entries(document.paths)
    .map(([path, methods]) => ({
      path,
      methods: new Set(Object.keys(methods).map((method) => method.toUpperCase())),
      form: formOf(path),
      // The longest path with a free rest is the most precise one.
      parameters: path.endsWith('*') ? 1_000 - path.length : path.split('{').length,
    }))
    .toSorted((one, other) => one.parameters - other.parameters);
  return (method, path) => {
    const answers = (methods: Set<string>) =>
      methods.has(method) || (method === 'HEAD' && methods.has('GET'));
    return known.find(({ form, methods }) => answers(methods) && form.test(path))?.path;
  };
}

function formOf(path: string): RegExp {
  const escaped = path.replaceAll('.', '\\.').replace(/\*$/, '.*');
  return new RegExp(`^${escaped.replaceAll(/\{\w+\}/g, '[^/]*')}$`);
}
