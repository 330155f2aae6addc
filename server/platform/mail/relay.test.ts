import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MailSettingError, readRelay } from './relay.ts';
import type { Relay } from './relay.ts';

const read: [string, Partial<Relay>][] = [
  [
    'smtp://mail.example.com',
    { host: 'mail.example.com', port: 587, is_tls: false, is_loopback: false, login: undefined },
  ],
  ['smtps://mail.example.com/', { port: 465, is_tls: true }],
  [
    'smtps://user:password@mail.example.com:2465',
    { port: 2465, login: { user: 'user', password: 'password' } },
  ],
  [
    'smtp://us%40er:p%3Aa%25s%2Fs@mail.example.com:25',
    { port: 25, login: { user: 'us@er', password: 'p:a%s/s' } },
  ],
  ['smtp://MAIL.Example.COM', { host: 'mail.example.com' }],
  ['smtp://bücher.example', { host: 'xn--bcher-kva.example' }],
  ['smtp://localhost:1025', { host: '127.0.0.1', is_loopback: true }],
  ['smtp://127.8.9.10', { host: '127.8.9.10', is_loopback: true }],
  ['smtp://[::1]:25', { host: '::1', port: 25, is_loopback: true }],
  ['smtp://[::ffff:127.0.0.1]', { is_loopback: true }],
  ['smtp://[2001:db8::1]', { host: '2001:db8::1', is_loopback: false }],
  ['smtp://10.0.0.1', { host: '10.0.0.1', is_loopback: false }],
  ['smtp://0.0.0.0', { is_loopback: false }],
  ['smtp://localhost.example.com', { host: 'localhost.example.com', is_loopback: false }],
  ['smtp://127.0.0.1.example.com', { is_loopback: false }],
];

for (const [url, expected] of read) {
  test(`a relay: ${url}`, () =>
    assert.deepEqual({ ...readRelay(url), ...expected }, readRelay(url)));
}

const refused: [string, RegExp][] = [
  ['', /must be a URL/],
  ['mail.example.com:25', /must begin with smtp/],
  ['https://mail.example.com', /must begin with smtp/],
  ['smtp://', /must name a host/],
  ['smtp://user:secret@', /must be a URL/],
  ['smtp://a%20b', /must name a host/],
  ['smtp://mail.example.com:99999', /must be a URL/],
  ['smtp://mail.example.com/path', /must end after the port/],
  ['smtp://mail.example.com?tls.rejectUnauthorized=false', /must end after the port/],
  ['smtp://user@mail.example.com', /both user and password/],
  ['smtp://:secret@mail.example.com', /both user and password/],
  ['smtp://user:100%secret@mail.example.com', /percent-encoded/],
];

for (const [url, sentence] of refused) {
  test(`no relay: ${url}`, () => {
    assert.throws(
      () => readRelay(url),
      (error) =>
        error instanceof MailSettingError &&
        sentence.test(error.message) &&
        !JSON.stringify([error.message, error]).includes('secret'),
    );
  });
}
