import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { request } from 'undici';
import { UserError } from '../user_error.ts';
import { parseJson } from '../../platform/json/parse_json.ts';

/** A refused line; `index` counts the lines of the request from 0. */
export type Refused = { index: number; detail: string };

/** The server's result for one request. */
export type Sent = {
  taken: number;
  duplicates: number;
  dropped: number;
  rejected: number;
  refused: Refused[];
};

/** The address of the server, and the limits of waiting. */
export type SendTarget = {
  url: string;
  project: string;
  key: string;
  /** Called before a request is repeated, with the seconds until then. */
  onPause: (reason: string, seconds: number) => void;
  /** Time for which a request is repeated before the import stops, in milliseconds. */
  wait_ms_max: number;
  /** Aborts the current request, and every pause. */
  signal: AbortSignal;
};

const backoff_seconds_max = 30;
// Most problems that the server's answer lists.
const named_errors_max = 1_000;

type Answer = {
  taken?: number;
  duplicates?: number;
  /** Events of erased persons. */
  refused?: number;
  /** Events that a rule of the project dropped. */
  dropped?: number;
  rejected?: number;
  detail?: string;
  errors?: { line?: number | null; attr?: string | null; detail: string }[];
};

/**
 * Sends lines of NDJSON in one request, and repeats it while the server asks to wait (429, 503),
 * fails (5xx) or cannot be reached; respects `Retry-After`. Every line carries its uuid, so
 * repeating is harmless. Throws a UserError if the time to wait is over or the server refuses the
 * whole request (key, scope, project), and the reason of an abort.
 */
export async function sendLines(target: SendTarget, lines: string[]): Promise<Sent> {
  const text = lines.join('\n');
  // On the same machine, compression costs more than it saves.
  const body = isNear(target.url) ? text : gzipSync(text, { level: 1 });
  const started = performance.now();
  for (let attempt = 0; ; attempt += 1) {
    const reply = await ask(target, body);
    if (reply.status === 200)
      return sentOf(accountedFor(reply.answer, lines.length, target), refusedOf(reply.answer));
    if (reply.status === 400 && refusesAll(reply.answer, lines.length))
      return sentOf(reply.answer, lines.length);
    const mayPass =
      reply.status === 0 || reply.status === 408 || reply.status === 429 || reply.status >= 500;
    const reason =
      reply.status === 0
        ? `the server at ${target.url} cannot be reached`
        : `the server answered ${reply.status}: ${reply.answer.detail ?? 'no reason given'}`;
    if (reply.status === 404)
      throw new UserError(
        `The import stopped: ${target.url} has no project ${target.project} that this key ` +
          'may read. Check --project, --url and the key.',
      );
    if (!mayPass) throw new UserError(`The import stopped: ${reason}`);
    const seconds = reply.retry_after ?? Math.min(backoff_seconds_max, 0.5 * 2 ** attempt);
    if (performance.now() - started + seconds * 1_000 > target.wait_ms_max)
      throw new UserError(`The import stopped: ${reason} Run the same command again to continue.`);
    target.onPause(reason, seconds);
    await pause(seconds * 1_000, undefined, { signal: target.signal });
  }
}

function isNear(url: string): boolean {
  return ['127.0.0.1', '[::1]', 'localhost'].includes(new URL(url).hostname);
}

// A proxy in between may answer 200 or 400 itself, so lines only count as done if the answer
// mentions them.
function accountedFor(answer: Answer, lines: number, target: SendTarget): Answer {
  const { taken = 0, duplicates = 0, dropped = 0 } = answer;
  if (taken + duplicates + dropped + refusedOf(answer) === lines) return answer;
  throw new UserError(
    `The import stopped: the answer of ${target.url} does not account for all ${lines} lines ` +
      'that were sent. Is it the address of the server? Run the same command again to ' +
      'continue.',
  );
}

function refusesAll(answer: Answer, lines: number): boolean {
  if (!Array.isArray(answer.errors) || answer.errors.length === 0) return false;
  const named = new Set(answer.errors.map(({ attr }) => /^lines__(\d+)/.exec(attr ?? '')?.[1]));
  return (
    !named.has(undefined) && (named.size === lines || answer.errors.length >= named_errors_max)
  );
}

async function ask(
  target: SendTarget,
  body: Buffer | string,
): Promise<{ status: number; retry_after?: number | undefined; answer: Answer }> {
  try {
    const reply = await request(
      `${target.url}/api/projects/${encodeURIComponent(target.project)}/events/`,
      {
        method: 'POST',
        headers: {
          authorization: `Bearer ${target.key}`,
          'content-type': 'application/x-ndjson',
          ...(typeof body === 'string' ? {} : { 'content-encoding': 'gzip' }),
        },
        body,
        signal: target.signal,
      },
    );
    const text = await reply.body.text();
    const wait = Number(reply.headers['retry-after']);
    return {
      status: reply.statusCode,
      retry_after: Number.isFinite(wait) && wait >= 0 ? wait : undefined,
      answer: readAnswer(text),
    };
  } catch (error) {
    target.signal.throwIfAborted();
    if (error instanceof Error && 'code' in error)
      return { status: 0, answer: { detail: error.message } };
    throw error;
  }
}

function readAnswer(text: string): Answer {
  const answer = parseJson(text);
  return typeof answer === 'object' && answer !== null ? answer : {};
}

const refusedOf = ({ rejected = 0, refused = 0 }: Answer) => rejected + refused;

function sentOf(answer: Answer, rejected: number): Sent {
  const refused = (answer.errors ?? []).map(({ attr, detail }) => {
    const [, line = '1', field] = /^lines__(\d+)(?:__(.+))?$/.exec(attr ?? '') ?? [];
    return {
      index: Number(line) - 1,
      detail: field === undefined ? detail : `${field}: ${detail}`,
    };
  });
  const { taken = 0, duplicates = 0, dropped = 0 } = answer;
  return { taken, duplicates, dropped, rejected, refused };
}
