import { planning_faults } from './planning_faults.ts';
import { running_faults } from './running_faults.ts';

/** The faults that histories find; `npm run simulate -- --planted` plants each. */
export const faults = [...planning_faults, ...running_faults];
