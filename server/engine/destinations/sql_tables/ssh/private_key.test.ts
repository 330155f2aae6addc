import assert from 'node:assert/strict';
import { test } from 'node:test';
import ssh2 from 'ssh2';
import type { ParsedKey } from 'ssh2';
import { newSshKey } from '../../../../../test/factories/ssh_keys.ts';
import type { SshKeyOptions } from '../../../../../test/factories/ssh_keys.ts';
import { keyViolations, openPrivateKey } from './private_key.ts';
import { readSealedKey } from './sealed_key.ts';

const { utils } = ssh2;
const passphrase = 'pl4nted-phrase';
const sealed = (type: SshKeyOptions['type'], bits: number, cipher: string) =>
  newSshKey({ type, bits, passphrase, cipher, rounds: 1 }).private;

/** The same key, whose header asks for other rounds. */
function withRounds(private_key: string, rounds: number): string {
  const { salt } = readSealedKey(private_key)!;
  const [first, ...lines] = private_key.trim().split('\n');
  const last = lines.pop()!;
  const data = Buffer.from(lines.join(''), 'base64');
  data.writeUInt32BE(rounds, data.indexOf(salt) + salt.length);
  return [first, data.toString('base64'), last].join('\n');
}

function publicPartOf(private_key: string, phrase?: string): string {
  const read = utils.parseKey(private_key, phrase) as ParsedKey;
  assert.ok(read.isPrivateKey(), 'the key is not read');
  return read.getPublicSSH().toString('base64');
}

for (const [type, bits] of [
  ['ed25519', 256],
  ['rsa', 2048],
  ['ecdsa', 384],
] as const)
  for (const cipher of ['aes256-ctr', 'aes256-cbc', 'aes128-ctr'])
    test(`an OpenSSH key (${type}, ${cipher}) opens by its passphrase and no other`, async () => {
      const key = sealed(type, bits, cipher);
      assert.deepEqual(keyViolations(key, passphrase), []);
      assert.equal(
        publicPartOf(await openPrivateKey(key, passphrase)),
        publicPartOf(key, passphrase),
      );
      await assert.rejects(openPrivateKey(key, 'other'), {
        code: 'ssh_refused',
        message: /^The passphrase does not open the private key\. Check /,
      });
    });

test('a key that asks for endless work is refused, and nobody does the work', async () => {
  const key = withRounds(sealed('ed25519', 256, 'aes256-ctr'), 4_000_000_000);
  const said = /stretched by 4000000000 rounds, at most 128 are allowed/;
  const [found, ...others] = keyViolations(key, passphrase);
  assert.match(found!.detail, said);
  assert.deepEqual(others, []);
  await assert.rejects(openPrivateKey(key, passphrase), { code: 'ssh_refused', message: said });
});

test('what does not open is named', () => {
  const attrs = (key: string, phrase?: string) =>
    keyViolations(key, phrase).map(({ attr, detail }) => `${attr}: ${detail}`);
  const key = sealed('ed25519', 256, 'aes256-ctr');
  assert.deepEqual(attrs(key), ['ssh_private_key_passphrase: The private key is encrypted.']);
  assert.match(attrs('ssh-ed25519 AAAA')[0]!, /^ssh_private_key: .*cannot be read\.$/);
  const other_cipher = sealed('ed25519', 256, 'aes256-gcm@openssh.com');
  assert.match(attrs(other_cipher, passphrase)[0]!, /ssh-keygen -p -Z aes256-ctr/);
});

test('a key without encryption is given back as it is', async () => {
  const { private: key } = newSshKey();
  assert.deepEqual(keyViolations(key), []);
  assert.equal(await openPrivateKey(key), key);
});
