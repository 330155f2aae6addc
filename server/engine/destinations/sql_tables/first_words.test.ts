import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { silentLog } from '../../../platform/log.ts';
import { openOutbound } from '../../../platform/outbound/outbound.ts';
import { mysql } from '../mysql/mysql.ts';
import { mySqlError } from '../mysql/faults.ts';
import { postgres } from '../postgres/postgres.ts';
import { redshift } from '../redshift/redshift.ts';
import { redshiftError } from '../redshift/faults.ts';
import { unheardError } from './first_words.ts';
import { postgresError } from './postgres/faults.ts';
import { listen } from '../../../../test/servers/loopback.ts';

const definitions = { postgres, redshift, mysql };

async function portOf(t: TestContext, server: net.Server): Promise<number> {
  await listen(server);
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

const saying = (words: string | Buffer) =>
  net.createServer((socket: Socket) => {
    socket.on('error', () => undefined);
    socket.write(words);
    // Closes when it was spoken to, as such servers do with what they do not understand.
    socket.once('data', () => socket.destroy());
  });

const answering = (words: string) =>
  net.createServer((socket: Socket) => void socket.once('data', () => socket.end(words)));

const silent = () =>
  net.createServer((socket: Socket) => void socket.once('data', () => socket.destroy()));

/** Returns the connection test's words about a server at this port. */
async function saidOf(t: TestContext, name: keyof typeof definitions, port: number) {
  const outbound = openOutbound({ allow: ['127.0.0.0/8'] });
  t.after(() => outbound.close());
  const given = { user: 'u', password: 'p', host: '127.0.0.1', port, database: 'd' };
  const steps = await definitions[name].check(given, [], {
    log: silentLog(),
    outbound,
    export_dir: '/nowhere',
    signal: new AbortController().signal,
  });
  return `${steps[0]!.status}: ${steps[0]!.detail}`;
}

test('a server of another kind is named, and so is one that closes unheard', async (t) => {
  const greeting = Buffer.concat([Buffer.from([74, 0, 0, 0, 10]), Buffer.from('11.8.3-MariaDB\0')]);
  const ssh = await portOf(t, saying('SSH-2.0-OpenSSH_9.2\r\n'));
  const maria = await portOf(t, saying(greeting));
  const web = await portOf(t, http.createServer());
  const closing = await portOf(t, silent());
  const post = await portOf(t, answering('N'));
  const strange = await portOf(t, saying('what do you want?\n'));
  for (const [name, port, expected] of [
    ['postgres', ssh, /^failed: .* is not PostgreSQL but an SSH server; check both\.$/],
    ['postgres', maria, /is not PostgreSQL but MySQL or MariaDB; check both\.$/],
    ['postgres', web, /is not PostgreSQL but an HTTP server; check both\.$/],
    ['postgres', strange, /is not PostgreSQL but something else; check both\.$/],
    ['postgres', closing, /closed it without an answer\. Check host and port .*PostgreSQL/],
    ['redshift', web, /is not Redshift but an HTTP server; check both/],
    ['redshift', closing, /closed it without an answer\. Check host and port .*cluster/],
    ['mysql', ssh, /is not MySQL but an SSH server; check both\.$/],
    ['mysql', strange, /is not MySQL but something else; check both\.$/],
    // These wait to be spoken to, as MySQL does not.
    ['mysql', web, /is not MySQL but an HTTP server; check both\.$/],
    ['mysql', post, /is not MySQL but PostgreSQL or what speaks its protocol; check both\.$/],
  ] as const)
    assert.match(await saidOf(t, name, port), expected, `${name} ${port}`);
});

test('a server that cannot open a session just now is asked again', async (t) => {
  const port = await portOf(
    t,
    net.createServer((socket) => void socket.once('data', () => socket.end('Ecould not fork\n\0'))),
  );
  assert.match(await saidOf(t, 'postgres', port), /can open no session now/);
});

test('a silent server is told from an absent one', () => {
  const late = Object.assign(new Error('connect ETIMEDOUT'), { code: 'ETIMEDOUT' });
  const connected = { is_connected: true, heard: Buffer.alloc(0) };
  for (const explain of [postgresError, redshiftError, mySqlError]) {
    const said = (words: typeof connected) => String(explain(unheardError(late, words)));
    assert.match(said(connected), /accepted the connection and sent nothing/);
    assert.match(said({ ...connected, is_connected: false }), /does not answer/);
    assert.match(said({ ...connected, heard: Buffer.from('S') }), /does not answer/);
  }
});
