import type { Applied, Plan } from '../../api/configuration/schema.ts';
import { isFields } from '../../platform/fields.ts';
import type { Fields } from '../../platform/fields.ts';
import { askServer } from '../client/ask.ts';
import { refusalOf } from '../client/refusal.ts';
import { UnreachableError, UserError, WrongUsageError } from '../user_error.ts';
import type { FileFault, FilePlace } from './places.ts';
import { faultLines, openPlaces } from './places.ts';

/** A server, and the credentials for it. */
export type ServerTarget = { address: string; key: string; organization: string };

/**
 * A fault of the configuration files, with its place if the server's answer names one. Its exit
 * code is that of wrong usage, because the author of the files can fix it.
 */
export class ConfigurationRefused extends WrongUsageError {
  readonly faults: (FileFault | { detail: string })[];
  constructor(faults: (FileFault | { detail: string })[]) {
    super(faultLines(faults).join('\n'));
    this.faults = faults;
  }
}

type Problem = { detail?: string; errors?: { attr: string | null; detail: string }[] };

/** The text for an apply whose outcome is unknown. */
export const fate_unknown =
  'The plan was sent, but no answer came. It is applied completely or not. Run `sluice config ' +
  'plan` to see which.';

/**
 * Opens the API of a server; each call throws a UserError if the server is unreachable or refuses.
 */
export function openClient({ address, key, organization }: ServerTarget) {
  const home = `/api/organizations/${encodeURIComponent(organization)}/`;
  const ask = async <Answer>(method: 'GET' | 'POST', path: string, body?: unknown) => {
    const asked = { method, path: `${home}${path}`, body };
    const answer = await askServer({ address, key }, asked);
    const refusal = refusalOf(answer, address);
    if (refusal !== undefined && !isFields(answer.body)) throw refusal;
    return { status: answer.status, body: answer.body as Answer & Problem, refusal };
  };
  const refused = (status: number, refusal: UserError | undefined) =>
    status === 404 || refusal === undefined
      ? new UserError(
          `${address} has no organization ${organization} that this key may read: check ` +
            '--organization, --url and the key.',
        )
      : refusal;
  return {
    pull: async (people: boolean) => {
      const path = `configuration/${people ? '?people=true' : ''}`;
      const { status, body, refusal } = await ask<{ configuration: Fields }>('GET', path);
      if (status !== 200) throw refused(status, refusal);
      return body.configuration;
    },
    plan: async (asked: object, places: ReadonlyMap<string, FilePlace>): Promise<Plan> => {
      const { status, body, refusal } = await ask<Plan>('POST', 'configuration/plan/', asked);
      if (status === 201) return body;
      throw status === 400 ? placed(body, places) : refused(status, refusal);
    },
    apply: async (hash: string, places: ReadonlyMap<string, FilePlace>): Promise<Applied> => {
      const asked = ask<Applied>('POST', 'configuration/apply/', { hash });
      const { status, body, refusal } = await asked.catch((error: Error) => {
        throw new UnreachableError(`${error.message} ${fate_unknown}`);
      });
      if (status === 200) return body;
      // A proxy answers like this if it has lost the server's answer.
      if (status >= 500) throw new UnreachableError(`${refusal?.message} ${fate_unknown}`);
      throw status === 400 || status === 409 ? placed(body, places) : refused(status, refusal);
    },
    /** Calls a route of the organization about an export, such as `test/`. */
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
