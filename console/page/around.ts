import { createContext } from 'react';

/** What is drawn already around a page: nothing, the frame, or a page that it is a part of. */
export const AroundContext = createContext<'nothing' | 'frame' | 'page'>('nothing');
