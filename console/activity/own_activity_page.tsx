import { getRouteApi } from '@tanstack/react-router';
import { pathOf } from '../http/reading.ts';
import { Page } from '../page/page.tsx';
import { activityOf } from './activity.ts';
import { Changes } from './changes.tsx';

const route = getRouteApi('/signed_in/account/activity');

/** Shows the changes of the person's own account, keys, passkeys and sessions. */
export function OwnActivityPage() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <Page title="Your activity" request={pathOf(activityOf(undefined, filter))}>
      <p className="muted">
        Changes of your account, API keys, passkeys and sessions. Only you see them.
      </p>
      <Changes
        organization_id={undefined}
        filter={filter}
        go={(search) => void navigate({ search })}
      />
    </Page>
  );
}
