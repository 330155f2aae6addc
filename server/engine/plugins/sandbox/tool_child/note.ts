import { bodyOf, headerFieldsOf, noteRequest } from './exchanges.ts';
import type { Seen } from './way_out.ts';

const error_length_max = 2_000;

type Headers = [string, string][];
/** A sending as the trace shows it. */
type Noted = {
  method: string;
  url: () => string;
  headers?: Headers;
  body: Buffer;
  size_bytes?: number;
};
/** An answer as the trace shows it; the status is null for other protocols than HTTP. */
export type Answer = { status: number | null; headers: Headers; body: Buffer };
/** Sends, and records it in the call of a tool. */
export type Note = <Result>(
  noted: Noted,
  work: () => Promise<Result>,
  answer: (result: Result) => Answer,
) => Promise<Result>;

/** Records sendings in the present call of a tool. */
export function noter(seenNow: () => Seen | undefined): Note {
  return async ({ method, url, headers = [], body, size_bytes = body.length }, work, answer) => {
    const begun = { method, url: '', headers, body };
    const exchange = noteRequest(seenNow()?.exchanges ?? [], begun);
    if (exchange.request.body !== null) exchange.request.body.size_bytes = size_bytes;
    try {
      const result = await work();
      const { status, headers: given, body: bytes } = answer(result);
      exchange.answer = { status, header_fields: headerFieldsOf(given), body: bodyOf(bytes) };
      return result;
    } catch (error) {
      exchange.error = (error as Error).message.slice(0, error_length_max);
      throw error;
    } finally {
      exchange.request.url = url().slice(0, error_length_max);
    }
  };
}
