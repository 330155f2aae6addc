import { isFields } from '../../platform/fields.ts';
import { KeyError, UnreachableError, UserError } from '../user_error.ts';
import type { Answered } from './ask.ts';

/**
 * Returns the error for a refusal: the server's sentence, the field, and what to do. Undefined for
 * any other answer.
 */
export function refusalOf(
  { status, body, text }: Answered,
  address: string,
): UserError | undefined {
  const isOurs = isFields(body) || Array.isArray(body) || text === '';
  if (status < 300 && isOurs) return undefined;
  if (!isFields(body)) {
    const detail = `${address} answered ${status} without JSON`;
    return status >= 500
      ? new UnreachableError(`${detail}: try again later.`)
      : new UserError(`${detail}: is this the address of a Sluice server?`);
  }
  const said = detailOf(body);
  if (status === 401)
    return new KeyError(
      `${address} refused the API key: ${said} Sign in with a valid key: \`sluice login ` +
        `--url ${address}\`.`,
    );
  if (status === 403) return new KeyError(`Forbidden: ${said}`);
  if (status === 429 || status >= 500)
    return new UnreachableError(`${address} answered ${status}: ${said} Try again later.`);
  if (status !== 404) return new UserError(said);
  return new UserError(
    'This record does not exist, or the key may not read it: check the id and --project.',
  );
}

/** Returns all sentences of a refusal, each with its field. */
function detailOf(body: Record<string, unknown>): string {
  const errors = Array.isArray(body['errors']) ? (body['errors'] as unknown[]) : [];
  const lines = errors.flatMap((error) => {
    if (!isFields(error)) return [];
    const { attr, detail } = error;
    if (typeof detail !== 'string') return [];
    return [typeof attr === 'string' ? `${attr.replaceAll('__', '.')}: ${detail}` : detail];
  });
  if (lines.length > 0) return lines.join('\n');
  return typeof body['detail'] === 'string' ? body['detail'] : 'no reason given.';
}
