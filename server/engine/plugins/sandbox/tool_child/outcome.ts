import type { ToolOutcome } from '../tool_outcome.ts';
import { NotForgotten } from './deletion.ts';
import type { Seen } from './way_out.ts';

const reason_length_max = 1_000;

type Failed = Extract<ToolOutcome, { reason: string }>;

/** Judges the results of one mapping. The library counts nothing and an empty list as success. */
export function outcomeOfResults(results: unknown, seen: Seen): ToolOutcome {
  const list = Array.isArray(results) ? (results as Record<string, unknown>[]) : [];
  const last = list.at(-1);
  if (last === undefined)
    return failed('refused', null, 'The destination has no action of this name.', seen);
  if (last['output'] === 'not subscribed') return { kind: 'skipped' };
  const [member] = (last['multistatus'] ?? membersOf(last['data'])) as Record<string, unknown>[];
  if (member !== undefined) return outcomeOfMember(member, seen);
  // An action may silently skip an event, and then sends no request.
  if (last['output'] === 'Action Executed') return { kind: seen.has_asked ? 'sent' : 'skipped' };
  return failed('refused', null, `The destination said: ${String(last['output'])}`, seen);
}

/** Returns the answers of a batch of one, which an action may return for a single event. */
function membersOf(data: unknown): unknown[] {
  const { getAllResponses } = (data ?? {}) as { getAllResponses?: unknown };
  if (typeof getAllResponses !== 'function') return [];
  const answers = getAllResponses.call(data) as { value(): unknown }[];
  return answers.map((answer) => answer.value());
}

/** Judges the result of one event of a batch. */
export function outcomeOfMember(
  member: Record<string, unknown> | undefined,
  seen: Seen,
): ToolOutcome {
  if (member === undefined) return failed('retry', null, 'The destination did not say.', seen);
  const { status: given, errormessage } = member;
  const isGiven = Number.isInteger(Number(given));
  const status = isGiven ? Number(given) : (seen.status ?? NaN);
  if (status < 400) return { kind: 'sent' };
  const reason = typeof errormessage === 'string' ? errormessage : 'It refused the event.';
  if (status === 429 && seen.status !== 429) return outcomeBesideRefused(reason, seen);
  // The library's own message for a limit, or for an unreadable answer, says too little.
  const isVague = status === 429 || !isGiven;
  return outcomeOfStatus(status, isVague ? said(reason, seen) : reason, seen);
}

/** Status of an unsent event that must be sent soon (Too Early). */
const too_early = 425;

/**
 * Judges an event that the library did not send, or that had no result, because of others in its
 * batch. The library returns 429, although no limit was met.
 */
function outcomeBesideRefused(reason: string, seen: Seen): ToolOutcome {
  const status = seen.status !== undefined && seen.status >= 400 ? seen.status : too_early;
  if (status === 401 || status === 403) return outcomeOfStatus(status, said(reason, seen), seen);
  return failed('retry', status, reason, seen);
}

/** The library's message; it is not asked to refresh. */
const no_refresh = /^Failed to refresh access token/;

type Thrown = {
  name?: string;
  message?: string;
  status?: unknown;
  code?: unknown;
  response?: { status?: unknown };
};

/** Judges the library's error: by the received status, or else by the kind of the error. */
export async function outcomeOfError(error: unknown, seen: Seen): Promise<ToolOutcome> {
  const { name = '', message = String(error), status, code, response } = error as Thrown;
  if (error instanceof NotForgotten) return { kind: 'skipped' };
  if (response !== undefined)
    return outcomeOfStatus(Number(response.status), said(message, seen), seen);
  if (name === 'InvalidAuthenticationError')
    return failed(
      'denied',
      401,
      said(message.replace(no_refresh, 'It refuses the token'), seen),
      seen,
    );
  if (name === 'PayloadValidationError' || name === 'AggregateAjvError')
    return failed('refused', 400, message, seen);
  // The outcome is unknown: the request may have arrived.
  if (code === 'NO_ANSWER' || code === 'ETIMEDOUT' || name === 'TimeoutError')
    return failed('retry', null, message, seen);
  if (typeof status === 'number') return outcomeOfStatus(status, said(message, seen), seen);
  // The library failed to parse an error answer, such as a page instead of JSON.
  if (seen.status !== undefined && seen.status >= 400)
    return outcomeOfStatus(seen.status, said(message, seen), seen);
  return failed('refused', null, `${name}: ${message}`, seen);
}

/** Judges an answer by its status. */
export function outcomeOfStatus(
  status: number,
  reason: string,
  seen: Pick<Seen, 'retry_after'>,
): ToolOutcome {
  if (status === 401 || status === 403) return failed('denied', status, reason, seen);
  const isPassing = [408, 423, 425, 429].includes(status) || (status >= 500 && status !== 501);
  return failed(isPassing ? 'retry' : 'refused', status, reason, seen);
}

/** Returns the sentence with the other side's answer, which says more. */
export function said(message: string, { status, text }: Pick<Seen, 'status' | 'text'>): string {
  if (status === undefined || status < 400) return message;
  return text === '' ? `${message} (${status})` : `${message} (${status}): ${text}`;
}

function failed(
  kind: Failed['kind'],
  status: number | null,
  reason: string,
  { retry_after }: Pick<Seen, 'retry_after'>,
): Failed {
  const code = status !== null && Number.isInteger(status) ? status : null;
  const later = retry_after?.slice(0, 200) ?? null;
  return { kind, status: code, reason: reason.slice(0, reason_length_max), retry_after: later };
}
