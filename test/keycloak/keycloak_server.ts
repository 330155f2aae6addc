import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { dieWithParent } from '../../server/platform/embedded/programs.ts';
import { descendantsOf, tell } from '../processes/process_group.ts';
import { leastEnvironment } from '../processes/sluice_process.ts';
import { until } from '../processes/server_process.ts';

/** A Keycloak on 127.0.0.1 with a store in its own memory. */
export type Keycloak = {
  url: string;
  /** Sends its admin API (`/realms/...`) JSON, or XML as text; fails unless that succeeded. */
  admin(method: string, path: string, body?: unknown): Promise<any>;
  /** Returns a token of its administrator, valid for a minute. */
  newToken(): Promise<string>;
  /** Ends it with all its child processes. */
  close(): Promise<void>;
};

const administrator = { username: 'admin', password: 'the password of a test' };
/** It takes a minute on a busy machine, and longer the first time, when it builds itself. */
const start_wait_ms = 300_000;
/** Its access tokens are valid for a minute. */
const token_kept_ms = 30_000;

/** Starts the distribution and waits until it answers; rejects with its output if it ends. */
export async function startKeycloak(home: string, port: number): Promise<Keycloak> {
  const url = `http://127.0.0.1:${port}`;
  const options = ['--http-host=127.0.0.1', `--http-port=${port}`, '--db=dev-mem'];
  // Its script passes this signal on to Java.
  const words = [...dieWithParent('INT'), join(home, 'bin/kc.sh'), 'start-dev', ...options];
  const child = spawn(words[0]!, words.slice(1), {
    cwd: home,
    env: {
      ...leastEnvironment(),
      JAVA_OPTS_KC_HEAP: '-Xms64m -Xmx768m',
      KC_BOOTSTRAP_ADMIN_USERNAME: administrator.username,
      KC_BOOTSTRAP_ADMIN_PASSWORD: administrator.password,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const exited = once(child, 'exit');
  const close = async () => {
    tell([...descendantsOf(child.pid!), child.pid!], 'SIGKILL');
    await exited;
  };
  try {
    await until('Keycloak to answer', start_wait_ms, 250, async () => {
      if (child.exitCode !== null) throw new Error(`Keycloak ended:\n${output}`);
      return (await fetch(`${url}/realms/master`).catch(() => undefined))?.ok || undefined;
    });
  } catch (error) {
    await close();
    throw error;
  }
  return { url, admin: adminOf(url), newToken: () => newToken(url), close };
}

function adminOf(url: string): Keycloak['admin'] {
  let token: { value: string; until_ms: number } | undefined;
  return async (method, path, body) => {
    if (token === undefined || Date.now() >= token.until_ms)
      token = { value: await newToken(url), until_ms: Date.now() + token_kept_ms };
    const isText = typeof body === 'string';
    const answer = await fetch(`${url}/admin${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token.value}`,
        'content-type': isText ? 'application/xml' : 'application/json',
      },
      ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    assert.ok(answer.ok, `Keycloak: ${method} ${path} answered ${answer.status}: ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
}

async function newToken(url: string): Promise<string> {
  const answer = await fetch(`${url}/realms/master/protocol/openid-connect/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'password',
      client_id: 'admin-cli',
      ...administrator,
    }),
  });
  const { access_token } = (await answer.json()) as { access_token?: string };
  return access_token ?? assert.fail(`Keycloak lets its administrator in with ${answer.status}`);
}
