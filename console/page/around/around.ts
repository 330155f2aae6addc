import { createContext } from 'react';

/** The surroundings of a page: none, the frame, or a containing page. */
export const AroundContext = createContext<'nothing' | 'frame' | 'page'>('nothing');
