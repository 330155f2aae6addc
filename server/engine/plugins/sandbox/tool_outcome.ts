import { Type } from 'typebox';
import { shapeOf } from '../../../platform/shape.ts';

/**
 * The end of one event at one mapping of a tool. `skipped`: the filter of the mapping does not
 * match. `refused`: a retry would end in the same way. `retry`: a retry may succeed, after
 * `retry_after` (in the other side's notation) at the earliest; `status` is 429 if only the pace
 * was wrong. `denied`: the tool does not accept the settings. `together` is the number of events of
 * one answer. `is_unsent`: no request was made.
 */
export type ToolOutcome = Exchanged &
  (
    | { kind: 'sent' | 'skipped' }
    | {
        kind: 'refused' | 'retry' | 'denied';
        status: number | null;
        reason: string;
        retry_after: string | null;
        together?: number;
        is_unsent?: boolean;
      }
  );

/**
 * The requests of an outcome. Between processes, only the first of several outcomes with the same
 * requests has them; the others refer to it by `exchanges_at`.
 */
type Exchanged = { exchanges?: ToolExchange[]; exchanges_at?: number };

/** A body, cut at its limit; `text` is null if it is no text. */
export type ExchangeBody = { text: string | null; size_bytes: number };

/** A header of a request or an answer. */
export type HeaderField = { name: string; value: string };

/**
 * A request of a tool and the answer to it; `answer` is null without one, and `error` gives the
 * reason. The status is null for other protocols than HTTP.
 */
export type ToolExchange = {
  request: {
    method: string;
    url: string;
    header_fields: HeaderField[];
    body: ExchangeBody | null;
  };
  answer: { status: number | null; header_fields: HeaderField[]; body: ExchangeBody } | null;
  error: string | null;
};

const reason_length_max = 1_000;

const body = Type.Object({
  text: Type.Union([Type.String({ maxLength: 10_000 }), Type.Null()]),
  size_bytes: Type.Integer({ minimum: 0 }),
});
const header_fields = Type.Array(
  Type.Object({ name: Type.String({ maxLength: 500 }), value: Type.String({ maxLength: 500 }) }),
  { maxItems: 50 },
);
const exchanged = shapeOf(
  Type.Array(
    Type.Object({
      request: Type.Object({
        method: Type.String({ maxLength: 20 }),
        url: Type.String({ maxLength: 2_000 }),
        header_fields,
        body: Type.Union([body, Type.Null()]),
      }),
      answer: Type.Union([
        Type.Object({
          status: Type.Union([Type.Integer({ minimum: 0, maximum: 999 }), Type.Null()]),
          header_fields,
          body,
        }),
        Type.Null(),
      ]),
      error: Type.Union([Type.String({ maxLength: 2_000 }), Type.Null()]),
    }),
    { maxItems: 4 },
  ),
);

const outcome = shapeOf(
  Type.Union([
    Type.Object({ kind: Type.Union([Type.Literal('sent'), Type.Literal('skipped')]) }),
    Type.Object({
      kind: Type.Union([Type.Literal('refused'), Type.Literal('retry'), Type.Literal('denied')]),
      status: Type.Union([Type.Integer({ minimum: 0, maximum: 999 }), Type.Null()]),
      reason: Type.String(),
      retry_after: Type.Union([Type.String({ maxLength: 200 }), Type.Null()]),
      together: Type.Optional(Type.Integer({ minimum: 1 })),
    }),
  ]),
);

/** Reads an untrusted outcome of a tool's process for an event. */
export function readOutcome(said: unknown): ToolOutcome {
  if (!outcome.is(said))
    return {
      kind: 'retry',
      status: null,
      reason: 'The process of the tool sent an unexpected answer.',
      retry_after: null,
    };
  const exchanges = exchangedOf(said);
  if (!('reason' in said)) return { kind: said.kind, ...exchanges };
  const { kind, status, retry_after, together } = said;
  const reason = said.reason.slice(0, reason_length_max).toWellFormed().replaceAll('\0', '\uFFFD');
  const all = together === undefined ? {} : { together };
  return { kind, status, reason, retry_after, ...all, ...exchanges };
}

/** Returns the valid requests of an outcome. */
function exchangedOf(said: object): Exchanged {
  const { exchanges, exchanges_at } = said as Record<string, unknown>;
  return {
    ...(exchanged.is(exchanges) ? { exchanges } : {}),
    ...(Number.isSafeInteger(exchanges_at) ? { exchanges_at: exchanges_at as number } : {}),
  };
}
