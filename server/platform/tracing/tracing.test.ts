import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readConfig } from '../../config/config.ts';
import { tracingOptions } from '../../config/tracing.ts';
import { systemClock } from '../clock.ts';
import { silentLog } from '../log.ts';
import { openMetrics } from '../metrics.ts';
import { openSampler } from './sampler.ts';
import { Span, inSpan, newId } from './span.ts';
import { openSpanQueue } from './span_queue.ts';
import type { Sent } from './span_queue.ts';
import { openTracer } from './tracer.ts';
import { folderAroundTests } from '../../../test/around_tests.ts';

const folder = folderAroundTests();

const onEnd = () => {};
const newSpan = () =>
  new Span({ trace_id: newId(16), is_sampled: true, origin_ms: 0, onEnd }, 'a span', {});

/** A queue, what its spans came to, and the answers that its next batches get. */
function openCounted(answers: Sent[]) {
  const counts: Record<string, number> = {};
  const batches: number[] = [];
  const queue = openSpanQueue(
    async (spans) => {
      batches.push(spans.length);
      return answers.shift() ?? { outcome: 'sent' };
    },
    (outcome, spans) => (counts[outcome] = (counts[outcome] ?? 0) + spans),
    1,
  );
  const add = (count: number) => {
    for (let added = 0; added < count; added += 1) queue.add(newSpan());
  };
  return { queue, counts, batches, add };
}

test('nobody waits for a collector that does not answer, and drops are counted', async () => {
  const never = new Promise<Sent>(() => {});
  const counts = new Map<string, number>();
  const queue = openSpanQueue(
    () => never,
    (outcome, spans) => counts.set(outcome, (counts.get(outcome) ?? 0) + spans),
  );
  for (let added = 0; added < 3_000; added += 1) queue.add(newSpan());
  // 512 are under way, 2,048 wait.
  assert.deepEqual([...counts], [['queue_full', 3_000 - 512 - 2_048]]);
  await queue.close(10);
  assert.equal(counts.get('failed'), 2_048);
});

test('a batch is tried five times, and one that is refused is not', async () => {
  const later = Array.from({ length: 5 }, (): Sent => ({ outcome: 'later' }));
  const away = openCounted([...later, { outcome: 'refused' }, { outcome: 'sent', refused: 2 }]);
  away.add(512 * 3);
  while ((away.counts['sent'] ?? 0) === 0) await new Promise(setImmediate);
  await away.queue.close(1_000);
  assert.deepEqual(
    away.batches,
    Array.from({ length: 7 }, () => 512),
  );
  assert.deepEqual(away.counts, { failed: 512, refused: 512 + 2, sent: 510 });
});

test('samplers decide by the caller, by the ratio, or always alike', () => {
  const ids = Array.from({ length: 2_000 }, () => newId(16));
  const part = (name: string, ratio: number, parent?: { is_sampled: boolean }) =>
    ids.filter((id) => openSampler(name, ratio)(id, parent)).length / ids.length;
  const [sampled, unsampled] = [{ is_sampled: true }, { is_sampled: false }];
  assert.deepEqual([part('always_on', 0, unsampled), part('always_off', 1, sampled)], [1, 0]);
  assert.deepEqual([part('parentbased_always_on', 1), part('parentbased_always_off', 1)], [1, 0]);
  assert.equal(part('parentbased_traceidratio', 0, sampled), 1);
  assert.equal(part('parentbased_always_on', 1, unsampled), 0);
  assert.deepEqual([part('traceidratio', 0), part('traceidratio', 1)], [0, 1]);
  assert.ok(Math.abs(part('parentbased_traceidratio', 0.25) - 0.25) < 0.06);
});

const optionsOf = (environment: Record<string, string>) => tracingOptions(readConfig(environment));
const openWith = (environment: Record<string, string>) =>
  openTracer(optionsOf(environment), {
    clock: systemClock,
    log: silentLog(),
    metrics: openMetrics({ process_metrics: false }),
  });

test('traces are off by default, and go where the variables of the specification say', async () => {
  const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://127.0.0.1:4318';
  const ways_off: Record<string, string>[] = [
    {},
    { OTEL_SERVICE_NAME: 'named', OTEL_TRACES_SAMPLER: 'always_on' },
    { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SDK_DISABLED: 'true' },
    { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_EXPORTER: 'none' },
  ];
  for (const off of ways_off) assert.equal(openWith(off), undefined, JSON.stringify(off));
  const { collector } = optionsOf({
    OTEL_EXPORTER_OTLP_ENDPOINT,
    OTEL_EXPORTER_OTLP_HEADERS: 'Api-Key=a%2Cb, other = c=d',
  });
  assert.equal(collector!.url, 'http://127.0.0.1:4318/v1/traces');
  assert.deepEqual(collector!.headers, { 'api-key': 'a,b', other: 'c=d' });
  const OTEL_EXPORTER_OTLP_TRACES_ENDPOINT = 'https://collector/own';
  const own = optionsOf({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT });
  assert.equal(own.collector!.url, 'https://collector/own');
  for (const wrong of [
    { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
    { OTEL_TRACES_SAMPLER_ARG: '2' },
    { OTEL_EXPORTER_OTLP_HEADERS: 'secret-without-name' },
    { OTEL_EXPORTER_OTLP_HEADERS: 'name=a%0asecret-' },
  ])
    assert.throws(
      () => readConfig(wrong),
      (error: Error) =>
        error.message.startsWith(Object.keys(wrong)[0]!) && !error.message.includes('secret-'),
    );

  const file = join(folder, 'traces.jsonl');
  const tracer = openWith({ SLUICE_TRACES_FILE: file })!;
  await assert.rejects(
    tracer.during('outer', { big: 2 ** 60, part: 0.5, is: true }, () =>
      inSpan('inner', {}, async () => {
        throw Object.assign(new Error('words with a secret'), { code: 'E_KNOWN' });
      }),
    ),
  );
  await tracer.close();
  const [line, rest] = readFileSync(file, 'utf8').split('\n');
  assert.equal(rest, '');
  const [inner, outer] = JSON.parse(line!).resourceSpans[0].scopeSpans[0].spans;
  assert.deepEqual([inner.parentSpanId, inner.traceId], [outer.spanId, outer.traceId]);
  assert.deepEqual(inner.attributes, [{ key: 'error.type', value: { stringValue: 'E_KNOWN' } }]);
  assert.deepEqual([inner.status, outer.kind], [{ code: 2 }, 1]);
  assert.ok(!line!.includes('a secret'));
});
