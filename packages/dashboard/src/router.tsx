/** Every screen by its address. Filters, sort, range and tab are in the query, so that an address shows a colleague the same. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
  retainSearchParams,
} from '@tanstack/react-router';
import { BASE_URL } from './api/carillon.ts';
import { queryClient } from './api/query-client.ts';
import { sessionQuery } from './api/session.ts';
import { choice, flag, readSearch, text, whole } from './search.ts';
import { NotFound } from './shell/not-found.tsx';
import { PageError, ScreenError } from './shell/page-error.tsx';
import { Shell } from './shell/shell.tsx';
import { Notices } from './ui/notices.tsx';

const root = createRootRoute({ component: Page });

/** Messages stay while one screen follows another, the sign-in too. */
function Page() {
  return (
    <>
      <Outlet />
      <Notices />
    </>
  );
}

const login = createRoute({
  getParentRoute: () => root,
  path: '/login',
  validateSearch: readSearch({ next: text, error: text }),
  component: lazyRouteComponent(() => import('./screens/sign-in/sign-in-screen.tsx'), 'SignInScreen'),
});

/** All others want somebody who is signed in, and come back here after the sign-in. */
const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  validateSearch: readSearch({}),
  // The namespace stays whatever is opened, until another is chosen: links need not name it.
  search: { middlewares: [retainSearchParams(['ns'])] },
  beforeLoad: async ({ location }) => {
    const caller = await queryClient.ensureQueryData(sessionQuery);
    if (caller !== null) return;
    // The link that the server printed has its ticket behind the #, which is kept out of `next`.
    const next = location.pathname + location.searchStr;
    throw redirect({ to: '/login', search: next === '/' ? {} : { next }, hash: location.hash });
  },
  component: Shell,
  errorComponent: PageError,
});

const overview = createRoute({
  getParentRoute: () => shell,
  path: '/',
  validateSearch: readSearch({ range: choice(['1h', '6h', '24h', '7d']), since: text, until: text }),
  component: lazyRouteComponent(() => import('./screens/overview/overview-screen.tsx'), 'OverviewScreen'),
});

const jobs = createRoute({
  getParentRoute: () => shell,
  path: '/jobs',
  validateSearch: readSearch({
    ...{ status: text, type: text, handler: text, label: text, user: text, text, priority: text, sort: text },
  }),
  component: lazyRouteComponent(() => import('./screens/jobs/jobs-screen.tsx'), 'JobsScreen'),
});

const newJob = createRoute({
  getParentRoute: () => shell,
  path: '/jobs/new',
  validateSearch: readSearch({ from: text }),
  component: lazyRouteComponent(() => import('./screens/edit-job/edit-job-screen.tsx'), 'NewJobScreen'),
});

const job = createRoute({
  getParentRoute: () => shell,
  path: '/jobs/$jobId',
  validateSearch: readSearch({
    tab: choice(['runs', 'definition', 'versions', 'calendar']),
    status: text,
    month: text,
  }),
  component: lazyRouteComponent(() => import('./screens/job/job-screen.tsx'), 'JobScreen'),
});

const editJob = createRoute({
  getParentRoute: () => shell,
  path: '/jobs/$jobId/edit',
  validateSearch: readSearch({}),
  component: lazyRouteComponent(() => import('./screens/edit-job/edit-job-screen.tsx'), 'EditJobScreen'),
});

const runs = createRoute({
  getParentRoute: () => shell,
  path: '/runs',
  validateSearch: readSearch({
    ...{
      status: text,
      job: text,
      handler: text,
      worker: text,
      label: text,
      user: text,
      since: text,
      until: text,
      error: text,
      failure: text,
      attempts: choice(['all']),
    },
  }),
  component: lazyRouteComponent(() => import('./screens/runs/runs-screen.tsx'), 'RunsScreen'),
});

const run = createRoute({
  getParentRoute: () => shell,
  path: '/runs/$runId',
  validateSearch: readSearch({
    attempt: whole,
    epoch: whole,
    tab: choice(['log', 'result', 'payload', 'compare']),
    q: text,
  }),
  component: lazyRouteComponent(() => import('./screens/run/run-screen.tsx'), 'RunScreen'),
});

const dead = createRoute({
  getParentRoute: () => shell,
  path: '/dead',
  validateSearch: readSearch({
    ...{ error: text, reason: text, handler: text, job: text, user: text },
    ...{ handled: flag, open: choice(['redrive']) },
  }),
  component: lazyRouteComponent(
    () => import('./screens/dead-letters/dead-letters-screen.tsx'),
    'DeadLettersScreen',
  ),
});

const workers = createRoute({
  getParentRoute: () => shell,
  path: '/workers',
  validateSearch: readSearch({ label: text, handler: text, alive: flag }),
  component: lazyRouteComponent(() => import('./screens/workers/workers-screen.tsx'), 'WorkersScreen'),
});

const worker = createRoute({
  getParentRoute: () => shell,
  path: '/workers/$workerId',
  validateSearch: readSearch({}),
  component: lazyRouteComponent(() => import('./screens/workers/worker-screen.tsx'), 'WorkerScreen'),
});

const settings = createRoute({
  getParentRoute: () => shell,
  path: '/settings/$part',
  validateSearch: readSearch({
    ...{ actor: text, action: text, subject: text, name: text, open: choice(['invite']) },
  }),
  component: lazyRouteComponent(() => import('./screens/settings/settings-screen.tsx'), 'SettingsScreen'),
});

const anySettings = createRoute({
  getParentRoute: () => shell,
  path: '/settings',
  beforeLoad: () => {
    throw redirect({ to: '/settings/$part', params: { part: 'me' }, replace: true });
  },
});

/** Within the shell: who is lost has its navigation and its search. */
const nowhere = createRoute({ getParentRoute: () => shell, path: '$', component: NotFound });

export const router = createRouter({
  routeTree: root.addChildren([
    login,
    shell.addChildren([
      overview,
      jobs,
      newJob,
      job,
      editJob,
      runs,
      run,
      dead,
      workers,
      worker,
      settings,
      anySettings,
      nowhere,
    ]),
  ]),
  basepath: BASE_URL.pathname,
  scrollRestoration: true,
  defaultPreload: false,
  defaultErrorComponent: ScreenError,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
