import { Button } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Problem } from '../http/problem.ts';
import { Dialog } from '../page/dialog.tsx';
import { Shown } from '../page/shown.tsx';
import { account } from '../signed_in/account.ts';
import { ConfirmForm } from './confirm_form.tsx';
import { current_session } from '../signed_in/sessions.ts';

/** The request that a dialog confirms. */
export type Confirming = {
  /** The refusal that caused the dialog. */
  problem: Problem | undefined;
  confirmed: () => void;
  close: () => void;
};

/**
 * Asks the person to confirm their identity. `confirmed` is called after the confirmation, when the
 * visible data was read again; `close` when they cancel.
 */
export function ConfirmDialog({ problem, confirmed, close }: Confirming) {
  const queries = useQueryClient();
  const own = useQuery(account);
  const session = useQuery(current_session);
  const wants_second_factor = problem?.code === 'second_factor_required';
  if (wants_second_factor && own.data?.is_2fa_enabled === false)
    return (
      <Dialog title="Set up a second factor" close={close}>
        <p>This organization requires a second factor, and you have none yet.</p>
        <div className="answers">
          <Button onClick={close}>Cancel</Button>
          <Button variant="filled" component={Link} to="/account" onClick={close}>
            Go to your account
          </Button>
        </div>
      </Dialog>
    );
  return (
    <Dialog title="Confirm that it is you" close={close}>
      <Shown query={own}>
        {(known) => (
          <Shown query={session}>
            {(current) => (
              <>
                <p>
                  {current.is_partial
                    ? 'You signed in through a provider, which does not open your whole account.'
                    : 'This needs a confirmation from the last 10 minutes.'}
                </p>
                <ConfirmForm
                  own={known}
                  session={current}
                  done={() => {
                    confirmed();
                    void queries.invalidateQueries();
                  }}
                  beside={<Button onClick={close}>Cancel</Button>}
                />
              </>
            )}
          </Shown>
        )}
      </Shown>
    </Dialog>
  );
}
