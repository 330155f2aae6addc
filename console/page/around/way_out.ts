import { createContext } from 'react';
import type { ReactNode } from 'react';
import type { Problem } from '../../http/problem.ts';

/** Renders the remedy for a refusal, if the person has one. */
export const WayOutContext = createContext<(problem: Problem) => ReactNode>(() => undefined);
