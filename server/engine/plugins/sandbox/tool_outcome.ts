import { Type } from 'typebox';
import { shapeOf } from '../../../platform/shape.ts';

/**
 * The end of one event at one mapping of a tool. `skipped`: the filter of the mapping does not
 * match. `refused`: another attempt ends in the same way. `retry`: another one may succeed, after
 * `retry_after` (as the other side wrote it) at the earliest; `status` is 429 where only the pace
 * was wrong. `denied`: the settings do not let us in. `together` is the number of events that one
 * answer was for.
 */
export type ToolOutcome =
  | { kind: 'sent' | 'skipped' }
  | {
      kind: 'refused' | 'retry' | 'denied';
      status: number | null;
      reason: string;
      retry_after: string | null;
      together?: number;
    };

const reason_length_max = 1_000;

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
  if (!('reason' in said)) return said;
  const reason = said.reason.slice(0, reason_length_max).toWellFormed();
  return { ...said, reason: reason.replaceAll('\0', '\uFFFD') };
}
