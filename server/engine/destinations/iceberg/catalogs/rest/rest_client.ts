import { writeExactJson } from '../../../../../platform/json/exact_json.ts';
import type { DestinationDeps } from '../../../../model/destination/destination.ts';
import type { CatalogConfig } from '../catalog_config.ts';
import { send } from '../request.ts';
import type { Answer, Sendable } from '../request.ts';
import { openSignIn } from './sign_in.ts';

/** A request to a REST catalog. */
export type Asked = {
  method: 'GET' | 'POST' | 'DELETE';
  url: URL;
  body?: unknown;
  headers?: Record<string, string>;
};

/**
 * Sends each authenticated request once. After refused credentials, it renews them and repeats the
 * request, because nothing was applied then.
 */
export type RestClient = { ask(asked: Asked): Promise<Answer> };

/** Opens the client of a catalog; makes no request yet. */
export function openRestClient(config: CatalogConfig, deps: DestinationDeps): RestClient {
  const sendHiding = async (asked: Sendable) => {
    const answer = await send(asked, deps);
    return { ...answer, said: hidden(answer.said, config) };
  };
  const signIn = openSignIn(config, deps, sendHiding);
  const ask = async (asked: Asked, renewed: boolean): Promise<Answer> => {
    const { method, url, body } = asked;
    const written =
      body === undefined ? {} : { body: writeExactJson(body), type: 'application/json' };
    const by = await signIn.sign({ method, url, headers: {}, ...written }, renewed);
    const headers = {
      ...config.catalog_headers,
      ...by.headers,
      ...asked.headers,
      Accept: 'application/json',
    };
    const answer = await sendHiding({ ...by, headers });
    return signIn.isExpired?.(answer) === true && !renewed ? ask(asked, true) : answer;
  };
  return { ask: (asked) => ask(asked, false) };
}

/** Returns a part of an answer for display: catalogs may repeat the request. */
function hidden(said: string, config: CatalogConfig): string {
  const { catalog_token, catalog_client_secret, catalog_headers = {} } = config;
  return [catalog_token, catalog_client_secret, ...Object.values(catalog_headers)]
    .filter((secret) => (secret ?? '') !== '')
    .reduce<string>((text, secret) => text.replaceAll(secret!, '***'), said);
}
