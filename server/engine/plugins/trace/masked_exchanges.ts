import { counted } from '../../../platform/counted.ts';
import type { ExchangeBody, HeaderField, ToolExchange } from '../sandbox/tool_outcome.ts';

const shown = '********';
const secret_name =
  /authorization|cookie|token|secret|signature|passw|credential|api.?key|access.?key|^key$/i;

/**
 * Returns requests and answers for storing: without the secrets of the settings, which `mask`
 * knows, and without headers and URL parameters whose names mark them as secret.
 */
export function maskedExchanges(
  exchanges: ToolExchange[] | undefined,
  mask: (text: string) => string,
): ToolExchange[] {
  const inBody = ({ text, size_bytes }: ExchangeBody) => ({
    text: text === null ? null : mask(text),
    size_bytes,
  });
  const inHeaders = (fields: HeaderField[]) =>
    fields.map(({ name, value }) => ({
      name,
      value: secret_name.test(name) ? shown : mask(value),
    }));
  return (exchanges ?? []).map(({ request, answer, error }) => ({
    request: {
      method: request.method,
      url: mask(withoutSecrets(request.url)),
      header_fields: inHeaders(request.header_fields),
      body: request.body === null ? null : inBody(request.body),
    },
    answer:
      answer === null
        ? null
        : {
            status: answer.status,
            header_fields: inHeaders(answer.header_fields),
            body: inBody(answer.body),
          },
    error: error === null ? null : mask(error),
  }));
}

/** Returns the URL with `********` for parameters with secret names. */
function withoutSecrets(address: string): string {
  const url = URL.parse(address);
  if (url === null || url.search === '') return address;
  const named = [...url.searchParams.keys()].filter((name) => secret_name.test(name));
  for (const name of named) url.searchParams.set(name, shown);
  return named.length === 0 ? address : url.href;
}

/**
 * Returns requests and answers for one of several events. Their bodies contain the others too, so
 * they stay in the trace, where an erasure of any of them removes them.
 */
export function withoutBodies(exchanges: ToolExchange[], count: number): ToolExchange[] {
  const told = (body: ExchangeBody | null) =>
    body && { ...body, text: `(of ${counted(count, 'event')}; the trace of the event has it)` };
  return exchanges.map(({ request, answer, error }) => ({
    request: { ...request, body: told(request.body) },
    answer: answer && { ...answer, body: told(answer.body)! },
    error,
  }));
}
