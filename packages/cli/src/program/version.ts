/** The version of this program; a test holds it against the manifest. */
export const VERSION = '0.1.0';
