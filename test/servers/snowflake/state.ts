import type http from 'node:http';
import { SnowflakeRefusal } from './dialect.ts';
import type { SnowflakeAccount, SnowflakeAnswer, SnowflakeSession } from './session.ts';

/**
 * The fault of a request instead of its answer. `after` runs the statement first, and then breaks
 * the connection; an error with `is_after` also runs it first.
 */
export type SnowflakeFault =
  | { code: string; message: string; sql_state?: string; is_after?: true }
  | { status: number }
  | 'hang'
  | 'drop'
  | 'after';

/** A body in JSON. */
export type Body = Record<string, unknown>;

type Tokens = {
  session: SnowflakeSession;
  master: string;
  is_expired: boolean;
  answers: Map<string, Promise<SnowflakeAnswer>>;
};

/** The state of the server: its one account, its sessions, and the requested faults. */
export type World = {
  user: string;
  password: string;
  /** PKCS #8 in PEM. */
  private_key: string;
  account: SnowflakeAccount;
  /** Received statements. */
  statements: string[];
  /** Paths of unknown requests, which the client sends on its own. */
  unknown_paths: string[];
  is_hanging: boolean;
  tokens: Map<string, Tokens>;
  faults: { pattern: RegExp; fault: SnowflakeFault; times: number }[];
};

/** Answers with a body in JSON, with status 200 as this protocol does. */
export function send(response: http.ServerResponse, body: Body): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** Returns true if the statement is run before the fault. */
export function isAfter(fault: SnowflakeFault): boolean {
  return fault === 'after' || (typeof fault === 'object' && 'is_after' in fault);
}

/** Causes the requested fault instead of an answer; the caller handles `after`. */
export function isTakenOver(world: World, subject: string, response: http.ServerResponse): boolean {
  const found = world.faults.find(({ pattern, times }) => times > 0 && pattern.test(subject));
  if (found === undefined || isAfter(found.fault)) return false;
  found.times -= 1;
  const { fault } = found;
  if (fault === 'after') return false;
  if (fault === 'hang') world.is_hanging = true;
  else if (fault === 'drop') response.destroy();
  else if ('status' in fault)
    response.writeHead(fault.status, { 'content-type': 'text/html' }).end('<html>no</html>');
  else throw new SnowflakeRefusal(fault.code, fault.sql_state ?? '', fault.message);
  return true;
}
