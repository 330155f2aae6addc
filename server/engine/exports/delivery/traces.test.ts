import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import type { QueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { openHttpReceiver } from '../../../../test/servers/http_receiver.ts';
import type { HttpReceiver } from '../../../../test/servers/http_receiver.ts';
import { readConfig } from '../../../config/config.ts';
import { tracingOptions } from '../../../config/tracing.ts';
import { systemClock } from '../../../platform/clock.ts';
import { openLog } from '../../../platform/log.ts';
import { openMetrics } from '../../../platform/metrics.ts';
import { openTracer } from '../../../platform/tracing/tracer.ts';
import type { Tracer } from '../../../platform/tracing/tracer.ts';

type Attribute = { key: string; value: { stringValue?: string; intValue?: string } };
type SentSpan = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  attributes: Attribute[];
  status: { code?: number };
  startTimeUnixNano: string;
  endTimeUnixNano: string;
};

let receiver: HttpReceiver;
let exporting: QueryHarness;
let tracer: Tracer;
const metrics = openMetrics({ process_metrics: false });
const logged: string[] = [];

before(async () => {
  receiver = await openHttpReceiver({});
  const config = readConfig({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-of-collector=a%20secret',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.name=other',
    OTEL_SERVICE_NAME: 'sluice-test',
  });
  const log = openLog('debug', 'json', { write: (line) => void logged.push(line) });
  tracer = openTracer(tracingOptions(config), { clock: systemClock, log, metrics })!;
  exporting = await openQueryHarness({ deps: { tracer, metrics, log } });
});
after(async () => {
  await exporting.close();
  await receiver.close();
});

const valueOf = (span: SentSpan, key: string) => {
  const value = span.attributes.find((one) => one.key === key)?.value;
  return value?.stringValue ?? value?.intValue;
};

test('request, query, run, slice and what is sent are one tree, without secrets', async () => {
  const { harness, scheduled, insert, runAll } = exporting;
  const home = await harness.newOrganization();
  const caller = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-';
  const ask = (traceparent: string) =>
    harness.request('GET', '/api/organizations/@current/?word=of-the-query', {
      key: home.key,
      headers: { traceparent },
    });
  const sampled = await ask(`${caller}01`);
  const unsampled = await ask(`${caller}00`);
  assert.match(
    sampled.headers['traceresponse']!,
    /^00-4bf92f3577b34da6a3ce929d0e0e4736-\w{16}-01$/,
  );
  assert.match(unsampled.headers['traceresponse']!, /^00-4bf92f3577b34da6a3ce929d0e0e4736-.*-00$/);
  for (const malformed of [
    'no',
    `${caller.toUpperCase()}01`,
    `${caller}01-more`,
    `ff${caller.slice(2)}01`,
    `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
  ])
    assert.doesNotMatch((await ask(malformed)).headers['traceresponse']!, /4bf92f35/, malformed);

  await insert(home, [{ event: 'one', at: '2026-01-01T00:10:00Z' }]);
  const token = 'a-token-of-the-destination';
  const to_http = await scheduled(home, {
    destination: { type: 'HTTP', config: { url: `${receiver.url}/rows?key=in-the-url`, token } },
  });
  const [run] = await runAll(to_http.id);
  assert.equal(run!.status, 'Completed', run!.latest_error ?? '');
  const { results } = (await to_http.get(`runs/${run!.id}/logs/`)).body;
  await tracer.close();

  const batches = receiver.requests.filter(({ path }) => path === '/v1/traces');
  assert.equal(batches[0]!.headers['x-of-collector'], 'a secret');
  const bodies = batches.map(({ body }) => JSON.parse(body).resourceSpans[0]);
  const resource: Attribute[] = bodies[0].resource.attributes;
  const about = Object.fromEntries(resource.map(({ key, value }) => [key, value.stringValue]));
  assert.equal(about['service.name'], 'sluice-test');
  assert.equal(about['deployment.environment.name'], 'test');
  const spans: SentSpan[] = bodies.flatMap((body) => body.scopeSpans[0].spans);
  const named = (name: string, within = spans) => within.filter((span) => span.name === name);
  const below = ({ spanId }: SentSpan) => spans.filter((span) => span.parentSpanId === spanId);

  const [request, ...others] = spans.filter(
    ({ parentSpanId }) => parentSpanId === '00f067aa0ba902b7',
  );
  assert.deepEqual(others, [], 'the request without the flag is not exported');
  assert.equal(request!.name, 'GET /api/organizations/:id/');
  assert.equal(valueOf(request!, 'http.response.status_code'), '200');
  assert.ok(named('PostgreSQL SELECT', below(request!)).length > 0);

  const root = named('run').find((span) => valueOf(span, 'sluice.run_id') === run!.id)!;
  assert.ok(
    results.some(({ message }: { message: string }) => message === `Trace ${root.traceId}.`),
  );
  assert.ok(named('ClickHouse query', below(root)).length > 0);
  const [slice] = named('slice', below(root));
  assert.equal(valueOf(slice!, 'sluice.records'), '1');
  assert.ok(named('ClickHouse exec', below(slice!)).length > 0);
  const sent = named('HTTP POST').find(({ traceId }) => traceId === root.traceId)!;
  const [rows] = receiver.requests.filter(({ path }) => path.startsWith('/rows'));
  assert.equal(rows!.headers['traceparent'], `00-${sent.traceId}-${sent.spanId}-01`);
  for (const span of spans)
    assert.ok(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano), span.name);

  assert.ok(logged.some((line) => line.includes(`"trace_id":"${request!.traceId}"`)));
  const all = batches.map(({ body }) => body).join('\n');
  for (const secret of [token, 'in-the-url', 'of-the-query', home.key])
    assert.ok(!all.includes(secret), secret);
  const [counted] = (await metrics.spans.get()).values;
  assert.deepEqual([counted!.labels, counted!.value], [{ outcome: 'sent' }, spans.length]);
});
