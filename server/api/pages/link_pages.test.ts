import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { openHarness } from '../../../test/harness.ts';
import type { Harness } from '../../../test/harness.ts';
import { openMailServer } from '../../../test/servers/mail_server.ts';
import type { MailServer } from '../../../test/servers/mail_server.ts';
import {
  forgetAllAttempts,
  mailedToken,
  newPerson,
  other_password,
  signedIn,
} from '../../../test/factories/people.ts';
import { systemClock } from '../../platform/clock.ts';
import { silentLog } from '../../platform/log.ts';
import { openMail } from '../../platform/mail/mail.ts';

const hostile = `<script>alert('1')</script>"><img src=x>&amp;`;
const escaped =
  '&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot;&gt;&lt;img src=x&gt;&amp;amp;';

let relay: MailServer;
let harness: Harness;
before(async () => {
  relay = await openMailServer();
  const mail = openMail({
    url: relay.url,
    from: 'Sluice <sluice@example.com>',
    log: silentLog(),
    clock: systemClock,
  });
  harness = await openHarness({ clickhouse: false, deps: { mail } });
});
after(async () => {
  await harness.close();
  await relay.close();
});
beforeEach(() => forgetAllAttempts(harness));

const get = (path: string, headers: Record<string, string> = {}) =>
  harness.request('GET', path, { headers });

test('opening a link of a mail does nothing; what its page sends does', async () => {
  const [verifying, forgetful] = [await newPerson(harness), await newPerson(harness)];
  const browser = await signedIn(harness, verifying);
  await browser.ask('POST', '/api/users/@me/verify_email/');
  await harness.request('POST', '/api/users/reset_password/', { body: { email: forgetful.email } });
  const verify = await mailedToken(relay, verifying.email, 'verify-email');
  const reset = await mailedToken(relay, forgetful.email, 'reset-password');
  for (const path of [`/verify-email/${verify}`, `/reset-password/${reset}`]) {
    for (const method of ['GET', 'HEAD', 'GET'])
      assert.equal((await harness.request(method, path)).status, 200);
    assert.ok((await get(path)).text.includes(`name="token" value="${path.split('/')[2]}"`));
  }
  assert.equal((await browser.ask('GET', '/api/users/@me/')).body.is_email_verified, false);
  assert.equal(
    (await harness.request('POST', '/api/users/verify_email/', { body: { token: verify } })).status,
    200,
  );
  assert.equal(
    (
      await harness.request('POST', '/api/users/reset_password/confirm/', {
        body: { token: reset, password: other_password },
      })
    ).status,
    200,
  );
});

test('a token that is none is only text', async () => {
  for (const page of ['verify-email', 'reset-password'])
    assert.ok(
      (await get(`/${page}/${encodeURIComponent(hostile)}`)).text.includes(`value="${escaped}"`),
    );
});
