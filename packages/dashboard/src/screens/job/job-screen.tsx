/** job-screen: to come with the next step. */
export function JobScreen() {
  return null;
}
