/** The page: theme, answers, addresses. */
import '@fontsource-variable/inter/wght.css';
import '@mantine/core/styles.css';
import './ui/global.css';
import { createTheme, MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queryClient } from './api/query-client.ts';
import { router } from './router.tsx';
import { Notices } from './ui/notices.tsx';

const theme = createTheme({
  fontFamily: '"Inter Variable", system-ui, sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SFMono-Regular", Menlo, Consolas, "Liberation Mono", monospace',
  fontSizes: { xs: '12px', sm: '13px', md: '14px', lg: '16px', xl: '20px' },
  primaryColor: 'blue',
  primaryShade: 8,
  defaultRadius: 'md',
  respectReducedMotion: true,
  components: {
    Modal: { defaultProps: { closeButtonProps: { 'aria-label': 'Close' } } },
    // A dialog has a title, not a banner of the page.
    ModalHeader: { defaultProps: { role: 'presentation' } },
  },
});

/** The server lets only styles with this mark in. */
const nonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content;
// So does the part of dialogs that keeps the page behind them still: it looks for the mark here.
(globalThis as { __webpack_nonce__?: string }).__webpack_nonce__ = nonce ?? '';

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce ?? ''}>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
        <Notices />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
