/** worker-screen: to come with the next step. */
export function WorkerScreen() {
  return null;
}
