import { createContext } from 'react';
import type { ReactNode } from 'react';
import type { Problem } from '../../http/problem.ts';

/** Draws what a person can do about a refusal, where they can do something. */
export const WayOutContext = createContext<(problem: Problem) => ReactNode>(() => undefined);
