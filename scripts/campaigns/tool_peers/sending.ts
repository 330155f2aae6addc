/** An event that is sent by a mapping of a tool. */
export type Sending = { settings: object; action: string; mapping: object };

/** Sends an event by a tool with variables of the operator; returns the outcome as text. */
export type Send = (
  directory: string,
  sending: Sending,
  variables: Record<string, string>,
) => Promise<string>;

/** Throws unless this is the outcome of an event that was sent. */
export function requireSent(outcome: string): void {
  if (!outcome.startsWith('{"kind":"sent"')) throw new Error(outcome);
}
