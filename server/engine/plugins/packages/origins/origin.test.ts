import assert from 'node:assert/strict';
import { test } from 'node:test';
import { packFiles } from '../../../../../test/factories/plugins/plugin_archives.ts';
import {
  openOriginWorld,
  origin_secret as secret,
  rejectsAs,
} from '../../../../../test/factories/plugins/plugin_origins.ts';
import { openOrigin } from './open_origin.ts';
import { aroundTests } from '../../../../../test/around_tests.ts';

const { signal } = new AbortController();
const files = (code: string) => ({ 'plugin.json': '{"name":"Counter"}', 'index.js': code });

const world = aroundTests(openOriginWorld);

const latest = (url: string, given = world.deps) => openOrigin({ url }, given).findLatest(signal);
const fetched = (url: string, tag: string | null = null, given = world.deps) =>
  openOrigin({ url }, given).fetch(tag, signal);
const codeOf = async (url: string, tag: string | null = null, given = world.deps) =>
  (await fetched(url, tag, given)).files['index.js'];
const refused = async (...[work, code, reason]: Parameters<typeof rejectsAs>) => {
  await rejectsAs(work, code, reason);
  assert(!world.logged().includes(secret));
};

test('npm: the version that is tagged, in the range, or exact', async () => {
  for (const version of ['1.0.0', '1.1.0', '1.2.0-beta.1', '2.0.0'])
    world.registry.publish('counter', version, files(version), {
      tag: version.includes('beta') ? 'beta' : 'latest',
    });
  world.registry.publish('@acme/counter', '0.1.0', files('scoped'));
  const cases: [string, string | null][] = [
    ['counter', '2.0.0'],
    [' counter ', '2.0.0'],
    ['counter@latest', '2.0.0'],
    ['counter@beta', '1.2.0-beta.1'],
    ['counter@^1', '1.1.0'],
    ['counter@1.0.0', '1.0.0'],
    ['counter@>=1.0.0 <3', '2.0.0'],
    ['counter@^7', null],
    ['counter@nightly', null],
    ['https://www.npmjs.com/package/counter', '2.0.0'],
    ['https://www.npmjs.com/package/counter/', '2.0.0'],
    ['https://npmjs.com/package/counter/v/1.0.0?activeTab=code', '1.0.0'],
    ['https://www.npmjs.com/package/@acme/counter', '0.1.0'],
    ['@acme/counter@^0.1', '0.1.0'],
  ];
  for (const [url, version] of cases) assert.equal(await latest(url), version, url);
  const newest = await fetched('counter');
  assert.deepEqual(
    [newest.tag, newest.files['index.js'], newest.manifest.version],
    ['2.0.0', '2.0.0', '2.0.0'],
  );
  assert.equal(await codeOf('counter@^1'), '1.1.0');
  assert.equal(await codeOf('counter', '1.0.0'), '1.0.0');
  assert.equal(await codeOf('@acme/counter'), 'scoped');
  await refused(fetched('counter@^7'), 'not_found', /no version \^7/);
  await refused(fetched('counter', '9.9.9'), 'not_found', /no version 9\.9\.9/);
  await refused(fetched('missing'), 'not_found', /does not have the package missing/);
});

test('npm: only the bytes that were published, and only from where they should come', async () => {
  const hash = `sha512-${Buffer.alloc(64, 7).toString('base64')}`;
  world.registry.publish('swapped', '1.0.0', files(''), { integrity: hash });
  world.registry.publish('unsigned', '1.0.0', files(''), { integrity: undefined });
  world.registry.publish('weak', '1.0.0', files(''), {
    integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=',
  });
  world.registry.publish('elsewhere', '1.0.0', files(''), { tarball: 'http://192.0.2.1/x.tgz' });
  world.registry.publish('inside', '1.0.0', files(''), {
    tarball: 'https://169.254.169.254/latest/meta-data',
  });
  world.registry.publish('broken', '1.0.0', files(''), { archive: Buffer.from('hello') });
  world.registry.publish('bare', '1.0.0', {}, { archive: packFiles({ 'index.js': '' }) });
  world.registry.publish(
    'wrong',
    '1.0.0',
    {},
    { archive: packFiles({ 'plugin.json': '{"name": }' }) },
  );
  world.registry.publish('moved', '1.0.0', files('here'));
  await refused(fetched('swapped'), 'refused', /SHA-512 differs/);
  await refused(fetched('unsigned'), 'refused', /no SHA-512/);
  await refused(fetched('weak'), 'refused', /no SHA-512/);
  await refused(fetched('elsewhere'), 'refused', /not https/);
  await refused(fetched('inside'), 'refused', /not globally reachable/);
  await refused(fetched('broken'), 'invalid', /neither a zip archive nor a tar/);
  await refused(fetched('bare'), 'invalid', /no plugin\.json/);
  await refused(fetched('wrong'), 'invalid', /line 1, column 10/);
  assert.equal(await codeOf('moved'), 'here');
});

test('npm: a token reaches the registry alone and is never shown', async () => {
  world.registry.publish('private', '1.0.0', files('private'), {});
  world.registry.protect('private', secret);
  await refused(fetched('private'), 'not_found', /give a token/);
  const origin = openOrigin(
    { url: `https://www.npmjs.com/package/private?private_token=${secret}` },
    world.deps,
  );
  assert.equal(origin.shown_url, 'https://www.npmjs.com/package/private');
  assert.equal((await origin.fetch(null, signal)).files['index.js'], 'private');
  assert.equal(await codeOf(`private@1?private_token=${secret}`), 'private');
  assert.equal(
    await codeOf('private', null, { ...world.deps, tokens: { npm: secret } }),
    'private',
  );
  world.registry.publish('lured', '1.0.0', files('x'), {
    tarball: world.forge.settings.github_url.replace('127.0.0.1', 'localhost'),
  });
  world.registry.protect('lured', secret);
  await refused(
    fetched('lured', null, { ...world.deps, tokens: { npm: secret } }),
    'refused',
    /not https/,
  );
  assert(!world.logged().includes(secret));
});

test('a branch is found among more than a page of those that begin alike', async () => {
  const name = 'acme/many-branches';
  for (let number = 0; number < 250; number += 1)
    world.forge.push(name, files('other'), `feature/other-${number}`);
  const newest = world.forge.push(name, files('sought'), 'feature/sought');
  const url = `${world.forge.settings.gitlab_url}/${name}/-/tree/feature/sought`;
  assert.equal(await openOrigin({ url }, world.deps).findLatest(signal), newest);
});

for (const kind of ['github', 'gitlab'] as const) {
  const at = (path: string) => `${world.forge.settings[`${kind}_url`]}/${path}`;
  const dash = kind === 'gitlab' ? '/-' : '';

  test(`${kind}: commits, branches with slashes, folders, tags, releases`, async () => {
    const name = `acme/${kind}-counter`;
    const first = world.forge.push(name, { ...files('one'), 'README.md': '1' });
    world.forge.tag(name, 'v1', { is_release: true });
    const second = world.forge.push(name, {
      ...files('two'),
      'apps/x/plugin.json': '{"name":"X"}',
      'apps/x/index.js': 'x1',
    });
    const third = world.forge.push(name, {
      ...files('three'),
      'apps/x/plugin.json': '{"name":"X"}',
      'apps/x/index.js': 'x1',
    });
    world.forge.tag(name, 'group/v3');
    const feature = world.forge.push(
      name,
      { ...files('feature'), 'apps/x/plugin.json': '{"name":"X"}', 'apps/x/index.js': 'x2' },
      'feature/new',
    );
    world.forge.push(name, files('decoy'), 'feature/newer');
    const cases: [string, string, string][] = [
      ['', third, 'three'],
      ['/', third, 'three'],
      ['.git', third, 'three'],
      [`${dash}/tree/main`, third, 'three'],
      [`${dash}/tree/feature/new`, feature, 'feature'],
      [`${dash}/tree/feature%2Fnew`, feature, 'feature'],
      [`${dash}/tree/feature/new/apps/x`, feature, 'x2'],
      [`${dash}/tree/main/apps/x`, second, 'x1'],
      [`${dash}/tree/${first}`, first, 'one'],
      [`${dash}/tree/${second}/apps/x`, second, 'x1'],
      [`${dash}/tree/v1`, 'v1', 'one'],
      [`${dash}/tree/group/v3/apps/x`, 'group/v3', 'x1'],
      [`${dash}/tree/${first.slice(0, 8)}`, first.slice(0, 8), 'one'],
      [`${dash}/commit/${first}`, first, 'one'],
      [`${dash}/releases`, 'v1', 'one'],
      ...(kind === 'github'
        ? ([
            ['/releases/latest', 'v1', 'one'],
            ['/releases/tag/group/v3', 'group/v3', 'three'],
            ['/archive/refs/tags/v1.zip', 'v1', 'one'],
            ['/archive/refs/heads/feature/new.tar.gz', feature, 'feature'],
            [`/archive/${first}.zip`, first, 'one'],
          ] as [string, string, string][])
        : ([
            ['/-/releases/permalink/latest', 'v1', 'one'],
            ['/-/releases/group%2Fv3', 'group/v3', 'three'],
            ['/-/tags/v1', 'v1', 'one'],
            ['/-/archive/feature/new/acme.zip', feature, 'feature'],
          ] as [string, string, string][])),
    ];
    for (const [tail, tag, code] of cases) {
      const origin = openOrigin({ url: at(name) + tail }, world.deps);
      assert.equal(origin.kind, kind);
      assert.equal(await origin.findLatest(signal), tag, tail);
      const found = await origin.fetch(null, signal);
      assert.deepEqual([found.tag, found.files['index.js']], [tag, code], tail);
    }
    assert.equal(await codeOf(at(name), first), 'one');
    assert.equal(await codeOf(at(name), 'v1'), 'one');
    await refused(
      fetched(at(`${name}${dash}/tree/nowhere/x`)),
      'not_found',
      /no branch, tag or commit/,
    );
    await refused(
      fetched(at(`${name}${dash}/tree/${first}/apps/x`)),
      'not_found',
      /no folder apps\/x/,
    );
    await refused(fetched(at(name), '0'.repeat(40)), 'not_found', /does not have/);
    await refused(fetched(at(name), '../../../user'), 'invalid', /not the name of a git tag/);
    await refused(fetched(at('acme/missing')), 'not_found', /does not have/);
    await refused(latest(at(`acme/missing${dash}/releases`)), 'not_found', /no release/);
  });

  test(`${kind}: a token opens a private repository, unseen by others`, async () => {
    const name = `acme/${kind}-private`;
    world.forge.push(name, files('hidden'));
    world.forge.protect(name, secret);
    await refused(fetched(at(name)), 'not_found', /private, give a token/);
    const origin = openOrigin({ url: `${at(name)}?private_token=${secret}#readme` }, world.deps);
    assert.equal(origin.shown_url, at(name));
    assert.equal((await origin.fetch(null, signal)).files['index.js'], 'hidden');
    assert.equal(
      await codeOf(at(name), null, { ...world.deps, tokens: { [kind]: secret } }),
      'hidden',
    );
    await refused(fetched(`${at(name)}?private_token=${secret}x`), 'not_found', /token may not/);
    assert(world.forge.authorizations[kind].includes(`Bearer ${secret}`));
    assert(world.forge.authorizations.archives.every((header) => header === undefined));
    assert(!world.logged().includes(secret));
  });

  test(`${kind}: faults of the forge`, async () => {
    const name = `acme/${kind}-faulty`;
    world.forge.push(name, files(''));
    for (const [status, code, reason] of [
      [401, 'refused', /refuses access/],
      [403, 'refused', /refuses access/],
      [429, 'unreachable', /refuses further requests for now/],
      [500, 'unreachable', /status 500/],
      [503, 'unreachable', /status 503/],
    ] as const) {
      world.forge[kind].failNext(/commits/, status, 'fault');
      await refused(latest(at(name)), code, reason);
    }
    world.forge[kind].failNext(/commits/, 200, 'an object where a list should be');
    await refused(latest(at(name)), 'unreachable', /sent an unexpected answer/);
    world.forge[kind].dropNext(/commits/);
    await refused(latest(at(name)), 'unreachable', /cannot be reached/);
    world.forge[kind].holdNext(/commits/);
    await refused(latest(at(name), { ...world.deps, download_seconds: 0.2 }), 'timeout', /in time/);
    world.forge[kind].holdNext(/commits/);
    await assert.rejects(
      openOrigin({ url: at(name) }, world.deps).findLatest(AbortSignal.timeout(100)),
      { name: 'TimeoutError' },
    );
  });
}
