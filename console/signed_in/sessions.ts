import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';

/** The browsers in which the person is signed in, newest first. */
export const sessions = reading(pathTo('/api/sessions/'));

/** The session of this browser: how it was opened, and whether it reaches the whole account. */
export const current_session = reading(pathTo('/api/sessions/:id/', { id: '@current' }), {
  polls: false,
});
