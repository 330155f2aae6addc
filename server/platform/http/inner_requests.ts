import type { FastifyRequest } from 'fastify';
import type { Change } from '../activity/changes.ts';
import type { Transaction } from '../postgres/database.ts';
import { unavailable } from './errors.ts';
import { asInnerCall } from './inner_call.ts';
import type { InnerCall } from './inner_call.ts';
import type { Afterwards } from './write.ts';

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
 * `rehearsal`, which is to be rolled back, records nothing and notes what rights are missing.
 * Throws what ended the transaction, such as a deadlock, and for a fault of the server's own.
 */
export function openInnerRequests(
  request: FastifyRequest,
  tx: Transaction,
  afterwards: Afterwards,
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
        lacks: how === 'rehearsal' ? lacks : undefined,
        also,
        changes: undefined,
        fault: undefined,
      };
      const answer = await asInnerCall(call, () =>
        server.context.db.within(tx, async () =>
          server.inject({
            method,
            url,
            remoteAddress: request.ip,
            headers: { 'content-type': 'application/json' },
            payload: JSON.stringify(body),
          }),
        ),
      );
      if (call.fault !== undefined) throw call.fault;
      if (answer.statusCode === 503) throw unavailable();
      if (answer.statusCode >= 500)
        throw new Error(`${method} ${url} answered ${answer.statusCode} inside of a transaction.`);
      return {
        status: answer.statusCode,
        body: answer.body === '' ? undefined : (JSON.parse(answer.body) as unknown),
        changes: call.changes ?? [],
      };
    },
  };
}
