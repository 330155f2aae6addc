import type { DestinationTest } from '../../server/api/batch_exports/drafts/schema.ts';

const tones = { passed: 'good', failed: 'bad', skipped: 'muted' } as const;

/** The steps of a connection test and their results. */
export function TestSteps({ test: { steps }, is_old }: { test: DestinationTest; is_old: boolean }) {
  const failed = steps.find(({ status }) => status === 'failed');
  return (
    <>
      <p className={is_old ? 'muted' : failed === undefined ? 'good' : 'bad'}>
        {failed === undefined ? 'The test passed.' : `The test failed at "${failed.name}".`}
        {is_old && ' You changed the form since then: test it again.'}
      </p>
      <ol className="steps">
        {steps.map(({ name, status, detail, duration_ms }) => (
          <li key={name}>
            <span className={tones[status]}>{status}</span>
            <span>
              {name}
              <span className="muted"> {detail}</span>
            </span>
            <span className="muted number">
              {status === 'skipped' ? '' : `${Math.round(duration_ms)} ms`}
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}
