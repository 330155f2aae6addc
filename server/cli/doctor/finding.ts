import { oneLine } from '../shown_text.ts';

/** One result of `doctor`. `fault` keeps the server from working; `warning` does not. */
export type Finding = { state: 'ok' | 'warning' | 'fault'; subject: string; detail: string };

/** A check that passed. */
export function ok(subject: string, detail: string): Finding {
  return { state: 'ok', subject, detail };
}

/** A check that passed, with something to look at. */
export function warning(subject: string, detail: string): Finding {
  return { state: 'warning', subject, detail };
}

/** A fault; `detail` says how to fix it. */
export function fault(subject: string, detail: string): Finding {
  return { state: 'fault', subject, detail };
}

/** Formats a finding as one line, whatever characters its names contain. */
export function findingLine({ state, subject, detail }: Finding): string {
  return oneLine(`${state.padEnd(8)} ${subject}: ${detail}`);
}
