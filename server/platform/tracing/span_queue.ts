import { outsideOfSpans } from './span.ts';
import type { Span } from './span.ts';

/**
 * The outcome of a batch: `later` may succeed in a retry. `refused`: the number of refused spans.
 */
export type Sent = { outcome: 'sent'; refused?: number } | { outcome: 'later' | 'refused' };

/** The outcome of a span, as the metric counts it. */
export type SpanOutcome = 'sent' | 'queue_full' | 'refused' | 'failed';

/** Spans that wait to be sent. */
export type SpanQueue = {
  /** Adds a span, or drops it at once; never waits. */
  add(span: Span): void;
  /** Sends waiting spans, for at most this long, and drops the rest. */
  close(wait_ms: number): Promise<void>;
};

const queue_max = 2_048;
const batch_max = 512;
const delay_ms = 5_000;
const tries_max = 5;

/**
 * Opens a queue of 2,048 spans. Guarantees: `add` never waits, and spans without room are dropped.
 * Each span is counted once, with its outcome. A batch that could not be sent is tried five times
 * with growing pauses, one batch at a time. `send` never rejects.
 */
export function openSpanQueue(
  send: (spans: Span[]) => Promise<Sent>,
  count: (outcome: SpanOutcome, spans: number) => void,
  pause_ms = 1_000,
): SpanQueue {
  let waiting: Span[] = [];
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> | undefined;
  let isClosed = false;
  const over = Promise.withResolvers<void>();
  const pause = (tried: number) =>
    Promise.race([
      new Promise<void>((resolve) => setTimeout(resolve, pause_ms * 2 ** (tried - 1)).unref()),
      over.promise,
    ]);
  const sendBatch = async (batch: Span[]) => {
    for (let tried = 1; ; tried += 1) {
      const sent = await send(batch);
      if (sent.outcome === 'sent') {
        const { refused = 0 } = sent;
        count('sent', batch.length - refused);
        return count('refused', refused);
      }
      if (sent.outcome === 'refused') return count('refused', batch.length);
      if (isClosed || tried === tries_max) return count('failed', batch.length);
      await pause(tried);
    }
  };
  const sendAll = async () => {
    while (waiting.length > 0) await sendBatch(waiting.splice(0, batch_max));
  };
  const begin = () => {
    clearTimeout(timer);
    timer = undefined;
    sending ??= outsideOfSpans(sendAll).finally(() => (sending = undefined));
    return sending;
  };
  return {
    add: (span) => {
      if (isClosed || waiting.length >= queue_max) return count('queue_full', 1);
      waiting.push(span);
      if (waiting.length >= batch_max) void begin();
      else timer ??= setTimeout(() => void begin(), delay_ms).unref();
    },
    close: async (wait_ms) => {
      isClosed = true;
      over.resolve();
      const limit = new Promise<void>((resolve) => setTimeout(resolve, wait_ms).unref());
      await Promise.race([begin(), limit]);
      count('failed', waiting.length);
      waiting = [];
    },
  };
}
