import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { change } from '../../../test/saml/forgery.ts';
import {
  encodeResponse,
  readLoginUrl,
  testIdentityProvider,
} from '../../../test/saml/identity_provider.ts';
import { openPysaml2, skip_pysaml2 as skip } from '../../../test/saml/pysaml2.ts';
import type { Pysaml2 } from '../../../test/saml/pysaml2.ts';
import { serviceMetadata } from './metadata.ts';
import { createLoginRequest } from './request.ts';
import { peekRequestId, readResponse } from './response.ts';

const acme = testIdentityProvider('acme');
const provider = {
  entity_id: acme.entity_id,
  sso_url: acme.sso_url,
  certificates: [acme.certificate],
  email_domain: 'acme.example',
};
const service = {
  entity_id: 'https://sluice.example/saml/metadata/',
  acs_url: 'https://sluice.example/complete/saml/',
};

let pysaml2: Pysaml2;
before(() => {
  if (skip === false) pysaml2 = openPysaml2();
});
after(() => pysaml2?.close());

for (const how of [
  { is_response_signed: false, signature_algorithm: 'rsa-sha256', digest_algorithm: 'sha256' },
  { is_response_signed: true, signature_algorithm: 'rsa-sha256', digest_algorithm: 'sha256' },
  { is_response_signed: true, signature_algorithm: 'rsa-sha512', digest_algorithm: 'sha512' },
]) {
  test(
    `a sign-in through pysaml2, ${how.signature_algorithm}, response signed: ` +
      `${how.is_response_signed}`,
    { skip },
    async () => {
      const { url, request_id } = await createLoginRequest(provider, service, {
        service_name: 'Sluice',
        relay_state: 'state',
      });
      const answer = await pysaml2.answer(url, serviceMetadata(service), how);
      assert.deepEqual(
        [answer.issuer, answer.binding],
        [service.entity_id, 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST'],
      );
      assert.deepEqual(peekRequestId({ SAMLResponse: answer.response }), { request_id });

      const expectations = { request_id, now_ms: Date.now(), skew_ms: 180_000 };
      const read = (encoded: string) =>
        readResponse({ SAMLResponse: encoded }, provider, service, expectations);
      const accepted = await read(answer.response);
      assert.ok('sign_in' in accepted, JSON.stringify(accepted));
      const { email, name_id, first_name, last_name } = accepted.sign_in;
      assert.deepEqual(
        { email, name_id, first_name, last_name },
        {
          email: 'ada@acme.example',
          name_id: 'Ada@acme.example',
          first_name: 'Ada',
          last_name: 'Lovelace',
        },
      );

      const xml = Buffer.from(answer.response, 'base64').toString();
      const forged = await read(
        encodeResponse(change(xml, /Ada@(?=acme\.example<\/\w+:AttributeValue>)/, 'root@')),
      );
      assert.equal('refused' in forged && forged.refused, 'signature');
      assert.equal(readLoginUrl(url).relay_state, 'state');
    },
  );
}
