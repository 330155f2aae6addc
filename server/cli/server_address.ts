import { WrongUsageError } from './user_error.ts';

/**
 * Returns the address of a server without slashes at its end; throws `UserError` for an invalid
 * one.
 */
export function serverAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return text.replace(/\/+$/, '');
  throw new WrongUsageError(
    `"${text}" is not the address of a server. --url needs one such as http://127.0.0.1:8000.`,
  );
}
