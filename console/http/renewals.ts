import { pathTo } from './path.ts';
import type { Path } from './path.ts';

/**
 * Routes that give the session a fresh token; the server refuses requests in progress with the old
 * one.
 */
const renewing_paths: Path[] = [
  pathTo('/api/sessions/@current/confirm/'),
  pathTo('/api/users/@me/password/'),
];

let begun = 0;
let under_way: Promise<unknown> | undefined;

/** Sends by `send`, and notes while the token of the session may be another by it. */
export function noteRenewal<Answer>(path: Path, send: () => Promise<Answer>): Promise<Answer> {
  const sending = send();
  if (!renewing_paths.includes(path)) return sending;
  begun += 1;
  under_way = sending;
  return sending.finally(() => {
    if (under_way === sending) under_way = undefined;
  });
}

/**
 * For the start of a request. Gives what tells, once the request was refused, whether it may have
 * shown a token that was replaced meanwhile; by then the browser has the fresh one.
 */
export function watchRenewals(): () => Promise<boolean> {
  const begun_before = begun;
  const is_under_way = under_way !== undefined;
  return async () => {
    const may_be_old = is_under_way || begun > begun_before;
    if (may_be_old) await under_way?.catch(() => undefined);
    return may_be_old;
  };
}
