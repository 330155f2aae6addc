import { useEffect, useState } from 'react';
import type { DestinationTest } from '../../../server/api/batch_exports/drafts/schema.ts';
import type { DestinationType } from '../../../server/api/destinations/schema.ts';
import { TestSteps } from '../../destinations/test_steps.tsx';
import { BusyButton } from '../../page/busy_button.tsx';
import { inTime } from '../../page/text/quantities.ts';
import { now } from '../../time/now.ts';
import type { Live } from './asking.ts';
import { FirstRows } from './first_rows.tsx';

/** Beside the fields: the connection test, and the first rows in their delivered form. */
export function Trial({
  type,
  test,
  is_testing,
  is_old,
  press,
  live,
  ask,
  tried,
}: {
  /** The chosen type; undefined before a choice. */
  type: DestinationType | undefined;
  test: DestinationTest | undefined;
  is_testing: boolean;
  /** True if the form has changed since the test. */
  is_old: boolean;
  press: () => void;
  live: Live | undefined;
  /** The form's content for the rows. */
  tried: string;
  /** Requests the rows; undefined while they are loading or the form is incomplete. */
  ask: (() => void) | undefined;
}) {
  return (
    <aside aria-label="Test and preview" className="trial">
      <section>
        <div className="trial_head">
          <h2>Connection</h2>
          <BusyButton is_busy={is_testing} press={press}>
            Test connection
          </BusyButton>
        </div>
        {is_testing && <Waited what="Testing" />}
        <div role="status">
          {test !== undefined && type !== undefined && !is_testing && (
            <TestSteps test={test} type={type} is_old={is_old} />
          )}
        </div>
        {test === undefined && !is_testing && (
          <p className="muted">
            Sluice signs in, writes a row, reads it back and removes it. The test also runs when you
            save.
          </p>
        )}
      </section>
      <FirstRows type={type} live={live} tried={tried} ask={ask} />
    </aside>
  );
}

/** Shows the waiting time. */
function Waited({ what }: { what: string }) {
  const [began] = useState(now);
  const [at, setAt] = useState(began);
  useEffect(() => {
    const timer = setInterval(() => setAt(now()), 100);
    return () => clearInterval(timer);
  }, []);
  return (
    <p className="muted">
      {what}… {inTime((at - began) / 1000)}
    </p>
  );
}
