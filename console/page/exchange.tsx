import { inBytes } from './text/quantities.ts';

type Body = { text: string | null; size_bytes: number };
type Field = { name: string; value: string };

/** A request and its answer; without an answer, `error` has the reason. */
type Exchange = {
  request: { method: string; url: string; header_fields: Field[]; body: Body | null };
  answer: { status: number | null; header_fields: Field[]; body: Body } | null;
  error: string | null;
};

/** The requests of a tool and their answers, each with headers and body; secrets are masked. */
export function Exchanges({ exchanges }: { exchanges: Exchange[] }) {
  if (exchanges.length === 0) return <p className="muted">The tool made no request.</p>;
  return exchanges.map(({ request, answer, error }, index) => (
    // The requests of an attempt never change, so the index is a stable key.
    <div key={index}>
      <h4>Request</h4>
      <pre className="query" tabIndex={0} role="group" aria-label="Request">
        {`${request.method} ${request.url}\n${headersOf(request.header_fields)}`}
        {request.body !== null && `\n\n${textOf(request.body)}`}
      </pre>
      <h4>Answer</h4>
      <pre className="query" tabIndex={0} role="group" aria-label="Answer">
        {answer === null ? `None. ${error ?? ''}` : answerOf(answer)}
      </pre>
    </div>
  ));
}

function answerOf({ status, header_fields, body }: NonNullable<Exchange['answer']>): string {
  // A tool without HTTP has neither.
  return status === null
    ? textOf(body)
    : `${status}\n${headersOf(header_fields)}\n\n${textOf(body)}`;
}

function headersOf(fields: Field[]): string {
  return fields.map(({ name, value }) => `${name}: ${value}`).join('\n');
}

function textOf({ text, size_bytes }: Body): string {
  if (text === null) return `(${inBytes(size_bytes)} that are no text)`;
  const is_cut = new TextEncoder().encode(text).length < size_bytes;
  return is_cut ? `${text}\n... (${inBytes(size_bytes)} in all)` : text;
}
