import type { Static } from 'typebox';
import type { TestSignIn } from '../../server/api/single_sign_on/schema.ts';
import { Panel } from '../page/panel.tsx';
import { Instant } from '../time/instant.tsx';

/** A test of a provider, as the API started it. */
export type Started = Static<typeof TestSignIn>;

/** Explains the test, and links to it after the start. */
export function StartedTest({ test }: { test: Started | undefined }) {
  return (
    <>
      <p>The test signs nobody in. At its end you see what your provider sends.</p>
      {test !== undefined && (
        <Panel key={test.url}>
          <p>
            <a href={test.url} target="_blank" rel="noreferrer">
              Open the test in another tab
            </a>{' '}
            <span className="muted">
              Start it before <Instant at={test.expires_at} is_exact />.
            </span>
          </p>
        </Panel>
      )}
    </>
  );
}
