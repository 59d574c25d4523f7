/** run-screen: to come with the next step. */
export function RunScreen() {
  return null;
}
