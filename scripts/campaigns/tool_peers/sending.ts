import type { ToolOutcome } from '../../../server/engine/plugins/sandbox/tool_outcome.ts';

/** An event that is sent by a mapping of a tool. */
export type Sending = { settings: object; action: string; mapping: object };

/** Sends an event by a tool with variables of the operator; returns the outcome as text. */
export type Send = (
  directory: string,
  sending: Sending,
  variables: Record<string, string>,
) => Promise<string>;

/**
 * Throws unless the trace of the outcome has one sending, to there, with such an answer; `text` is
 * what its body has of the event, and the status is null where HTTP is not spoken.
 */
export function requireTraced(
  outcome: string,
  url: RegExp,
  answer: RegExp,
  { text = 'o-4711', status = null }: { text?: string; status?: number | null } = {},
): void {
  const { exchanges } = JSON.parse(outcome) as ToolOutcome;
  const [one] = exchanges ?? [];
  const isTraced =
    exchanges?.length === 1 &&
    url.test(one!.request.url) &&
    one!.request.body?.text?.includes(text) === true &&
    one!.answer?.status === status &&
    answer.test(one!.answer.body.text ?? '');
  if (!isTraced) throw new Error(`The trace is wrong: ${outcome}`);
}

/** Throws unless this is the outcome of an event that was sent. */
export function requireSent(outcome: string): void {
  if (!outcome.startsWith('{"kind":"sent"')) throw new Error(outcome);
}
