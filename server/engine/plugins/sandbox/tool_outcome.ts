import { Type } from 'typebox';
import { shapeOf } from '../../../platform/shape.ts';

/**
 * The end of one event at one mapping of a tool. `skipped`: the filter of the mapping does not
 * match. `refused`: another attempt ends in the same way. `retry`: another one may succeed, after
 * `retry_after` (as the other side wrote it) at the earliest; `status` is 429 where only the pace
 * was wrong. `denied`: the settings do not let us in. `together` is the number of events that one
 * answer was for. `is_unsent`: no request was made.
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
 * The requests of an outcome. Of several outcomes with the same requests only the first has them,
 * while they pass between processes, and `exchanges_at` is its place for the others.
 */
type Exchanged = { exchanges?: ToolExchange[]; exchanges_at?: number };

/** A body, cut at its bound; `text` is null for one that is no text. */
export type ExchangeBody = { text: string | null; size_bytes: number };

/** A header of a request or an answer. */
export type HeaderField = { name: string; value: string };

/**
 * A request of a tool and the answer to it; `answer` is null without one, and `error` says why. The
 * status is null where HTTP is not spoken.
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

/** Reads what a tool's process says of an event, which may be anything. */
export function readOutcome(said: unknown): ToolOutcome {
  if (!outcome.is(said))
    return {
      kind: 'retry',
      status: null,
      reason: 'The process of the tool said something that is no outcome.',
      retry_after: null,
    };
  const exchanges = exchangedOf(said);
  if (!('reason' in said)) return { kind: said.kind, ...exchanges };
  const { kind, status, retry_after, together } = said;
  const reason = said.reason.slice(0, reason_length_max).toWellFormed().replaceAll('\0', '\uFFFD');
  const all = together === undefined ? {} : { together };
  return { kind, status, reason, retry_after, ...all, ...exchanges };
}

/** The requests of an outcome, as far as they are what they should be. */
function exchangedOf(said: object): Exchanged {
  const { exchanges, exchanges_at } = said as Record<string, unknown>;
  return {
    ...(exchanged.is(exchanges) ? { exchanges } : {}),
    ...(Number.isSafeInteger(exchanges_at) ? { exchanges_at: exchanges_at as number } : {}),
  };
}
