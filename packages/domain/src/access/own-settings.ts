/**
 * What a person keeps for themselves on the dashboard: views (the filters and the order of a list, under a name) and preferences.
 * Nobody else sees them, and nothing of the engine depends on them.
 */

/** The lists that views are of. */
export const VIEW_SCREENS = ['jobs', 'runs'] as const;
export type ViewScreen = (typeof VIEW_SCREENS)[number];

export interface SavedView {
  readonly viewId: string;
  readonly screen: ViewScreen;
  /** Each name once per screen. */
  readonly name: string;
  /** The query of the address of the screen. */
  readonly query: Readonly<Record<string, string>>;
  readonly updatedAtMs: number;
}

export const COLOUR_SCHEMES = ['auto', 'light', 'dark'] as const;

/** Instead of the name of a zone: that of the browser. */
export const BROWSER_ZONE = 'local';
/** Where a page is about one job: that of its schedule. Elsewhere, and where it has none: that of the browser. */
export const JOB_ZONE = 'job';

/** What is left out was never chosen. */
export interface Preferences {
  /** The zone that times are shown in, or one of the two words above. */
  readonly zone?: string | undefined;
  readonly scheme?: (typeof COLOUR_SCHEMES)[number] | undefined;
  readonly shortcuts?: boolean | undefined;
}

/** Of one person. A list of them is read whole. */
export const VIEWS_MAX = 100;
export const VIEW_NAME_LENGTH_MAX = 80;
export const VIEW_FILTERS_MAX = 20;
/** Of the names and the values of a query, each. */
export const VIEW_FILTER_LENGTH_MAX = 500;
