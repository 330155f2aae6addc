import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DOMParser, onErrorStopParsing } from '@xmldom/xmldom';
import { parse } from 'yaml';
import { describedProgram } from '../../server/cli/commands.ts';
import { isCancelSafe } from '../../server/platform/clickhouse/topology/versions.ts';
import { release } from '../../server/platform/version.ts';
import { chart, renderChart } from './chart.ts';
import type { Values } from './chart.ts';
import { root } from './source_files.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');
const settings = new Set(read('docs/configuration.md').match(/SLUICE_[A-Z_]+/g));
const commands = new Set(describedProgram().commands.map((command) => command.name()));

const rating = (unit: string) =>
  spawnSync('systemd-analyze', ['security', '--offline=true', '--no-pager', unit], {
    encoding: 'utf8',
  });
const unit_path = join(root, 'deploy/sluice.service');

test(
  'systemd rates the exposure of the unit below 3',
  { skip: rating(unit_path).error === undefined ? false : 'systemd-analyze is not installed' },
  () => {
    const { stdout } = rating(unit_path);
    const [, exposure] = /exposure level for \S+: ([\d.]+)/.exec(stdout) ?? [];
    assert.ok(Number(exposure) < 3, stdout);
  },
);

test('the chart renders to objects that belong together, with our settings and commands', () => {
  const given = { SLUICE_WORKER_RUNS_MAX: 2, SLUICE_QUERY_ROWS_MAX: 1e9 };
  const objects = renderChart({ settings: given });
  assert.deepEqual(objects.map(({ kind }) => kind).toSorted(), [
    'Deployment',
    'Deployment',
    'PodDisruptionBudget',
    'PodDisruptionBudget',
    'Service',
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
    for (const [setting, value] of Object.entries(given))
      assert.equal(container.env.find(({ name }: Values) => name === setting).value, `${value}`);
    // A Service that is named sluice would else be a SLUICE_PORT, which is no port.
    assert.equal(spec.template.spec.enableServiceLinks, false);
    for (const name of names) assert.ok(settings.has(name), `${name} is no setting`);
    const [{ containerPort }] = container.ports;
    const { startupProbe, readinessProbe, livenessProbe } = container;
    for (const probe of [startupProbe, readinessProbe, livenessProbe])
      assert.equal(probe?.httpGet.port, containerPort);
    const volumes = spec.template.spec.volumes.map(({ name }: { name: string }) => name);
    for (const mount of container.volumeMounts) assert.ok(volumes.includes(mount.name));
    assert.deepEqual(
      container.volumeMounts.map(({ mountPath }: Values) => mountPath),
      ['/data', '/tmp'],
      'the root is read-only',
    );
    assert.equal(container.securityContext.readOnlyRootFilesystem, true);
    assert.ok(container.resources.requests.memory);
  }
  for (const { kind, spec } of objects) {
    if (kind === 'Service') assert.ok(labels.includes(spec.selector.app));
    if (kind === 'PodDisruptionBudget') assert.ok(labels.includes(spec.selector.matchLabels.app));
  }
  const { appVersion, version: own } = parse(read('deploy/chart/Chart.yaml')) as Values;
  assert.deepEqual([appVersion, own], [release, release]);
  assert.equal((parse(read('deploy/chart/values.yaml')) as Values)['image'], `sluice:${release}`);
});

test('the chart has a way in and monitoring, if you ask for them', () => {
  const values = parse(read(`${chart}/values.yaml`)) as Record<string, Values>;
  const objects = renderChart({
    ingress: { ...values['ingress'], enabled: true },
    monitoring: { enabled: true, labels: { release: 'prometheus' } },
  });
  const of = (wanted: string) => objects.filter(({ kind }) => kind === wanted);
  const services = of('Service');
  const [{ http }] = of('Ingress')[0].spec.rules;
  const { name, port } = http.paths[0].backend.service;
  const behind = services.find(({ metadata }) => metadata.name === name);
  assert.ok(behind.spec.ports.some((one: Values) => one['name'] === port.name));
  const { selector, endpoints } = of('ServiceMonitor')[0].spec;
  for (const { metadata, spec } of services) {
    assert.deepEqual(metadata.labels, selector.matchLabels);
    assert.equal(spec.ports[0].name, endpoints[0].port);
  }
  assert.deepEqual(of('PrometheusRule')[0].spec, parse(read('deploy/prometheus/alerts.yaml')));
});

/** A compose file of the folder, or what `standby` and `cluster` lay over others. */
function composed(name: string): { services: Record<string, any>; volumes: Values } {
  const layers = {
    standby: ['compose.stores.yaml', 'compose.standby.yaml'],
    cluster: ['compose.stores.yaml', 'compose.standby.yaml', 'compose.cluster.yaml'],
  }[name] ?? [name];
  const all = layers.map((path) => parse(read(`deploy/${path}`), { merge: true }));
  const services: Record<string, any> = {};
  for (const [service, own] of all.flatMap((layer) => Object.entries<any>(layer.services))) {
    const before = services[service] ?? {};
    services[service] = {
      ...before,
      ...own,
      environment: { ...before.environment, ...own.environment },
      depends_on: { ...before.depends_on, ...own.depends_on },
      volumes: [...(before.volumes ?? []), ...(own.volumes ?? [])],
    };
  }
  return { services, volumes: Object.assign({}, ...all.map((layer) => layer.volumes)) };
}

/** A ClickHouse, a Keeper or a PostgreSQL, by the name that others reach it by. */
type Store = {
  host: string;
  image: string;
  variables: string[];
  keepers: unknown[];
  /** The files by their path in the container. */
  files: Map<string, string>;
};

function composedStores(): Store[] {
  return Object.entries<any>(composed('cluster').services)
    .filter(([, { image }]) => !String(image).startsWith('sluice'))
    .map(([host, { image, environment, volumes, hostname = host }]) => {
      assert.equal(hostname, host, 'the others reach it by the name that it says of itself');
      return {
        host,
        image,
        variables: ['HOSTNAME', ...Object.keys(environment)],
        keepers: [1, 2, 3].map((number) => environment[`KEEPER_${number}`]),
        files: new Map(
          volumes
            .map((volume: string) => volume.split(':'))
            .filter(([from]: string[]) => from!.startsWith('.'))
            .map(([from, to]: string[]) => [to, read(join('deploy', from!))]),
        ),
      };
    });
}

function chartedStores(): Store[] {
  const objects = renderChart(parse(read(`${chart}/values.cluster.yaml`)) as Values);
  const config = objects.find(({ kind }) => kind === 'ConfigMap');
  return objects
    .filter(({ kind }) => kind === 'StatefulSet')
    .flatMap(({ metadata, spec }) => {
      const service = objects.find(
        (one) => one.kind === 'Service' && one.metadata.name === spec.serviceName,
      );
      assert.deepEqual(service.spec.selector, spec.template.metadata.labels);
      assert.deepEqual(spec.selector.matchLabels, spec.template.metadata.labels);
      const [{ image, env, command, volumeMounts }] = spec.template.spec.containers;
      const value = (name: string) => env.find((one: Values) => one['name'] === name)?.value;
      const mounted = volumeMounts.filter(({ name }: Values) => name === 'files');
      const [claim] = spec.volumeClaimTemplates;
      assert.ok(volumeMounts.some(({ name }: Values) => name === claim.metadata.name));
      const set = /\(\( (\w+) = /.exec(String(command))?.[1];
      return Array.from({ length: spec.replicas }, (_, number) => ({
        host: `${metadata.name}-${number}.${spec.serviceName}`,
        image,
        variables: [...env.map(({ name }: Values) => name), ...(set === undefined ? [] : [set])],
        keepers: [1, 2, 3].map((keeper) => value(`KEEPER_${keeper}`)),
        files: new Map(
          mounted.map(({ mountPath, subPath }: any) => [mountPath, config.data[subPath]]),
        ),
      }));
    });
}

for (const [name, storesOf, urls] of [
  ['the compose files', composedStores, () => composed('cluster').services['api'].environment],
  ['the chart', chartedStores, () => namedInComment()],
] as const)
  test(`${name} of a cluster: who is named is there, with files that fit`, () => {
    const stores = storesOf();
    const of = (image: string) => stores.filter((one) => one.image.startsWith(image));
    const servers = of('clickhouse/clickhouse-server:');
    const keepers = of('clickhouse/clickhouse-keeper:');
    const postgres = of('postgres:');
    assert.deepEqual([servers.length, keepers.length, postgres.length], [3, 3, 2]);
    const { SLUICE_CLICKHOUSE_URL: clickhouse, SLUICE_DATABASE_URL: database } = urls();
    const hosts = [...clickhouse.matchAll(/@([\w.-]+):8123\/sluice/g)].map(([, host]) => host);
    assert.deepEqual(hosts, servers.map(({ host }) => host).toSorted());
    const named = /@([\w.,-]+)\/sluice$/.exec(database)![1]!.split(',');
    assert.deepEqual(named, postgres.map(({ host }) => host).toSorted());
    for (const { image, keepers: known, variables, files } of [...servers, ...keepers]) {
      assert.ok(isCancelSafe(image.split(':')[1]!), `${image} may lose an insert that is cut off`);
      assert.deepEqual(known, keepers.map(({ host }) => host).toSorted());
      for (const [path, text] of files) {
        if (!path.endsWith('.xml')) continue;
        const wanted = [...text.matchAll(/from_env="(\w+)"/g)].map(([, variable]) => variable!);
        assert.deepEqual(
          wanted.filter((one) => !variables.includes(one)),
          [],
          path,
        );
        new DOMParser({ onError: onErrorStopParsing }).parseFromString(text, 'text/xml');
      }
    }
    for (const { files, variables } of servers) {
      assert.match(files.get('/docker-entrypoint-initdb.d/cluster.sql')!, /ENGINE = Replicated\(/);
      assert.ok(files.has('/etc/clickhouse-server/config.d/cluster.xml'));
      assert.ok(variables.includes('CLICKHOUSE_ALWAYS_RUN_INITDB_SCRIPTS'));
    }
    for (const { files } of keepers)
      assert.match(
        files.get('/etc/clickhouse-keeper/keeper_config.xml')!,
        /<quorum_reads>true<\/quorum_reads>/,
      );
    assert.match(
      postgres.map(({ files }) => [...files.values()].join('')).join(''),
      /synchronous_standby_names = '\*'/,
    );
  });

/** Returns the Secret that the comment of the values creates, by a shell with our `kubectl`. */
function namedInComment(): Record<string, string> {
  const lines = read(`${chart}/values.cluster.yaml`).match(/(?<=^# {3})(?!helm).*/gm)!;
  const script = ['kubectl() { printf "%s\\n" "$@"; }', ...lines].join('\n');
  const said = execFileSync('sh', ['-c', script], { encoding: 'utf8' });
  const [, , , , ...literals] = said.trim().split('\n');
  for (const text of literals) assert.match(text, /^--from-literal=\w+=\S+$/);
  return Object.fromEntries(literals.map((text) => text.slice(15).split(/=(.*)/, 2)));
}

test('the compose files, the image and the unit name settings and commands of ours', () => {
  const image = read('deploy/Dockerfile');
  const own_folders = /install -d -o node -g node (.*)$/m.exec(image)![1]!.split(' ');
  for (const path of ['compose.yaml', 'compose.stores.yaml', 'standby', 'cluster']) {
    const { services, volumes } = composed(path);
    for (const [name, service] of Object.entries<any>(services)) {
      if (!String(service.image).startsWith('sluice')) continue;
      for (const word of service.command ?? []) assert.ok(commands.has(word), `${path}: ${word}`);
      for (const setting of Object.keys(service.environment ?? {}))
        assert.ok(settings.has(setting), `${path}: ${setting}`);
      for (const other of Object.keys(service.depends_on ?? {}))
        assert.ok(services[other].healthcheck, `${path}: ${name} waits for ${other}'s health`);
      for (const volume of service.volumes ?? []) {
        const [from, to] = String(volume).split(':');
        assert.ok(Object.hasOwn(volumes, from!), `${path}: ${volume}`);
        assert.ok(own_folders.includes(to!), `${path}: the image's user cannot write ${to}`);
      }
    }
    // The API tests a File export and reads tables of the lake where workers write them.
    const { api, worker } = services;
    assert.deepEqual(api?.volumes, worker?.volumes, path);
  }
  for (const [name] of image.matchAll(/SLUICE_[A-Z_]+/g)) assert.ok(settings.has(name), name);
  assert.ok(commands.has(/^CMD \["(\w+)"\]$/m.exec(image)![1]!));
  const unit = read('deploy/sluice.service');
  assert.ok(commands.has(/^ExecStart=\S+ sluice (\w+)$/m.exec(unit)![1]!));
  // The measured server ran with one arena, so every way to start one sets that.
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  for (const start of [image, unit, scripts['start']!, read('test/processes/server_process.ts')])
    assert.match(start, /MALLOC_ARENA_MAX\W+1\b/);
});
