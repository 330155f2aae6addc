import { isDatabaseError } from './database.ts';

const attempts_max = 3;

/**
 * Repeats a transaction after a deadlock or a serialization failure, up to three attempts in all.
 */
export async function repeated<Answer>(attempt: () => Promise<Answer>): Promise<Answer> {
  for (let number = 1; ; number += 1) {
    try {
      return await attempt();
    } catch (error) {
      const mayPass = isDatabaseError(error) && (error.code === '40P01' || error.code === '40001');
      if (!mayPass || number === attempts_max) throw error;
    }
  }
}
