import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { version } from '../../server/platform/version.ts';
import { root } from './source_files.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');
const settings = new Set(read('docs/configuration.md').match(/SLUICE_[A-Z_]+/g));
const commands = new Set(
  [...read('server/cli/commands.ts').matchAll(/\.command\('(\w+)'\)/g)].map(([, name]) => name!),
);

type Values = Record<string, unknown>;

/** The value at a path such as `.Values.api.replicas`. Throws for one that `values.yaml` lacks. */
function valueAt(path: string, context: Values): unknown {
  let value: unknown = context;
  for (const name of path.split('.').filter((part) => part !== '')) {
    value = (value as Values | null | undefined)?.[name];
    assert.notEqual(value, undefined, `values.yaml has no ${path}`);
  }
  return value;
}

/**
 * Renders what the chart uses of Helm's templates: values, `quote`, `toJson`, `include` with
 * `nindent`, and `range` over a map. Throws for anything else, as there is no Helm to ask.
 */
function render(text: string, parts: Map<string, string>, context: Values): string {
  const ranged = text.replaceAll(
    /\n? *\{\{- range \$(\w+), \$(\w+) := (\S+) \}\}([\s\S]*?)\{\{- end \}\}/g,
    (_whole, name: string, value: string, path: string, body: string) =>
      Object.entries(valueAt(path, context) as Values)
        .map(([key, one]) =>
          body
            .trimEnd()
            .replaceAll(`{{ $${name} }}`, key)
            .replaceAll(`{{ $${value} | quote }}`, JSON.stringify(String(one))),
        )
        .join(''),
  );
  return ranged.replaceAll(
    /(\s*)\{\{(-?) (.*?) \}\}/g,
    (_whole, space: string, cut: string, said: string) => {
      const included = /^include "([\w.]+)" \. \| nindent (\d+)$/.exec(said);
      if (included !== null) {
        const part = render(parts.get(included[1]!)!, parts, context).trim();
        const indent = `\n${' '.repeat(Number(included[2]))}`;
        return indent + part.replaceAll('\n', indent);
      }
      assert.equal(cut, '', `the test does not know ${said}`);
      const plain = /^(\.[\w.]+)( \| quote)?$/.exec(said);
      if (plain !== null) {
        const value = String(valueAt(plain[1]!, context));
        return space + (plain[2] === undefined ? value : JSON.stringify(value));
      }
      const json = /^toJson (\.[\w.]+)$/.exec(said);
      assert.ok(json, `the test does not know ${said}`);
      return space + JSON.stringify(valueAt(json[1]!, context));
    },
  );
}

/** The objects that the chart makes with these values beside its own. */
function renderChart(more: Values): any[] {
  const folder = 'deploy/chart/templates';
  const parts = new Map(
    [
      ...read(`${folder}/_pod.tpl`).matchAll(
        /\{\{- define "([\w.]+)" -\}\}\n([\s\S]*?)\n\{\{- end \}\}\n(?=\{\{- define|$)/g,
      ),
    ].map(([, name, body]) => [name!, body!]),
  );
  const context = {
    Values: { ...(parse(read('deploy/chart/values.yaml')) as Values), ...more },
    Release: { Name: 'mine' },
  };
  return globSync(`${folder}/*.yaml`, { cwd: root }).flatMap((path) =>
    parseAllDocuments(render(read(path), parts, context)).map((document) => {
      assert.deepEqual(document.errors, [], path);
      return document.toJS() as unknown;
    }),
  );
}

test('the chart renders to objects that belong together, with our settings and commands', () => {
  const objects = renderChart({ settings: { SLUICE_WORKER_RUNS_MAX: 2 } });
  assert.deepEqual(objects.map(({ kind }) => kind).toSorted(), [
    'Deployment',
    'Deployment',
    'PodDisruptionBudget',
    'Service',
  ]);
  const deployments = objects.filter(({ kind }) => kind === 'Deployment');
  const labels = deployments.map(({ spec }) => spec.template.metadata.labels.app);
  for (const { spec } of deployments) {
    assert.deepEqual(spec.selector.matchLabels, spec.template.metadata.labels);
    const [container] = spec.template.spec.containers;
    assert.ok(
      container.args.every((word: string) => commands.has(word)),
      container.args,
    );
    const names = container.env.map(({ name }: { name: string }) => name);
    assert.ok(names.includes('SLUICE_WORKER_RUNS_MAX'));
    for (const name of names) assert.ok(settings.has(name), `${name} is no setting`);
    const [{ containerPort }] = container.ports;
    for (const probe of [container.readinessProbe, container.livenessProbe])
      assert.equal(probe.httpGet.port, containerPort);
    const volumes = spec.template.spec.volumes.map(({ name }: { name: string }) => name);
    for (const mount of container.volumeMounts) assert.ok(volumes.includes(mount.name));
    assert.ok(container.resources.requests.memory);
  }
  const service = objects.find(({ kind }) => kind === 'Service');
  assert.ok(labels.includes(service.spec.selector.app));
  const { appVersion, version: own } = parse(read('deploy/chart/Chart.yaml')) as Values;
  assert.deepEqual([appVersion, own], [version, version]);
  assert.equal((parse(read('deploy/chart/values.yaml')) as Values)['image'], `sluice:${version}`);
});

test('the compose files, the image and the unit name settings and commands of ours', () => {
  for (const path of ['deploy/compose.yaml', 'deploy/compose.stores.yaml']) {
    const { services, volumes = {} } = parse(read(path), { merge: true });
    for (const [name, service] of Object.entries<any>(services)) {
      if (!String(service.image).startsWith('sluice')) continue;
      for (const word of service.command ?? []) assert.ok(commands.has(word), `${path}: ${word}`);
      for (const setting of Object.keys(service.environment ?? {}))
        assert.ok(settings.has(setting), `${path}: ${setting}`);
      for (const other of Object.keys(service.depends_on ?? {}))
        assert.ok(services[other].healthcheck, `${path}: ${name} waits for ${other}'s health`);
      for (const volume of service.volumes ?? [])
        assert.ok(Object.hasOwn(volumes, String(volume).split(':')[0]!), `${path}: ${volume}`);
    }
  }
  const image = read('deploy/Dockerfile');
  for (const [name] of image.matchAll(/SLUICE_[A-Z_]+/g)) assert.ok(settings.has(name), name);
  assert.ok(commands.has(/^CMD \["(\w+)"\]$/m.exec(image)![1]!));
  assert.ok(commands.has(/^ExecStart=\S+ sluice (\w+)$/m.exec(read('deploy/sluice.service'))![1]!));
});
