/** dead-letters-screen: to come with the next step. */
export function DeadLettersScreen() {
  return null;
}
