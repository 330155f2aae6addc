import { promisify } from 'node:util';
import { brotliCompress, constants, gzip, zstdCompress } from 'node:zlib';
import type { Response } from 'undici';
import type { Clock } from '../../../platform/clock.ts';
import { webhookHeaders } from '../../../platform/outbound/standard_webhooks.ts';
import { inSpan } from '../../../platform/tracing/span.ts';
import { tracedHeaders } from '../../../platform/tracing/traceparent.ts';
import type { DestinationDeps } from '../../model/destination/destination.ts';
import { stopError, throwIfStopped } from '../../model/destination/stop.ts';
import { RetryableError } from '../../model/destination/errors.ts';
import { partTimeout } from '../object_store/object_store.ts';
import { envelopeOf } from './bodies.ts';
import type { Body } from './bodies.ts';
import { signingKey } from './config.ts';
import type { HttpConfig } from './config.ts';
import { httpError, statusError } from './faults.ts';

/**
 * The parts of an endpoint in addition to every destination's. `pause` rejects if the signal
 * aborts.
 */
export type EndpointDeps = Pick<DestinationDeps, 'outbound' | 'signal' | 'noteProgress'> & {
  clock: Clock;
  pause(milliseconds: number, signal: AbortSignal): Promise<void>;
};

/** The receiver of the rows. */
export type Endpoint = {
  /**
   * Sends a body until a status of 200 to 299 acknowledges it, at most five times with growing
   * pauses or those that the endpoint requests. Each time with the same `Idempotency-Key`. Rejects
   * with the last fault; the endpoint may or may not have accepted the rows then.
   */
  send(id: string, body: Body): Promise<void>;
  /** Sends a body once and returns any status. */
  probe(id: string, body: Body): Promise<{ status: number; error: Error | undefined }>;
};

const tries_max = 5;
const pause_milliseconds_max = 60_000;
const said_characters_max = 300;
const read_bytes_max = 64 * 1024;
const read_timeout_milliseconds = 5_000;

const compressors = {
  gzip: { encoding: 'gzip', compress: promisify(gzip) as (bytes: Buffer) => Promise<Buffer> },
  brotli: {
    encoding: 'br',
    compress: (bytes: Buffer) =>
      promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  },
  zstd: {
    encoding: 'zstd',
    compress: promisify(zstdCompress) as (bytes: Buffer) => Promise<Buffer>,
  },
};

type Answer = { status: number; error: Error | undefined; retry_after: string | null };

/**
 * Opens the endpoint of a config through the outbound guard. Follows no redirects, and reads at
 * most 64 KiB of an answer.
 */
export function openEndpoint(config: HttpConfig, deps: EndpointDeps): Endpoint {
  return {
    send: async (id, body) => {
      for (let tried = 1; ; tried += 1) {
        const answer = await tryOnce(config, deps, id, body);
        if (answer.error === undefined) return deps.noteProgress?.();
        const pause = pauseOf(answer, tried, deps.clock);
        if (
          !(answer.error instanceof RetryableError) ||
          tried === tries_max ||
          pause > pause_milliseconds_max
        )
          throw answer.error;
        await deps.pause(pause, deps.signal).catch((error: unknown) => {
          throw deps.signal.aborted ? stopError(deps.signal) : error;
        });
      }
    },
    probe: (id, body) => tryOnce(config, deps, id, body),
  };
}

async function tryOnce(
  config: HttpConfig,
  deps: EndpointDeps,
  id: string,
  body: Body,
): Promise<Answer> {
  throwIfStopped(deps.signal);
  const bytes = await packed(config, body);
  const timeout = AbortSignal.timeout(partTimeout(bytes.length));
  try {
    const asked = { 'http.request.method': 'POST', 'http.request.body.size': bytes.length };
    const send = () =>
      deps.outbound.fetch(config.url, {
        method: 'POST',
        redirect: 'manual',
        headers: tracedHeaders(headersOf(config, deps.clock, id, body)),
        body: bytes,
        signal: AbortSignal.any([deps.signal, timeout]),
      });
    const response = await inSpan('HTTP POST', asked, send, 3);
    const text = await readText(response);
    const error = response.ok ? undefined : statusError(response.status, spoken(text, config));
    return { status: response.status, error, retry_after: response.headers.get('retry-after') };
  } catch (error) {
    if (deps.signal.aborted) throw stopError(deps.signal);
    const explained = timeout.aborted ? stopError(timeout) : httpError(error);
    if (!(explained instanceof Error)) throw explained;
    return { status: 0, error: explained, retry_after: null };
  }
}

/** Returns the body's bytes in the form in which they are sent. */
export async function packed(config: HttpConfig, body: Body): Promise<Buffer> {
  return config.compression === undefined || config.compression === null
    ? body.bytes
    : compressors[config.compression].compress(body.bytes);
}

/** Returns the headers of a request, secrets included. */
export function headersOf(
  config: HttpConfig,
  clock: Pick<Clock, 'now'>,
  id: string,
  body: Body,
): Record<string, string> {
  const token = config.token ?? '';
  const key = signingKey(config);
  return {
    ...config.headers,
    'User-Agent': 'sluice',
    'Content-Type': envelopeOf(config).content_type,
    'Idempotency-Key': id,
    ...(config.compression === undefined || config.compression === null
      ? {}
      : { 'Content-Encoding': compressors[config.compression].encoding }),
    ...(token === '' || config.body_format === 'Batch' ? {} : { Authorization: `Bearer ${token}` }),
    ...(key === undefined ? {} : webhookHeaders(key, id, clock.now(), body.bytes)),
  };
}

/**
 * Returns the beginning of the answer's text. The status is the acknowledgement, so an answer that
 * breaks off, hangs or never ends is no fault.
 */
async function readText(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (reader === undefined) return '';
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const timer = setTimeout(
    () => void reader.cancel().catch(() => undefined),
    read_timeout_milliseconds,
  );
  try {
    while (bytes < read_bytes_max) {
      const { done, value } = await reader.read();
      if (done) break;
      chunks.push(value as Uint8Array);
      bytes += (value as Uint8Array).length;
    }
  } catch {
    // The part read so far is enough.
  } finally {
    clearTimeout(timer);
    await reader.cancel().catch(() => undefined);
  }
  return Buffer.concat(chunks).toString();
}

/** Returns a part of an answer for display: endpoints often repeat the request. */
function spoken(text: string, config: HttpConfig): string {
  const secrets = [config.token ?? '', ...Object.values(config.headers ?? {})].filter(
    (secret) => secret !== '',
  );
  const forms = secrets
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)])
    .toSorted((one, other) => other.length - one.length);
  const hidden = forms.reduce((said, secret) => said.replaceAll(secret, '***'), text);
  const plain = hidden
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .replace(/\.$/, '');
  return plain.length > said_characters_max ? `${plain.slice(0, said_characters_max)} ...` : plain;
}

/** Returns 1, 2, 4, 8 seconds, or the pause of `Retry-After`: seconds or a date. */
function pauseOf({ retry_after }: Answer, tried: number, clock: Clock): number {
  const seconds = Number(retry_after);
  if (retry_after !== null && Number.isFinite(seconds) && seconds >= 0) return seconds * 1000;
  const at = Date.parse(retry_after ?? '');
  return Number.isNaN(at) ? 1000 * 2 ** (tried - 1) : Math.max(0, at - clock.now());
}
