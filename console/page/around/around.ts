import { createContext } from 'react';

/** The surroundings of a page: nothing, the frame, or a page that contains it. */
export const AroundContext = createContext<'nothing' | 'frame' | 'page'>('nothing');
