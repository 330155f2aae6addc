import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { whenSignedOut } from './http/ask.ts';
import { openQueries } from './http/reading.ts';
import { openRouter } from './router.ts';
import { styleNonce } from './page/around/nonce.ts';
import { cssVariables, theme } from './shell/theme.ts';
import './shell/mantine.css';
import './shell/scale.css';
import './shell/style.css';

const queries = openQueries();
const router = openRouter(queries);
whenSignedOut(router.options.context.signedOut);

createRoot(document.getElementById('console')!).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <MantineProvider
        theme={theme}
        cssVariablesResolver={cssVariables}
        defaultColorScheme="auto"
        getStyleNonce={styleNonce}
        // All CSS variables come from here, also those with Mantine's own values.
        deduplicateCssVariables={false}
      >
        <RouterProvider router={router} />
      </MantineProvider>
    </QueryClientProvider>
  </StrictMode>,
);
