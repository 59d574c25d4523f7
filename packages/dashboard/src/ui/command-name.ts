/**
 * The command as the page shows it. People paste it where a key is in the environment: without --no-install, where nothing is installed,
 * npx would run whatever package a registry has under that name.
 */
export const COMMAND = 'npx --no-install carillon';
