import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { change } from '../../../../test/saml/forgery.ts';
import { encodeResponse } from '../../../../test/saml/identity_provider.ts';
import { openPysaml2, skip_pysaml2 } from '../../../../test/saml/pysaml2.ts';
import type { Pysaml2 } from '../../../../test/saml/pysaml2.ts';
import { answerBySamlify } from '../../../../test/saml/samlify.ts';
import {
  accountAt,
  assertRefused,
  openNavigator,
  openSingleSignOn,
} from '../../../../test/factories/people/single_sign_on.ts';
import type { SingleSignOnWorld } from '../../../../test/factories/people/single_sign_on.ts';

let world: SingleSignOnWorld;
let pysaml2: Pysaml2 | undefined;
before(async () => {
  if (skip_pysaml2 === false) pysaml2 = openPysaml2();
  world = await openSingleSignOn({ wall_clock: true });
});
after(async () => {
  await pysaml2?.close();
  await world.close();
});

type Answered = { issuer: string; response: string };
const rsa_sha256 = { signature_algorithm: 'rsa-sha256', digest_algorithm: 'sha256' };
const providers: {
  name: string;
  skip: string | false;
  answer: (url: string, metadata: string) => Promise<Answered>;
}[] = [
  {
    name: 'samlify',
    skip: false,
    answer: (url, metadata) => answerBySamlify(url, metadata, 'Ada@acme.example'),
  },
  {
    name: 'pysaml2',
    skip: skip_pysaml2,
    answer: (url, metadata) =>
      pysaml2!.answer(url, metadata, { ...rsa_sha256, is_response_signed: false }),
  },
  {
    name: 'pysaml2, the response signed too',
    skip: skip_pysaml2,
    answer: (url, metadata) =>
      pysaml2!.answer(url, metadata, { ...rsa_sha256, is_response_signed: true }),
  },
];

for (const { name, skip, answer } of providers) {
  test(
    `a whole sign-in through ${name}: our metadata, redirect, response, session, membership; ` +
      'its forgery is refused',
    { skip },
    async () => {
      const home = await world.newHome({ jit_provisioning_enabled: true });
      const metadata = await world.harness.request(
        'GET',
        `/api/saml/metadata/?organization=${home.organization.id}`,
      );
      assert.deepEqual(
        [metadata.status, metadata.headers['content-type']],
        [200, 'application/samlmetadata+xml'],
      );
      const browser = openNavigator(world.harness);
      const begun = await browser.go('/login/saml/?email=ada@acme.example&next=/done/');
      const { issuer, response } = await answer(begun.headers['location']!, metadata.text);
      assert.equal(
        issuer,
        `${world.harness.deps.config.public_url}/api/saml/metadata/` +
          `?organization=${home.organization.id}`,
      );

      const forged = change(
        Buffer.from(response, 'base64').toString(),
        /Ada@(?=acme\.example<\/\w+:AttributeValue>)/,
        'root@',
      );
      await assertRefused(
        world,
        browser,
        await browser.post('/complete/saml/', { SAMLResponse: encodeResponse(forged) }, true),
        'signature',
      );

      const taken = await browser.post('/complete/saml/', { SAMLResponse: response }, true);
      assert.equal(taken.status, 303, taken.text);
      const ended = await browser.go(taken.headers['location']!);
      assert.deepEqual([ended.status, ended.headers['location']], [303, '/done/']);
      const account = await accountAt(world.harness, browser);
      assert.deepEqual(
        [
          account.email,
          account.first_name,
          account.organizations.map(({ id }: { id: string }) => id),
        ],
        ['ada@acme.example', 'Ada', [home.organization.id]],
      );
    },
  );
}
