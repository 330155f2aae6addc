/**
 * The end of an attempt: `set_aside`, the tool did not accept the event; `retry`, it waits for
 * another attempt; `denied`, the tool does not accept the settings.
 */
export const send_outcomes = ['sent', 'set_aside', 'retry', 'denied'] as const;

export type SendOutcome = (typeof send_outcomes)[number];
