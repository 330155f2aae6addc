import { createHash, randomBytes } from 'node:crypto';
import type { Answer, Harness } from '../harness.ts';

/** The address of the server of a harness, as assistants know it. */
export const server_url = 'http://127.0.0.1:8000';
/** The redirect address of the assistants of tests, at a free port of this computer. */
export const callback = 'http://127.0.0.1:33418/callback';

/** The tokens of an assistant. */
export type Tokens = { access_token: string; refresh_token: string; [name: string]: unknown };

/** An assistant that implements OAuth by hand, so that it can break each rule. */
export type Assistant = {
  client_id: string;
  verifier: string;
  /** The parameters with which it opens `/authorize`. */
  asked: Record<string, string>;
};

/** Sends a form as OAuth requires it. */
export function sendForm(
  harness: Harness,
  path: string,
  fields: Record<string, string>,
): Promise<Answer> {
  return harness.request('POST', path, {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  });
}

/** An assistant that registered itself and asks for these scopes. */
export async function newAssistant(
  harness: Harness,
  { scope = 'batch_export:read project:read', name = 'Helper', redirect_uri = callback } = {},
): Promise<Assistant> {
  const { body } = await harness.request('POST', '/oauth/register', {
    body: { client_name: name, redirect_uris: [redirect_uri] },
  });
  return assistantOf(harness, body.client_id, redirect_uri, scope);
}

function resourceOf({ deps }: Harness): string {
  return `${new URL(deps.config.public_url).origin}/mcp`;
}

/** An assistant with the id of a client. */
export function assistantOf(
  harness: Harness,
  client_id: string,
  redirect_uri: string,
  scope: string,
): Assistant {
  const verifier = randomBytes(32).toString('base64url');
  const asked = {
    client_id,
    redirect_uri,
    scope,
    response_type: 'code',
    state: 'of the assistant',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    resource: resourceOf(harness),
  };
  return { client_id, verifier, asked };
}

/**
 * Lets the person give the assistant access, as on the page; `more` are the fields that they change
 * there.
 */
export function letIn(
  harness: Harness,
  cookie: string,
  asked: Record<string, string>,
  more: object = {},
): Promise<Answer> {
  const { scope = '' } = asked;
  const expires_at = new Date(Date.now() + 86_400_000).toISOString();
  return harness.request('POST', '/api/personal_api_keys/agents/', {
    headers: { cookie },
    body: { ...asked, scopes: scope.split(' '), expires_at, ...more },
  });
}

/** Returns the code that the browser returns with. */
export function codeIn({ body }: Answer): string {
  return new URL(body.redirect_url).searchParams.get('code')!;
}

/** Asks for the first tokens. */
export function redeem(
  harness: Harness,
  { client_id, verifier, asked }: Assistant,
  code: string,
  more: Record<string, string> = {},
): Promise<Answer> {
  return sendForm(harness, '/oauth/token', {
    grant_type: 'authorization_code',
    code,
    client_id,
    code_verifier: verifier,
    redirect_uri: asked['redirect_uri']!,
    resource: resourceOf(harness),
    ...more,
  });
}

/** Asks for the next tokens. */
export function renew(
  harness: Harness,
  { client_id }: Assistant,
  refresh_token: string,
  more: Record<string, string> = {},
): Promise<Answer> {
  const fields = { grant_type: 'refresh_token', refresh_token, client_id, ...more };
  return sendForm(harness, '/oauth/token', fields);
}

/** Signs an assistant in with all steps, and returns its tokens. */
export async function signedIn(
  harness: Harness,
  cookie: string,
  assistant: Assistant,
  more: object = {},
): Promise<Tokens> {
  const granted = await letIn(harness, cookie, assistant.asked, more);
  return (await redeem(harness, assistant, codeIn(granted))).body as Tokens;
}

/** The status of a message to `/mcp` with the token. */
export async function askWith(harness: Harness, token: string): Promise<number> {
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
  return (await harness.request('POST', '/mcp', { key: token, body })).status;
}
