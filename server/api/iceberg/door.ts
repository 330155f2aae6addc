import type { FastifyContextConfig, FastifySchema } from 'fastify';
import { large_body_size_bytes_max } from '../../platform/http/bodies/body.ts';
import { problem } from '../../platform/http/hidden_route.ts';

/** The path of a project, which clients call a prefix. */
export const base = '/iceberg/v1/:project_id';
/** The path of the namespaces. */
export const namespaces_path = `${base}/namespaces`;
/** The path of one namespace. */
export const namespace_path = `${namespaces_path}/:namespace`;
/** The path of the tables of a namespace. */
export const tables_path = `${namespace_path}/tables`;
/** The path of one table. */
export const table_path = `${tables_path}/:table`;

const json = 'application/json';
const content = (...types: string[]) => ({
  content: Object.fromEntries(types.map((type) => [type, { schema: {} }])),
});
const nothing = { type: 'null' };
const told = [400, 401, 403, 404, 406, 409, 413, 415, 422, 429, 500, 503] as const;
/** Enough for a schema of thousands of columns. */
const values_max = 200_000;

type Door = { config: FastifyContextConfig; schema: FastifySchema; bodyLimit: number };

/**
 * Returns the options of a route of the catalog. The OpenAPI document leaves these routes out: the
 * Iceberg REST specification defines their bodies, and docs/iceberg_catalog.md names the supported
 * parts.
 */
export function lakeDoor(
  scope: 'lake:read' | 'lake:write',
  status: 200 | 204,
  config: FastifyContextConfig = { within: 'project' },
): Door {
  return {
    config: {
      ...config,
      scope,
      takes_tokens: true,
      keeps_answers: true,
      foreign: true,
      values_max,
      // Answers may contain keys of the storage.
      no_store: true,
    },
    schema: {
      hide: true,
      response: {
        [status]: status === 204 ? nothing : content(json),
        304: nothing,
        ...Object.fromEntries(told.map((one) => [one, content(json)])),
        // Fastify refuses a parameter that is too long before it looks for a route.
        404: content(json, problem),
      },
    },
    bodyLimit: large_body_size_bytes_max,
  };
}
