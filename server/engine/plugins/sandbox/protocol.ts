import { Type } from 'typebox';
import type { Static } from 'typebox';
import { log_line_length_max, metric_max, metrics_length_max, text_length_max } from './limits.ts';
import type { SandboxLimits } from './limits.ts';

/**
 * Orders of the server to the sandbox process. `instance` is the number of one loaded plugin, never
 * used twice; `call` and `request` count within it.
 */
export type OrderMessage =
  | { type: 'start'; guest: string }
  | {
      type: 'load';
      instance: number;
      call: number;
      code: string;
      setup: string;
      limits: SandboxLimits;
    }
  | { type: 'call'; instance: number; call: number; method: string; text: string }
  | { type: 'reply'; instance: number; request: number; name: string; is_ok: boolean; text: string }
  | { type: 'where'; instance: number }
  | { type: 'dispose'; instance: number }
  | { type: 'ping' };

const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Text = Type.String({ maxLength: text_length_max });
const Stack = Type.String({ maxLength: 20_000 });
const strict = { additionalProperties: false };

/**
 * Reports of the sandbox process to the server, which does not trust them: each message is checked
 * against this shape.
 */
export const ReportMessage = Type.Union([
  Type.Object({ type: Type.Literal('pong'), size_bytes: Count }, strict),
  Type.Object({ type: Type.Literal('returned'), instance: Count, call: Count, text: Text }, strict),
  Type.Object({ type: Type.Literal('thrown'), instance: Count, call: Count, text: Text }, strict),
  // The isolate is gone; `is_stuck`: its thread is not, so the process must be ended.
  Type.Object(
    {
      type: Type.Literal('fault'),
      instance: Count,
      reason: Type.Union([Type.Literal('timeout'), Type.Literal('memory')]),
      is_stuck: Type.Boolean(),
      stack: Stack,
    },
    strict,
  ),
  // The plugin's current wait, requested before the plugin is ended.
  Type.Object({ type: Type.Literal('where'), instance: Count, stack: Stack }, strict),
  Type.Object(
    {
      type: Type.Literal('metrics'),
      instance: Count,
      text: Type.String({ maxLength: metrics_length_max }),
    },
    strict,
  ),
  Type.Object(
    {
      type: Type.Literal('request'),
      instance: Count,
      request: Count,
      // The requesting call, as far as the process can tell.
      call: Type.Optional(Count),
      name: Type.String({ maxLength: 40 }),
      text: Text,
    },
    strict,
  ),
  // An unhandled failure: an error as in `thrown`, or the answer of a named request.
  Type.Object(
    {
      type: Type.Literal('unheard'),
      instance: Count,
      request: Type.Union([Type.String({ maxLength: 40 }), Type.Null()]),
      text: Text,
    },
    strict,
  ),
  Type.Object(
    {
      type: Type.Literal('log'),
      instance: Count,
      level: Type.String({ maxLength: 5 }),
      text: Type.String({ maxLength: log_line_length_max }),
    },
    strict,
  ),
]);

/** A message of the sandbox process with a valid shape. */
export type ReportMessage = Static<typeof ReportMessage>;

/**
 * A plugin's error as its code reports it; `stack` is V8's text with positions in the compiled
 * code.
 */
export const ThrownError = Type.Object({
  name: Type.String({ maxLength: 200 }),
  message: Type.String({ maxLength: 4_000 }),
  stack: Stack,
  is_retry: Type.Boolean(),
});

/** Counts of a call, by metric. */
export const CountedMetrics = Type.Record(
  Type.String({ maxLength: 200 }),
  Type.Number({ minimum: -metric_max, maximum: metric_max }),
  { maxProperties: 100 },
);

/**
 * The answer of `load`: the capabilities of the code. The lists are bounded, and the names are
 * valid in JavaScript.
 */
export const Inspection = Type.Object({
  methods: Type.Array(Type.String({ maxLength: 200 }), { maxItems: 100 }),
  jobs: Type.Array(Type.String({ maxLength: 200 }), { maxItems: 100 }),
  scheduled_tasks: Type.Array(Type.String({ maxLength: 200 }), { maxItems: 100 }),
  metrics: Type.Record(
    Type.String({ maxLength: 200 }),
    Type.Union([Type.Literal('sum'), Type.Literal('max'), Type.Literal('min')]),
    { maxProperties: 100 },
  ),
  public_jobs: Type.Record(Type.String({ maxLength: 200 }), Type.Unknown(), { maxProperties: 100 }),
});
