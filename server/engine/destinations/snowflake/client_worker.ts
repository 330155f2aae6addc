import tls from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import { parentPort } from 'node:worker_threads';
import snowflake from 'snowflake-sdk';
import type { Connection, SnowflakeError } from 'snowflake-sdk';
import type { ClientFault, ClientReply, ClientRequest } from './client.ts';

/**
 * The thread of the official client, with one connection at a time. When the thread is ended,
 * nothing of the client continues, whatever it was waiting for or retrying. It writes no log.
 * Certificates are checked by chain and name; revocation is not checked, because that would bypass
 * the guard in plain text.
 */
const ignore = (): void => undefined;
const silent = { error: ignore, warn: ignore, info: ignore, debug: ignore, trace: ignore };
snowflake.configure({
  logLevel: 'OFF',
  customLogger: silent,
  disableOCSPChecks: true,
  keepAlive: true,
  useEnvProxy: false,
});

let connection: Connection | undefined;
let trusted: string[] = [];

/** Settles with the arguments of a client's callback. */
function answerOf(
  call: (callback: (error: SnowflakeError | null | undefined, rows?: unknown[]) => void) => void,
): Promise<unknown[]> {
  return new Promise((resolve, reject) =>
    call((error, rows) =>
      error === undefined || error === null ? resolve(rows ?? []) : reject(error),
    ),
  );
}

/** Authorities are only parsed again if they changed: all of them take some 20 ms. */
function trust(certificates: string[]): void {
  if (isDeepStrictEqual(certificates, trusted)) return;
  tls.setDefaultCACertificates(certificates);
  trusted = certificates;
}

async function run(request: ClientRequest): Promise<unknown[]> {
  if (request.kind === 'connect') {
    trust(request.certificates);
    const opened = snowflake.createConnection(request.options);
    connection = opened;
    return answerOf((callback) => opened.connect((error) => callback(error)));
  }
  const current = connection;
  if (current === undefined) throw new Error('There is no connection.');
  if (request.kind === 'close') {
    connection = undefined;
    return answerOf((callback) => current.destroy((error) => callback(error)));
  }
  const { statement, values, bytes } = request;
  const file =
    bytes === undefined
      ? {}
      : { fileStream: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) as never };
  return answerOf((callback) =>
    current.execute({
      sqlText: statement,
      ...(values === undefined ? {} : { binds: values }),
      ...file,
      complete: (error, _statement, rows) => callback(error, rows),
    }),
  );
}

/** Only fields that identify faults: the client's errors also contain requests and answers. */
function faultOf(
  error: SnowflakeError & {
    cause?: { code?: unknown; message?: string };
    response?: { statusCode?: number };
  },
): ClientFault {
  const { code, sqlState, message, cause, response } = error;
  return {
    code: String(code ?? ''),
    sql_state: sqlState ?? '',
    status: response?.statusCode,
    cause_code: typeof cause?.code === 'string' ? cause.code : undefined,
    message,
    cause_message: cause?.message,
  };
}

const reply = (message: ClientReply): void => parentPort?.postMessage(message, []);

parentPort?.on('message', (request: ClientRequest) => {
  run(request).then(
    (rows) => reply({ id: request.id, rows }),
    (error: SnowflakeError) => reply({ id: request.id, fault: faultOf(error) }),
  );
});
