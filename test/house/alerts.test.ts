import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { beginCounts } from '../../server/engine/exports/runs/first_counts.ts';
import { openMetrics } from '../../server/platform/metrics.ts';
import { root } from './source_files.ts';

// Series that Prometheus makes of a histogram.
const endings = ['_bucket', '_count', '_sum'];

/** The metrics that a text of expressions reads, each with the labels that stand beside it. */
function readMetrics(text: string): { name: string; labels: string[] }[] {
  return [...text.matchAll(/\b((?:sluice|nodejs|process)_\w+)(?:\{([^}]*)\})?/g)].map(
    ([, name, selector]) => ({
      name: name!,
      labels: [...(selector ?? '').matchAll(/(\w+)\s*[=!]/g)].map(([, label]) => label!),
    }),
  );
}

test('every metric of the dashboard and of the alert rules exists, with its labels', async () => {
  const registry = openMetrics({ process_metrics: true }).registry;
  const known = new Map(
    registry.getMetricsAsArray().map((metric) => [
      metric.name,
      // The class keeps the option, but its declaration leaves it out.
      (metric as unknown as { labelNames?: string[] }).labelNames ?? [],
    ]),
  );
  const texts = ['deploy/grafana/sluice.json', 'deploy/prometheus/alerts.yaml'].map((path) =>
    readFileSync(join(root, path), 'utf8').replaceAll('\\"', '"'),
  );
  const read = texts.flatMap(readMetrics);
  assert.ok(read.length > 15);
  for (const { name, labels } of read) {
    const ending = endings.find((one) => name.endsWith(one) && !known.has(name)) ?? '';
    const own = known.get(name.slice(0, name.length - ending.length));
    assert.ok(own, `${name} is no metric of this server.`);
    for (const label of labels) assert.ok(own.includes(label), `${name} has no label ${label}.`);
  }
  // Panels and rules group by labels of metrics, or by Prometheus's own.
  const labels = new Set([...[...known.values()].flat(), 'le', 'instance']);
  for (const text of texts)
    for (const [, list] of text.matchAll(/\bby \(([^)]*)\)/g))
      for (const label of list!.split(',').map((one) => one.trim()))
        assert.ok(labels.has(label), `No metric has a label ${label}.`);
});

test('an alert reports that all processes are away, which no other rule sees', () => {
  const rules = readFileSync(join(root, 'deploy/prometheus/alerts.yaml'), 'utf8');
  assert.match(rules, /expr: absent\(sluice_\w+\)\n/);
});

test('an alert reports a run that failed for good, by either status', () => {
  const ends = readFileSync(join(root, 'server/engine/model/run.ts'), 'utf8');
  const [, list] = /status: ((?:'\w+' \| )*'Cancelled'); code/.exec(ends)!;
  const failed = [...list!.matchAll(/'(Failed\w*)'/g)].map(([, status]) => status);
  assert.equal(failed.length, 2);
  const rules = readFileSync(join(root, 'deploy/prometheus/alerts.yaml'), 'utf8');
  assert.ok(rules.includes(`status=~"${failed.join('|')}"`));
});

test('a metric whose growth an alert watches starts at 0', async () => {
  const metrics = openMetrics({ process_metrics: false });
  beginCounts(metrics);
  const counts = await metrics.registry.metrics();
  const rules = readFileSync(join(root, 'deploy/prometheus/alerts.yaml'), 'utf8');
  const watched = [...rules.matchAll(/increase\((\w+)(?:\{(.*)\})?\[\w+\]\)\) (?:> 0|== 0)/g)];
  assert.deepEqual(
    watched.map(([, name]) => name),
    ['sluice_runs_finished_total', 'sluice_events_taken_total', 'sluice_records_exported_total'],
  );
  for (const [, name, selector] of watched) {
    const [, values] = /"(.*)"/.exec(selector ?? '') ?? [];
    for (const value of values?.split('|') ?? ['File'])
      assert.match(counts, new RegExp(`^${name}\\{[^}]*"${value}"[^}]*\\} 0$`, 'm'));
  }
});
