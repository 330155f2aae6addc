import type { FastifyRequest } from 'fastify';
import type { Change } from '../../activity/changes.ts';
import type { Transaction } from '../../postgres/database.ts';
import { unavailable } from '../errors.ts';
import { asInnerCall } from './inner_call.ts';
import type { Beforehand, InnerCall } from './inner_call.ts';
import type { Afterwards } from '../write.ts';

/** A request of the server to one of its own routes. */
type Asked = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  url: string;
  headers?: Record<string, string>;
  body?: unknown;
};

/**
 * Calls a route of the same process for the sender of `request`, with their address, the same
 * request id and all checks of the route. `headers` identify the caller, as in any request.
 */
export async function askRoute(
  request: FastifyRequest,
  { method, url, headers = {}, body }: Asked,
): Promise<{ status: number; body: unknown }> {
  const answer = await request.server.inject({
    method,
    url,
    remoteAddress: request.ip,
    headers: {
      'x-request-id': request.id,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
  });
  return {
    status: answer.statusCode,
    body: answer.body === '' ? undefined : (JSON.parse(answer.body) as unknown),
  };
}

/** A route's answer; `changes` come from its entry in the activity log. */
export type InnerAnswer = { status: number; body: unknown; changes: Change[] };

/** The API's own routes, called on behalf of a caller inside their transaction. */
export type InnerRequests = {
  /** The log's entry contains `also` beside the changes. */
  send(
    method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    url: string,
    body: unknown,
    also?: Change[],
  ): Promise<InnerAnswer>;
  /** Scopes and levels that the caller lacks; only for a dry run. */
  lacks: ReadonlySet<string | 1 | 8 | 15>;
};

/**
 * Opens the API's own routes inside `tx`, the open transaction of `request`'s caller. Guarantees: a
 * route checks, changes and records as for a person, with the caller's rights. All of it commits or
 * rolls back with `tx`. Its effects run once `tx` is committed. A `rehearsal`, which is rolled
 * back, records nothing and collects missing rights. `beforehand` provides the work that routes
 * need before their transaction. Throws the error that ended the transaction, such as a deadlock,
 * and the server's own faults.
 */
export function openInnerRequests(
  request: FastifyRequest,
  tx: Transaction,
  afterwards: Afterwards,
  beforehand: Beforehand,
  how: 'rehearsal' | 'change',
): InnerRequests {
  const lacks = new Set<string | 1 | 8 | 15>();
  const projects: InnerCall['projects'] = new Map();
  const { server, caller, access } = request;
  return {
    lacks,
    send: async (method, url, body, also = []) => {
      const call: InnerCall = {
        caller,
        access,
        projects,
        afterwards,
        beforehand,
        lacks: how === 'rehearsal' ? lacks : undefined,
        also,
        changes: undefined,
        fault: undefined,
      };
      const answer = await asInnerCall(call, () =>
        server.context.db.within(tx, () => askRoute(request, { method, url, body })),
      );
      if (call.fault !== undefined) throw call.fault;
      if (answer.status === 503) throw unavailable();
      if (answer.status >= 500)
        throw new Error(`${method} ${url} answered ${answer.status} inside of a transaction.`);
      return { ...answer, changes: call.changes ?? [] };
    },
  };
}
