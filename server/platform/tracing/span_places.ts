import { appendFile, rename, stat } from 'node:fs/promises';
import type { Logger } from '../log.ts';
import type { Outbound } from '../outbound/outbound.ts';
import type { Sent } from './span_queue.ts';

/** A receiver of spans, as texts of OTLP. Never rejects. */
export type SpanPlace = (text: string) => Promise<Sent>;

/** A collector: its URL for traces, the headers that it needs, and its time limit. */
export type Collector = { url: string; headers: Record<string, string>; timeout_ms: number };

const file_bytes_max = 64 * 1024 * 1024;
const may_be_mended = new Set([429, 502, 503, 504]);
const told_ms = 60_000;

/**
 * Sends texts to a collector by OTLP over HTTP. Failures are logged once a minute, only with the
 * status or the code of the error.
 */
export function collectorPlace(collector: Collector, outbound: Outbound, log: Logger): SpanPlace {
  const tell = onceAMinute(log);
  return async (text) => {
    try {
      const response = await outbound.fetch(collector.url, {
        method: 'POST',
        redirect: 'error',
        headers: { ...collector.headers, 'content-type': 'application/json' },
        body: text,
        signal: AbortSignal.timeout(collector.timeout_ms),
      });
      if (response.ok) return { outcome: 'sent', refused: refusedOf(await response.text()) };
      await response.body?.cancel();
      tell({ status: response.status });
      return { outcome: may_be_mended.has(response.status) ? 'later' : 'refused' };
    } catch (error) {
      const { code, name } = ((error as Error).cause ?? error) as { code?: string; name?: string };
      tell({ code: code ?? name });
      return { outcome: 'later' };
    }
  };
}

/** Returns the number of spans that the collector dropped, which it reports in an answer of 200. */
function refusedOf(text: string): number {
  try {
    const { partialSuccess } = JSON.parse(text) as { partialSuccess?: { rejectedSpans?: unknown } };
    return Math.max(0, Number(partialSuccess?.rejectedSpans ?? 0)) || 0;
  } catch {
    return 0;
  }
}

/**
 * Appends texts to a file, one per line. At 64 MiB the file is renamed with the suffix `.1`, which
 * replaces the previous one.
 */
export function filePlace(path: string, log: Logger): SpanPlace {
  const tell = onceAMinute(log);
  return async (text) => {
    try {
      const { size } = await stat(path).catch(() => ({ size: 0 }));
      if (size + text.length > file_bytes_max) await rename(path, `${path}.1`);
      await appendFile(path, `${text}\n`, { mode: 0o600 });
      return { outcome: 'sent' };
    } catch (error) {
      tell({ code: (error as NodeJS.ErrnoException).code });
      return { outcome: 'later' };
    }
  };
}

function onceAMinute(log: Logger): (why: Record<string, unknown>) => void {
  let told_at = -Infinity;
  return (why) => {
    if (performance.now() - told_at < told_ms) return;
    told_at = performance.now();
    log.warn(why, 'traces could not be sent; spans beyond the queue are dropped');
  };
}
