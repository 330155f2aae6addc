import type { DestinationTest } from '../../server/api/batch_exports/drafts/schema.ts';
import type { DestinationType } from '../../server/api/destinations/schema.ts';
import { Sentence } from '../page/text/sentence.tsx';
import { inLabels } from './labels.ts';
import './test_steps.css';

const tones = { passed: 'good', failed: 'bad', skipped: 'muted' } as const;

/** The steps of a connection test and their results, with the form's labels. */
export function TestSteps({
  test: { steps },
  type,
  is_old,
}: {
  test: DestinationTest;
  type: DestinationType;
  is_old: boolean;
}) {
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
              <span className="muted">
                {' '}
                <Sentence text={inLabels(type, detail)} />
              </span>
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
