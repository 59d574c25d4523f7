/** settings-screen: to come with the next step. */
export function SettingsScreen() {
  return null;
}
