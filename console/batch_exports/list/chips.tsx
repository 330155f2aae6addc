import type { HealthCode } from '../../../server/api/batch_exports/overview/schema.ts';
import { StateWord } from './health.tsx';
import { health_codes } from './standing.ts';

const sumOf = (counts: Record<HealthCode, number>) =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

/** The states of the project's exports, each with its count and as a filter. */
export function Chips({
  chosen,
  counts,
  choose,
}: {
  /** Codes separated by commas, as in the address. */
  chosen: string | undefined;
  counts: Record<HealthCode, number>;
  choose: (codes: string) => void;
}) {
  const codes = chosen?.split(',') ?? [];
  const shown = health_codes.filter((code) => counts[code] > 0 || codes.includes(code));
  const toggled = (code: HealthCode) =>
    health_codes.filter((one) => codes.includes(one) !== (one === code)).join();
  return (
    <div className="counts" role="group" aria-label="States">
      {shown.map((code) => (
        <button
          key={code}
          type="button"
          className="count"
          aria-pressed={codes.includes(code)}
          onClick={() => choose(toggled(code))}
        >
          <StateWord code={code} /> <strong>{counts[code].toLocaleString('en')}</strong>
        </button>
      ))}
      {codes.length > 0 && (
        <button type="button" className="count" onClick={() => choose('')}>
          Show all <strong>{sumOf(counts).toLocaleString('en')}</strong>
        </button>
      )}
    </div>
  );
}
