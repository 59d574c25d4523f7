/** The page: theme, answers, addresses. */
import '@fontsource-variable/inter/wght.css';
import '@mantine/core/styles.css';
import './ui/global.css';
import { CarillonError } from '@carillon/client';
import {
  AppShell,
  createTheme,
  Drawer,
  type MantineColorsTuple,
  MantineProvider,
  Modal,
  Popover,
  Tooltip,
} from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { type MouseEvent, StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queryClient } from './api/query-client.ts';
import { router } from './router.tsx';

/** Their head is a <header>, which would be a second banner of the page. */
const dialog = {
  overlayProps: {
    // The second click of a double click must not close what the first has opened.
    onClickCapture: (event: MouseEvent) => {
      if (event.detail > 1) event.stopPropagation();
    },
  },
  closeButtonProps: { 'aria-label': 'Close' },
  attributes: { header: { role: 'none' } },
};

/** Nothing on the page moves for longer; with reduced motion nothing moves at all. */
const transitionProps = { duration: 120 };

const theme = createTheme({
  components: {
    Modal: Modal.extend({ defaultProps: { ...dialog, transitionProps } }),
    Drawer: Drawer.extend({ defaultProps: { ...dialog, transitionProps } }),
    Popover: Popover.extend({ defaultProps: { transitionProps } }),
    Tooltip: Tooltip.extend({ defaultProps: { transitionProps } }),
    AppShell: AppShell.extend({ defaultProps: { transitionDuration: 120 } }),
  },
  // The greys of the dark page lean to blue, as its ground does.
  colors: {
    dark: [
      ...['#d3d8de', '#b4bcc6', '#8b95a1', '#646e7a', '#3a424c'],
      ...['#2a3038', '#20252b', '#191d22', '#14181c', '#101317'],
    ] as unknown as MantineColorsTuple,
  },
  fontFamily: '"Inter Variable", system-ui, sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SFMono-Regular", Menlo, Consolas, "Liberation Mono", monospace',
  fontSizes: { xs: '12px', sm: '13px', md: '14px', lg: '16px', xl: '20px' },
  primaryColor: 'blue',
  primaryShade: 8,
  defaultRadius: 'md',
  respectReducedMotion: true,
});

/** The server lets only styles with this mark in. */
const nonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content;

// The name by which the scroll lock of dialogs asks for it.
Object.assign(globalThis, { __webpack_nonce__: nonce });

createRoot(document.getElementById('root')!, {
  // Answers that failed are shown by PageError; anything else is a mistake of ours.
  onCaughtError: (error) => {
    if (!(error instanceof CarillonError)) console.error(error);
  },
}).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce ?? ''}>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
