import net from 'node:net';
import tls from 'node:tls';
import { gunzipSync } from 'node:zlib';
import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3';
import pg from 'pg';
import { certificate, certificate_key } from '../certificate.ts';
import { listenLocally } from '../loopback.ts';
import type { S3Server } from '../object_stores/s3_server.ts';

/** A proxy of a PostgreSQL that accepts what Redshift accepts and refuses what Redshift lacks. */
export type RedshiftServer = {
  port: number;
  /** The role that may read the bucket. */
  iam_role: string;
  /** Received statements, with `$n` for parameters. */
  statements: string[];
  /** Ends all connections at once, like a broken network. */
  cut(): void;
  close(): Promise<void>;
};

const ssl_request = 80_877_103;
const iam_role = 'arn:aws:iam::123456789012:role/loads';

/** Words that the dialect of Redshift lacks, outside quotes. */
const lacking =
  /\b(ON CONFLICT|RETURNING|DISTINCT ON|ON COMMIT|NULLS (FIRST|LAST)|NO SCROLL|WITH NO DATA|FULL JOIN|ARRAY|jsonb?|text|uuid|to_regclass|pg_temp|now\(\)|lock_timeout|\w*advisory\w*|hashtext\w*|ctid|FROM STDIN|IN \w+ ?\w* MODE)\b|\[|FILTER \(|::/i;
const statement_bytes_max = 16 * 1024 * 1024;
const parameters_max = 32_767;

/**
 * Prepares PostgreSQL to imitate Redshift: SUPER as a type that only holds JSON text, and functions
 * that it lacks.
 */
export async function createRedshift(pool: pg.Pool): Promise<void> {
  await pool.query(`CREATE DOMAIN super AS text CHECK (VALUE IS JSON);
    CREATE FUNCTION json_parse(varchar) RETURNS super LANGUAGE sql IMMUTABLE STRICT AS
      'SELECT $1::text::super';
    CREATE FUNCTION json_size(super) RETURNS integer LANGUAGE sql IMMUTABLE STRICT AS
      'SELECT octet_length($1::text)';
    CREATE FUNCTION strtol(text, integer) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS
      'SELECT (''x'' || lpad($1, 16, ''0''))::bit(64)::bigint';
    CREATE FUNCTION getdate() RETURNS timestamp LANGUAGE sql STABLE AS 'SELECT now()::timestamp'`);
}

/**
 * Opens the door on 127.0.0.1 in front of the server's Unix socket, or of a port with another door
 * before it, with TLS. Statements that
 * Redshift lacks are syntax errors; `COPY ... FROM 's3://...'` is carried out: manifest and objects
 * are read with the credentials of the statement and loaded in the same session, and a failure is
 * told in Redshift's words. Without a store there is no COPY.
 */
export async function openRedshiftServer(
  socketPath: string | number,
  store?: S3Server,
): Promise<RedshiftServer> {
  const statements: string[] = [];
  const clients = new Clients(store);
  const server = net.createServer((socket) => {
    socket.setNoDelay(true);
    socket.on('error', () => socket.destroy());
    socket.once('data', (first) => {
      if (first.length !== 8 || first.readUInt32BE(4) !== ssl_request) return void socket.destroy();
      socket.write('S');
      const client = new tls.TLSSocket(socket, {
        isServer: true,
        cert: certificate,
        key: certificate_key,
      });
      client.on('error', () => socket.destroy());
      join(client, socketPath, clients, statements);
    });
  });
  const { port, cut, close } = await listenLocally(server);
  return {
    port,
    iam_role,
    statements,
    cut,
    close: async () => {
      clients.close();
      await close();
    },
  };
}

/** Splits a stream into messages; a client's first one has no type. */
async function* messagesOf(socket: net.Socket, isFromClient: boolean): AsyncGenerator<Buffer> {
  let held = Buffer.alloc(0);
  let offset = isFromClient ? 0 : 1;
  /** The received bytes of an incomplete message. */
  let chunks: Buffer[] = [];
  let missing = 0;
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    missing -= chunk.length;
    if (missing > 0) continue;
    held = Buffer.concat([held, ...chunks]);
    chunks = [];
    for (;;) {
      const size = held.length < offset + 4 ? offset + 4 : offset + held.readUInt32BE(offset);
      missing = size - held.length;
      if (missing > 0) break;
      yield held.subarray(0, size);
      held = held.subarray(size);
      offset = 1;
    }
  }
}

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const query = (text: string) => message('Q', Buffer.from(`${text}\0`));

function join(
  client: net.Socket,
  socketPath: string | number,
  clients: Clients,
  statements: string[],
): void {
  const upstream = net.connect(socketPath as string);
  /** The lines of a COPY that PostgreSQL will request. */
  let loading: { table: string; lines: Buffer } | undefined;
  const end = () => {
    upstream.destroy();
    client.destroy();
  };
  for (const socket of [client, upstream]) socket.on('error', end).on('close', end);
  const fromClient = async () => {
    for await (const one of messagesOf(client, true)) {
      const type = String.fromCharCode(one[0] ?? 0);
      if (type === 'Q') {
        const text = one.toString('utf8', 5, one.length - 1);
        statements.push(text);
        const load = /^COPY .* FROM 's3:/.test(text) ? await loadOf(text, clients) : undefined;
        loading = load?.lines === undefined ? undefined : { table: load.table, lines: load.lines };
        upstream.write(
          query(
            load?.statement ?? accepted(text.replace('SET json_parse_truncate_strings TO OFF', '')),
          ),
        );
      } else if (type === 'P') {
        const [name = '', text = ''] = one.toString('utf8', 5).split('\0');
        statements.push(text);
        upstream.write(message('P', Buffer.from(`${name}\0${accepted(text)}\0\0\0`)));
      } else {
        if (type === 'B') refuseLarge(one);
        upstream.write(one);
      }
    }
  };
  const fromServer = async () => {
    for await (const one of messagesOf(upstream, false)) {
      const type = String.fromCharCode(one[0] ?? 0);
      if (loading !== undefined && type === 'G')
        upstream.write(Buffer.concat([message('d', loading.lines), message('c', Buffer.alloc(0))]));
      else if (loading !== undefined && type === 'E')
        client.write(
          failure(
            `Load into table '${loading.table}' failed.  Check 'sys_load_error_detail' system ` +
              'table for details.',
          ),
        );
      else client.write(one);
      if (type === 'Z') loading = undefined;
    }
  };
  fromClient().catch(end).finally(end);
  fromServer().catch(end).finally(end);
}

/** Returns the statement itself, or one with a syntax error that contains the reason. */
function accepted(text: string): string {
  const found = lacking.exec(text.replaceAll(/"(?:[^"]|"")*"|'(?:[^']|'')*'/g, "''"));
  return found === null ? text : `REDSHIFT LACKS "${found[0]}"`;
}

/** A statement that is too large loses its connection. */
function refuseLarge(bind: Buffer): void {
  let at = bind.indexOf(0, 5) + 1;
  at = bind.indexOf(0, at) + 1;
  at += 2 + 2 * bind.readUInt16BE(at);
  if (bind.readUInt16BE(at) > parameters_max || bind.length > statement_bytes_max)
    throw new Error('The statement is larger than Redshift takes.');
}

function failure(text: string): Buffer {
  return message('E', Buffer.from(`SERROR\0VERROR\0CXX000\0M${text}\0\0`));
}

const raise = (text: string) =>
  `DO $raise$ BEGIN RAISE EXCEPTION USING ERRCODE = 'XX000', MESSAGE = ` +
  `${pg.escapeLiteral(text)}; END $raise$`;

const copy_pattern =
  /^COPY (?<table>\w+) \((?<columns>.+)\) FROM 's3:\/\/(?<bucket>[^/']+)\/(?<manifest>[^']+)' (?:IAM_ROLE '(?<role>[^']+)'|ACCESS_KEY_ID '(?<key>[^']*)' SECRET_ACCESS_KEY '(?<secret>[^']*)') REGION '(?<region>[^']+)' MANIFEST FORMAT AS CSV GZIP NULL AS '(?<null>[^']+)' TIMEFORMAT 'auto' COMPUPDATE OFF STATUPDATE OFF$/;

/** Clients of the bucket, one for each pair of keys, because a new one takes as long as a load. */
class Clients {
  private readonly store: S3Server | undefined;
  private readonly known = new Map<string, S3Client>();

  constructor(store: S3Server | undefined) {
    this.store = store;
  }

  /** The keys of the role. */
  of(by: { key?: string; secret?: string; region: string }): S3Client {
    if (this.store === undefined) throw new Error('There is no bucket.');
    const { endpoint, access_key, secret_key } = this.store;
    const known = JSON.stringify(by);
    const client =
      this.known.get(known) ??
      new S3Client({
        endpoint,
        forcePathStyle: true,
        region: by.region,
        credentials: {
          accessKeyId: by.key ?? access_key,
          secretAccessKey: by.secret ?? secret_key,
        },
      });
    this.known.set(known, client);
    return client;
  }

  close(): void {
    for (const client of this.known.values()) client.destroy();
  }
}

/**
 * Returns PostgreSQL's statement for a COPY of Redshift: a COPY of the lines of all objects of the
 * manifest, or the failure.
 */
async function loadOf(
  text: string,
  clients: Clients,
): Promise<{ statement: string; table: string; lines?: Buffer }> {
  const {
    table = '',
    columns = '',
    bucket = '',
    manifest = '',
    role,
    key,
    secret,
    region = '',
    null: marker = '',
  } = copy_pattern.exec(text)?.groups ?? {};
  if (table === '') return { statement: 'REDSHIFT DOES NOT KNOW THIS COPY', table };
  if (role !== undefined && role !== iam_role)
    return { statement: raise(`User is not authorized to assume IAM Role ${role}.`), table };
  const client = clients.of({ key, secret, region });
  const read = async (Bucket: string, Key: string) => {
    const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }));
    return Buffer.from((await Body?.transformToByteArray()) ?? []);
  };
  try {
    const { entries } = JSON.parse((await read(bucket, manifest)).toString()) as {
      entries: { url: string; mandatory: boolean }[];
    };
    const objects: Buffer[] = [];
    for (const { url } of entries) {
      const [, place = '', path = ''] = /^s3:\/\/([^/]+)\/(.+)$/.exec(url) ?? [];
      objects.push(gunzipSync(await read(place, path)));
    }
    return {
      statement: `COPY ${table} (${columns}) FROM STDIN WITH (FORMAT csv, NULL '${marker}')`,
      table,
      lines: Buffer.concat(objects),
    };
  } catch (error) {
    return {
      statement: raise(`S3ServiceException:${(error as Error).name},Status ${key ?? 'role'}`),
      table,
    };
  }
}
