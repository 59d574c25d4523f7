/** overview-screen: to come with the next step. */
export function OverviewScreen() {
  return null;
}
