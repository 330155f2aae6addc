import { addressOf } from './address.ts';
import { confirmPerson, isUnconfirmed } from './confirming.ts';
import type { Answer, Body, Method, Path, Route } from './path.ts';
import { isOutage, isSignedOut, problemOf, unheard, unreached } from './problem.ts';
import type { Problem } from './problem.ts';
import { noteRenewal, watchRenewals } from './renewals.ts';

/** The options of a request. */
export type Sent<Body = unknown> = {
  body?: Body;
  /** The ETag of the version that is meant; 412 when there is a newer one. */
  if_match?: string | undefined;
  /** The ETag of what is known; 304 when it still holds. */
  if_none_match?: string | undefined;
  /** The same key and body give the same answer instead of a second effect. */
  idempotency_key?: string | undefined;
  signal?: AbortSignal | undefined;
};

/**
 * The outcome of a request: an answer (`body` is undefined for 204 and 304 alone), or the reason
 * for its absence.
 */
export type Outcome<Answered> =
  | { ok: true; status: number; body: Answered; etag: string | undefined }
  | { ok: false; problem: Problem };

let signedOut = () => {};

/** Has `tell` called whenever an answer says that nobody is signed in any more, whoever asked. */
export function whenSignedOut(tell: () => void): void {
  signedOut = tell;
}

/**
 * Asks the API with the browser's session. Never throws, but for an `AbortError`: what is no answer
 * of the API becomes a problem that says what to do. A change that the API refuses until the person
 * confirms that it is they waits for that, and is asked for once more. The browser's own headers
 * (`Sec-Fetch-Site`, `Origin`) are the proof that a change comes from this site, so there is no
 * other token.
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

/** Asks; once more if the session's token was replaced while the request was in progress. */
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

/** Why the server does not give the console itself; undefined where it does. Never throws. */
export async function whyNotServed(): Promise<Problem | undefined> {
  const headers = { accept: 'text/html' };
  const answer = await fetch(addressOf('/'), { headers, cache: 'no-store' }).catch(() => undefined);
  if (answer === undefined) return unreached();
  return answer.ok ? undefined : problemOf(answer.status, undefined);
}

/**
 * Why the server does not answer within the time; undefined if it does, whatever it says of its
 * stores. Never throws.
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
      // Ours are the ETags; the browser's cache would answer without asking.
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
