import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { request } from 'undici';
import { openHarness } from '../../../test/harness.ts';
import { openSluice } from '../../../test/processes/sluice_process.ts';
import { aroundTests, folderAroundTests } from '../../../test/around_tests.ts';
import { listen, urlOf } from '../../../test/servers/loopback.ts';

const sluice = openSluice();
after(() => sluice.close());
const folder = folderAroundTests();
const harness = aroundTests(openHarness);

test('an apply whose answer is lost says what may have become of the plan', async (context) => {
  const path = join(folder, 'lost.yaml');
  writeFileSync(path, 'projects:\n  web:\n    name: Lost\n');
  const home = await harness.newOrganization();
  const address = await harness.app.listen({ host: '127.0.0.1', port: 0 });
  let lose: (response: ServerResponse) => unknown = (response) => response.destroy();
  const between = createServer(async (asked, response) => {
    if (asked.url!.endsWith('/apply/')) return void lose(response);
    const { authorization, 'content-type': content_type } = asked.headers;
    const answer = await request(`${address}${asked.url}`, {
      method: 'POST',
      headers: { authorization, 'content-type': content_type },
      body: asked,
    });
    response.writeHead(answer.statusCode).end(await answer.body.text());
  });
  context.after(() => {
    between.closeAllConnections();
    between.close();
  });
  await listen(between);
  const url = urlOf(between);
  const told =
    'The plan was sent, but no answer came. It is applied completely or not. Run `sluice ' +
    'config plan` to see which.';
  const words = ['config', 'apply', '--yes', path, '--url', url, '--key', home.key];
  const cut = await sluice.run(words, {});
  assert.equal(cut.code, 3);
  assert.match(cut.err, /cannot be reached: ECONNRESET\./);
  assert.ok(cut.err.includes(told), cut.err);
  lose = (response) => response.writeHead(504).end();
  const late = await sluice.run(words, {});
  assert.match(late.err, /answered 504/);
  assert.ok(late.err.includes(told), late.err);
  lose = (response) => response.end('null');
  const other = await sluice.run(words, {});
  assert.ok(other.err.includes(`is this the address of a Sluice server? ${told}`), other.err);
  lose = (response) => response.writeHead(403).end('{"detail":"Not you."}');
  const refused = await sluice.run(words, {});
  assert.ok(!refused.err.includes(told), refused.err);
});
