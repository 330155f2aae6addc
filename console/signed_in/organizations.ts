import { pathTo } from '../http/path.ts';
import { reading } from '../http/reading.ts';

/** The organizations of the signed-in person, with their projects. */
export const organizations = reading(pathTo('/api/organizations/', {}, { limit: 1000 }));
