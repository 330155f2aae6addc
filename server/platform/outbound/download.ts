import type { Headers } from 'undici';
import type { Outbound } from './outbound.ts';
import { readBounded } from '../read_bounded.ts';

/** The answer of a download: status, headers, and the whole body as the server sent it. */
export type Download = { status: number; headers: Headers; body: Buffer };
/** The request of a download, and its limits. */
export type DownloadRequest = {
  headers: Record<string, string>;
  size_bytes_max: number;
  seconds_max: number;
  signal: AbortSignal;
};

/** Thrown if a body exceeds its limit; the rest is not read. */
export class DownloadTooLarge extends Error {
  readonly size_bytes_max: number;
  constructor(size_bytes_max: number) {
    super(`The answer is larger than ${size_bytes_max} bytes.`);
    this.name = 'DownloadTooLarge';
    this.size_bytes_max = size_bytes_max;
  }
}

/** Thrown if an answer was not complete in time. */
export class DownloadTooSlow extends Error {
  constructor(seconds: number, cause: unknown) {
    super(`The answer was incomplete after ${seconds} seconds.`, { cause });
    this.name = 'DownloadTooSlow';
  }
}

/**
 * Fetches a URL by GET through the guard. Guarantee: it holds at most `size_bytes_max` of the body,
 * counted on arrival whatever the server announces; including redirects, it ends within
 * `seconds_max` or when the signal aborts. Every status is an answer; a refusal, a failed
 * connection, and the signal's reason are thrown unchanged.
 */
export async function download(
  outbound: Outbound,
  url: URL,
  request: DownloadRequest,
): Promise<Download> {
  const deadline = AbortSignal.timeout(request.seconds_max * 1000);
  try {
    // Unpacked bodies would neither match a checksum nor be bounded by the sent size.
    const headers = { ...request.headers, 'accept-encoding': 'identity' };
    const response = await outbound.fetch(url, {
      headers,
      signal: AbortSignal.any([request.signal, deadline]),
    });
    const { size_bytes_max } = request;
    const tooLarge = () => new DownloadTooLarge(size_bytes_max);
    const body = await readBounded(response.body ?? [], size_bytes_max, tooLarge);
    return { status: response.status, headers: response.headers, body };
  } catch (error) {
    if (deadline.aborted && !request.signal.aborted && !(error instanceof DownloadTooLarge))
      throw new DownloadTooSlow(request.seconds_max, error);
    throw error;
  }
}
