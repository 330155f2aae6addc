import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newAuthenticator } from '../../../test/factories/people/authenticator.ts';
import { passkey_origin } from '../../../test/factories/people/passkeys.ts';
import { verifyCreated, verifyShown } from './verify.ts';

const party = { id: 'localhost', origin: passkey_origin };
const options = { challenge: 'YWJj', rp: { id: 'localhost' }, user: { id: 'AAAA' } };

test('a certificate is refused before an address in it is asked for anything', async () => {
  // {fmt: 'packed', attStmt: {x5c: []}}
  const attestation = Buffer.from('63666d74667061636b65646761747453746d74a16378356380', 'hex');
  const created = newAuthenticator(passkey_origin).create(options, { attestation });
  assert.deepEqual(await verifyCreated(party, 'YWJj', created), {
    refused: 'it comes with a certificate',
  });
});

test('bytes that are no message are refused, whichever they are', async () => {
  const authenticator = newAuthenticator(passkey_origin);
  const created = authenticator.create(options);
  const shown = authenticator.show({ challenge: 'YWJj', rpId: 'localhost' });
  const known = await verifyCreated(party, 'YWJj', created);
  assert.ok('public_key' in known);
  const credential = { credential_id: known.id, public_key: known.public_key };
  assert.ok('sign_count' in (await verifyShown(party, 'YWJj', shown, credential)));
  const places: [any, string[], (given: any) => Promise<object>][] = [
    [
      created,
      ['clientDataJSON', 'attestationObject'],
      (given) => verifyCreated(party, 'YWJj', given),
    ],
    [
      shown,
      ['clientDataJSON', 'authenticatorData', 'signature'],
      (given) => verifyShown(party, 'YWJj', given, credential),
    ],
  ];
  for (const [given, names, verify] of places)
    for (const name of names) {
      const bytes = Buffer.from(given.response[name], 'base64url');
      const bents = [
        Buffer.alloc(0),
        bytes.subarray(0, bytes.length / 2),
        Buffer.from('null'),
        Buffer.from('[]'),
        Buffer.alloc(3_000, 0x81),
        ...(given === shown ? flipped(bytes) : []),
      ];
      for (const bent of bents) {
        const response = { ...given.response, [name]: bent.toString('base64url') };
        const outcome = await verify({ ...given, response });
        assert.ok('refused' in outcome, `${name} ${bent.toString('hex').slice(0, 100)}`);
      }
    }
});

/** Whatever was signed, with one of its bytes another one. */
function flipped(bytes: Buffer): Buffer[] {
  return Array.from(bytes, (_, at) => {
    const bent = Buffer.from(bytes);
    bent[at]! ^= 0xff;
    return bent;
  });
}
