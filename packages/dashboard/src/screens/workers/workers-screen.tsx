/** workers-screen: to come with the next step. */
export function WorkersScreen() {
  return null;
}
