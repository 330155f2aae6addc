import { request } from 'undici';
import type { Applied, Plan } from '../../api/configuration/schema.ts';
import { parseJson } from '../../platform/parse_json.ts';
import { UserError } from '../user_error.ts';
import type { FileFault, FilePlace } from './places.ts';
import { openPlaces } from './places.ts';

/** A server, and as whom it is asked. */
export type ServerTarget = { address: string; key: string; organization: string };

/** What is wrong, with places in files where the server's words have one. */
export class ConfigurationRefused extends Error {
  readonly faults: (FileFault | { detail: string })[];
  constructor(faults: (FileFault | { detail: string })[]) {
    super('The configuration was refused.');
    this.faults = faults;
  }
}

type Problem = { detail?: string; errors?: { attr: string | null; detail: string }[] };

/** What an apply has come to whose answer is not known. */
export const fate_unknown =
  'The plan was sent: all of it is applied, or nothing. `sluice config plan` says which.';

const headers_timeout_ms = 120_000;

/** Asks a server; each call throws a UserError where the server cannot be reached or refuses. */
export function openClient({ address, key, organization }: ServerTarget) {
  const home = `${address}/api/organizations/${encodeURIComponent(organization)}/`;
  const ask = async <Answer>(method: 'GET' | 'POST', path: string, body?: unknown) => {
    let status: number;
    try {
      const answer = await request(`${home}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${key}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        headersTimeout: headers_timeout_ms,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const said = parseJson(await answer.body.text());
      if (typeof said === 'object' && said !== null)
        return { status: answer.statusCode, body: said as Answer & Problem };
      status = answer.statusCode;
    } catch (error) {
      throw new UserError(`The server at ${address} cannot be reached: ${reasonOf(error)}.`);
    }
    const detail = 'The answer is no JSON: is this the address of a Sluice server?';
    if (status < 300) throw refusal(status, { detail });
    return { status, body: { detail } as Answer & Problem };
  };
  const refused = (status: number, problem: Problem) =>
    status === 404
      ? new UserError(
          `${address} has no organization ${organization} that this key may see: check ` +
            '--organization, --url and the key.',
        )
      : refusal(status, problem);
  return {
    pull: async (people: boolean) => {
      const path = `configuration/${people ? '?people=true' : ''}`;
      const { status, body } = await ask<{ configuration: Record<string, unknown> }>('GET', path);
      if (status !== 200) throw refused(status, body);
      return body.configuration;
    },
    plan: async (asked: object, places: ReadonlyMap<string, FilePlace>): Promise<Plan> => {
      const { status, body } = await ask<Plan>('POST', 'configuration/plan/', asked);
      if (status === 201) return body;
      throw status === 400 ? placed(body, places) : refused(status, body);
    },
    apply: async (hash: string, places: ReadonlyMap<string, FilePlace>): Promise<Applied> => {
      const unknown = (error: Error) => new UserError(`${error.message} ${fate_unknown}`);
      const asked = ask<Applied>('POST', 'configuration/apply/', { hash });
      const { status, body } = await asked.catch((error: Error) => {
        throw unknown(error);
      });
      if (status === 200) return body;
      // A proxy answers so when it has lost the server's answer.
      if (status >= 500) throw unknown(refusal(status, body));
      throw status === 400 || status === 409 ? placed(body, places) : refusal(status, body);
    },
    /** Asks a route of the organization about an export, such as `test/`. */
    about: <Answer>(path: string, body: unknown) => ask<Answer>('POST', path, body),
  };
}

/** An open server. */
export type Client = ReturnType<typeof openClient>;

function placed(
  { errors = [], detail }: Problem,
  places: ReadonlyMap<string, FilePlace>,
): ConfigurationRefused {
  if (errors.length === 0) return new ConfigurationRefused([{ detail: detail ?? 'Refused.' }]);
  const find = openPlaces(places);
  return new ConfigurationRefused(
    errors.map((error) => {
      const { path, place } = find(error.attr);
      const said = path === '' ? error.detail : `${path}: ${error.detail}`;
      return place === undefined ? { detail: said } : { ...place, detail: said };
    }),
  );
}

function refusal(status: number, { detail }: Problem): UserError {
  return new UserError(`The server answered ${status}: ${detail ?? 'no reason given.'}`);
}

function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: string; message: string };
  return code ?? message;
}
