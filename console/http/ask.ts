import { addressOf } from './address.ts';
import { confirmPerson, isUnconfirmed } from './confirming.ts';
import type { Answer, Body, Method, Path, Route } from './path.ts';
import { isOutage, isSignedOut, problemOf, unheard, unreached } from './problem.ts';
import type { Problem } from './problem.ts';
import { noteRenewal, watchRenewals } from './renewals.ts';

/** The options of a request. */
export type Sent<Body = unknown> = {
  body?: Body;
  /** The ETag of the expected version; 412 if there is a newer one. */
  if_match?: string | undefined;
  /** The ETag of the known version; 304 if it is current. */
  if_none_match?: string | undefined;
  /** The same key and body give the same answer instead of a second effect. */
  idempotency_key?: string | undefined;
  signal?: AbortSignal | undefined;
};

/**
 * The result of a request: an answer (`body` is undefined only for 204 and 304), or the reason for
 * its absence.
 */
export type Outcome<Answered> =
  | { ok: true; status: number; body: Answered; etag: string | undefined }
  | { ok: false; problem: Problem };

let signedOut = () => {};

/** Registers a function to call whenever an answer says that the person is no longer signed in. */
export function whenSignedOut(tell: () => void): void {
  signedOut = tell;
}

/**
 * Calls the API with the browser's session. Only throws an `AbortError`: a foreign answer becomes a
 * problem that says what to do. If the API refuses a change until the person confirms their
 * identity, it waits for that and repeats the request once. The browser's own headers
 * (`Sec-Fetch-Site`, `Origin`) prove that a change comes from this site, so there is no other
 * token.
 */
export async function ask<const Asked extends Method, To extends Route<Asked>>(
  method: Asked,
  path: Path<To>,
  sent: Sent<Body<Asked, To>> = {},
): Promise<Outcome<Answer<Asked, To>>> {
  const outcome = await askSignedIn<Answer<Asked, To>>(method, path, sent);
  if (outcome.ok || method === 'GET' || !isUnconfirmed(outcome.problem)) return outcome;
  return (await confirmPerson(outcome.problem)) ? askSignedIn(method, path, sent) : outcome;
}

/** Sends a request, and repeats it once if the session's token was replaced meanwhile. */
async function askSignedIn<Answered>(
  method: Method,
  path: Path,
  sent: Sent,
): Promise<Outcome<Answered>> {
  const showedOldToken = watchRenewals();
  let outcome = await noteRenewal(path, () => askOnce<Answered>(method, path, sent));
  if (outcome.ok || !isSignedOut(outcome.problem)) return outcome;
  if (await showedOldToken()) outcome = await askOnce(method, path, sent);
  if (!outcome.ok && isSignedOut(outcome.problem)) signedOut();
  return outcome;
}

async function askOnce<Answered>(
  method: Method,
  path: Path,
  sent: Sent,
): Promise<Outcome<Answered>> {
  const response = await send(method, path, sent);
  if (response === undefined) return { ok: false, problem: unreached() };
  const body = await bodyOf(response);
  if (response.ok && response.status !== 204 && body === undefined)
    return { ok: false, problem: unheard() };
  if (response.ok || response.status === 304) {
    const etag = response.headers.get('etag') ?? undefined;
    return { ok: true, status: response.status, body: body as Answered, etag };
  }
  return { ok: false, problem: problemOf(response.status, body) };
}

/** Returns why the server cannot deliver the console; undefined if it can. Never throws. */
export async function whyNotServed(): Promise<Problem | undefined> {
  const headers = { accept: 'text/html' };
  const answer = await fetch(addressOf('/'), { headers, cache: 'no-store' }).catch(() => undefined);
  if (answer === undefined) return unreached();
  return answer.ok ? undefined : problemOf(answer.status, undefined);
}

/**
 * Returns why the server does not answer within the time; undefined if it does, even if its stores
 * are unavailable. Never throws.
 */
export async function whySilent(wait_ms: number): Promise<Problem | undefined> {
  const sent: RequestInit = { cache: 'no-store', signal: AbortSignal.timeout(wait_ms) };
  const answer = await fetch(addressOf('/healthz'), sent).catch(() => undefined);
  if (answer === undefined) return unreached();
  const problem = problemOf(answer.status, undefined);
  return isOutage(problem) ? problem : undefined;
}

async function send(method: Method, path: Path, sent: Sent): Promise<Response | undefined> {
  const headers = new Headers({ accept: 'application/json' });
  const named = {
    'content-type': method === 'GET' ? undefined : 'application/json',
    'if-match': sent.if_match,
    'if-none-match': sent.if_none_match,
    'idempotency-key': sent.idempotency_key,
  };
  for (const [name, value] of Object.entries(named))
    if (value !== undefined) headers.set(name, value);
  try {
    return await fetch(addressOf(path), {
      method,
      headers,
      body: sent.body === undefined ? null : JSON.stringify(sent.body),
      // This code handles ETags; the browser's cache would answer without a request.
      cache: 'no-store',
      signal: sent.signal ?? null,
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    return undefined;
  }
}

async function bodyOf(response: Response): Promise<unknown> {
  const is_json = /[/+]json\b/.test(response.headers.get('content-type') ?? '');
  return is_json ? response.json().catch(() => undefined) : undefined;
}
