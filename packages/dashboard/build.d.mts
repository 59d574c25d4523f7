/** Where the built page lies. */
export const dashboardFolder: string;
export function isDashboardBuilt(): boolean;
export function buildDashboard(): Promise<void>;
