import { pathTo } from './path.ts';
import type { Path } from './path.ts';

/**
 * Routes that give the session a new token; the server refuses concurrent requests with the old
 * one.
 */
const renewing_paths: Path[] = [
  pathTo('/api/sessions/@current/confirm/'),
  pathTo('/api/users/@me/password/'),
];

let begun = 0;
let under_way: Promise<unknown> | undefined;

/** Sends with `send`, and records that the session's token may change. */
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
 * Call it at the start of a request. Returns a function that tells, after a refusal, whether the
 * request may have had a replaced token; the browser then has the new one.
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
