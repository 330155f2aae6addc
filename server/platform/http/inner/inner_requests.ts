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
 * Asks a route of the same process for whoever sent `request`, from their address and under its id,
 * with all of the route's checks. Who the caller is, `headers` say, as in any request.
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

/** What a route answered; `changes` is what its entry of the activity log names. */
export type InnerAnswer = { status: number; body: unknown; changes: Change[] };

/** The API's own routes, asked on behalf of a caller inside of their transaction. */
export type InnerRequests = {
  /** `also` stands in the entry of the log beside what changed. */
  send(
    method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    url: string,
    body: unknown,
    also?: Change[],
  ): Promise<InnerAnswer>;
  /** Scopes and levels that the caller lacks; of a rehearsal alone. */
  lacks: ReadonlySet<string | 1 | 8 | 15>;
};

/**
 * Opens the API's own routes inside of `tx`, which the caller of `request` has open. Guarantees: a
 * route checks, changes and records as it does for a person, with the caller's rights; all of it
 * stands or falls with `tx`; what it would do once it is committed is done once `tx` is. A
 * `rehearsal`, which is to be rolled back, records nothing and notes what rights are missing. What
 * a route does before its transaction is taken from `beforehand`. Throws what ended the
 * transaction, such as a deadlock, and for a fault of the server's own.
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
