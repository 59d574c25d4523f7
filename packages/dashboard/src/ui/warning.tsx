/** Something that people are surprised by, in a sentence that stands out. */
import type { ReactNode } from 'react';
import classes from './warning.module.css';

export function Warning({ children }: { children: ReactNode }) {
  return (
    <p className={classes.warning} role="note">
      {children}
    </p>
  );
}
