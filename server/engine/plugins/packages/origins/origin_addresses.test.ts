import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../../../platform/log.ts';
import { openOutbound } from '../../../../platform/outbound/outbound.ts';
import { readCatalogue } from '../catalogue.ts';
import { openOrigin } from './open_origin.ts';
import type { OriginDeps } from './origin.ts';

const deps: OriginDeps = {
  outbound: openOutbound({ allow: [] }),
  plugin_dir: '/nowhere',
  npm_registry_url: 'https://registry.example.com',
  github_url: 'https://github.com',
  github_api_url: 'https://api.github.com',
  gitlab_url: 'https://git.example.com',
  tokens: {},
  log: silentLog(),
};

/** Each list is the addresses of one kind, parted by spaces. */
const understood = {
  npm:
    'counter counter@1.0.0 @acme/counter@next https://www.npmjs.com/package/counter ' +
    'http://npmjs.com/package/@acme/counter/v/1.0.0',
  github:
    'https://github.com/acme/x http://www.github.com/acme/x.git ' +
    'https://github.com/acme/x/tree/main/a https://github.com/acme/x/releases/latest',
  gitlab:
    'https://git.example.com/acme/x https://gitlab.com/group/sub/project/-/tree/main ' +
    'https://gitlab.com/acme/x.git',
  archive:
    'https://example.com/x.zip https://example.com:8443/x.tar.gz?signature=1 ' +
    'https://gist.github.com/acme/x/archive/main.zip',
};

const refused = [
  '. .. ../x / Counter counter@ counter@!! @acme @acme/ counter/x',
  'ftp://example.com/x.zip http://example.com/x.zip file:///etc/passwd ' +
    'git@github.com:acme/x.git ssh://git@github.com/acme/x javascript:alert(1) https://',
  'https://user:password@example.com/x.zip',
  'https://www.npmjs.com/ https://www.npmjs.com/~acme https://www.npmjs.com/package/x/y/z ' +
    'https://www.npmjs.com/package/%zz https://www.npmjs.com/package/X',
  'https://github.com https://github.com/acme https://github.com/acme/x/issues ' +
    'https://github.com/acme/x/blob/main/a.js https://github.com/acme/x/tree',
  'https://github.com/acme/x%2F..%2Fy https://github.com/acme/x/releases/tag/a..b ' +
    'https://github.com/acme/x/tree/a%00b',
  'https://github.com/acme/x/tree/a%2F..%2F..%2Fb https://github.com/acme/x/commit/a%20b ' +
    'https://github.com/acme/x/archive/main.rar',
  'https://gitlab.com/acme https://gitlab.com/acme/x/-/issues ' +
    'https://gitlab.com/acme/x/-/tree https://gitlab.com/acme/x/-/commit/-x',
];

for (const [kind, addresses] of Object.entries(understood)) {
  test(`addresses of ${kind}`, () => {
    for (const url of addresses.split(' ')) {
      const origin = openOrigin(
        { url: `${url}${url.includes('?') ? '&' : '?'}private_token=secret#part` },
        deps,
      );
      assert.deepEqual([origin.kind, origin.shown_url], [kind, url.replace(/\?.*$/, '')], url);
    }
  });
}

test('one address has one spelling', () => {
  const shown = (url: string) => openOrigin({ url }, deps).shown_url;
  assert.equal(shown(' https://GitHub.com/acme/x/../x/ '), 'https://github.com/acme/x');
  assert.equal(shown('https://github.com/acme/x/commit/..'), 'https://github.com/acme/x');
  assert.equal(shown(' counter@^1?private_token=x'), 'counter@^1');
});

test('addresses that no origin understands', () => {
  const long = [`https://example.com/${'x'.repeat(900)}`, 'x'.repeat(300), '', ' ', 'a b'];
  for (const url of [...long, ...refused.flatMap((line) => line.split(' '))])
    assert.throws(
      () => openOrigin({ url }, deps),
      { name: 'PluginError', code: 'invalid', message: /\.$/ },
      url,
    );
});

test('the addresses of the catalogue', () => {
  for (const { url } of readCatalogue(undefined))
    assert.equal(openOrigin({ url }, deps).kind, 'github');
});
