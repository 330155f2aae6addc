import { oneLine } from '../shown_text.ts';

/** One thing that `doctor` looked at. `fault` keeps the server from working; `warning` does not. */
export type Finding = { state: 'ok' | 'warning' | 'fault'; subject: string; detail: string };

/** It is as it should be. */
export function ok(subject: string, detail: string): Finding {
  return { state: 'ok', subject, detail };
}

/** It works, and somebody should look at it. */
export function warning(subject: string, detail: string): Finding {
  return { state: 'warning', subject, detail };
}

/** It must be put right; `detail` says how. */
export function fault(subject: string, detail: string): Finding {
  return { state: 'fault', subject, detail };
}

/** A finding as a line of its own, whatever names of others stand in it. */
export function findingLine({ state, subject, detail }: Finding): string {
  return oneLine(`${state.padEnd(8)} ${subject}: ${detail}`);
}
