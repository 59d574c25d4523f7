/** runs-screen: to come with the next step. */
export function RunsScreen() {
  return null;
}
