import type {
  ExportOverview,
  HealthCode,
} from '../../../server/api/batch_exports/overview/schema.ts';
import type { Shape, State } from '../state.ts';

/** A state of an export: the start of the server's sentence, a shape and a colour. */
export type Standing = State & { shape: Shape };

/** The states of an export from the server, worst first. */
export const standings: Record<HealthCode, Standing> = {
  failing: { word: 'Failing', tone: 'bad', shape: 'cross' },
  paused_automatically: { word: 'Paused by the server', tone: 'bad', shape: 'stop' },
  retrying: { word: 'Retrying', tone: 'warn', shape: 'turn' },
  late: { word: 'Late', tone: 'bad', shape: 'clock' },
  partly_delivered: { word: 'Partly delivered', tone: 'bad', shape: 'half' },
  unusual_volume: { word: 'Unusual volume', tone: 'warn', shape: 'wave' },
  running: { word: 'Running', tone: 'muted', shape: 'play' },
  waiting: { word: 'Waiting for the schedule', tone: 'muted', shape: 'glass' },
  paused: { word: 'Paused', tone: 'warn', shape: 'pause' },
  up_to_date: { word: 'Up to date', tone: 'good', shape: 'check' },
  ended: { word: 'Ended', tone: 'muted', shape: 'dashes' },
};

/** The states in the order of `standings`. */
export const health_codes = Object.keys(standings) as HealthCode[];

/** Returns the rest of the server's sentence after the state's word. */
export function behindWord({ code, detail }: ExportOverview['health']): string {
  const { word } = standings[code];
  return detail.startsWith(word) ? detail.slice(word.length) : `: ${detail}`;
}

/**
 * Returns the sentences that the list shows below the name; undefined for a state without trouble.
 * They omit the start of the state, which is shown beside its word.
 */
export function troubleOf(health: ExportOverview['health']): string | undefined {
  const { tone } = standings[health.code];
  if (health.code === 'paused' || (tone !== 'bad' && tone !== 'warn')) return undefined;
  const rest = behindWord(health).replace(/^ since \S+Z(?=[.:]|$)/, '');
  const text = rest.replace(/^[.:]\s*/, '');
  return text === '' ? undefined : text[0]!.toUpperCase() + text.slice(1);
}
