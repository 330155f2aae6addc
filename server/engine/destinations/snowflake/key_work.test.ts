import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { test } from 'node:test';
import { own_keys } from '../../../../test/factories/people/rsa_keys.ts';
import { takesTooMuchWork } from './key_work.ts';

const der = (tag: number, ...parts: Buffer[]): Buffer => {
  const value = Buffer.concat(parts);
  const length = Buffer.from([0x82, value.length >> 8, value.length & 0xff]);
  return Buffer.concat([Buffer.from([tag]), length, value]);
};
const sequence = (...parts: Buffer[]) => der(0x30, ...parts);
const bytes = (hex: string) => Buffer.from(hex, 'hex');
const integer = (value: number) => der(0x02, bytes(value.toString(16).padStart(8, '0')));
const oid = (hex: string) => der(0x06, bytes(hex));

const pem = (...algorithm: Buffer[]) => {
  const whole = sequence(sequence(...algorithm), der(0x04, Buffer.alloc(64)));
  const lines = whole.toString('base64').match(/.{1,64}/g)!;
  return [
    '-----BEGIN ENCRYPTED PRIVATE KEY-----',
    ...lines,
    '-----END ENCRYPTED PRIVATE KEY-----',
  ].join('\n');
};
const salt = der(0x04, Buffer.alloc(8));
/** PBES2 of RFC 8018, by a function that stretches the passphrase. */
const pbes2 = (...stretch: Buffer[]) =>
  pem(oid('2a864886f70d01050d'), sequence(sequence(...stretch), sequence(oid('2a864886f70d0307'))));
const pbkdf2 = (iterations: number) =>
  pbes2(oid('2a864886f70d01050c'), sequence(salt, integer(iterations), integer(32)));
/** PBE-SHA1-3DES of RFC 7292. */
const pbe = (iterations: number) =>
  pem(oid('2a864886f70d010c0103'), sequence(salt, integer(iterations)));

test('a key of usual work passes, one of much work or by scrypt does not', () => {
  const cipher = {
    format: 'pem',
    type: 'pkcs8',
    cipher: 'aes-256-cbc',
    passphrase: 'word',
  } as const;
  const written = createPrivateKey(own_keys.private_pem).export(cipher).toString();
  for (const usual of [written, pbkdf2(100_000), pbe(2_048)])
    assert.equal(takesTooMuchWork(usual), false, usual);
  const scrypt = pbes2(
    oid('2b06010401da47040b'),
    sequence(salt, integer(2), integer(1), integer(500_000_000)),
  );
  for (const much of [pbkdf2(100_001), pbkdf2(2_000_000_000), pbe(200_000), scrypt])
    assert.equal(takesTooMuchWork(much), true, much);
});

test('a text that is no encrypted key is left to those who read it', () => {
  const whole = pbkdf2(2_000_000_000);
  const cut = whole.replace(/\n[^-]+\n-----END/, '\nMIIB\n-----END');
  for (const text of ['', own_keys.private_pem, cut]) assert.equal(takesTooMuchWork(text), false);
});
