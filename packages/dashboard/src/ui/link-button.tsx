/** A link that looks like a button; where the caller may not go there, it says which role is needed instead. */
import { Button, Tooltip } from '@mantine/core';
import { Link } from '@tanstack/react-router';

interface LinkButtonProps {
  readonly label: string;
  readonly to: string;
  readonly params?: Readonly<Record<string, string>> | undefined;
  readonly search?: Readonly<Record<string, string | undefined>> | undefined;
  /** Why it is not allowed. */
  readonly why?: string | undefined;
  readonly variant?: string | undefined;
}

export function LinkButton({ label, to, params, search, why, variant = 'filled' }: LinkButtonProps) {
  if (why !== undefined)
    return (
      <Tooltip label={why} events={{ hover: true, focus: true, touch: true }}>
        <Button size="compact-sm" variant="default" aria-disabled data-disabled>
          {label}
        </Button>
      </Tooltip>
    );
  return (
    <Button
      size="compact-sm"
      variant={variant}
      component={Link}
      {...({ to, params: params ?? {}, search: search ?? {} } as object)}
    >
      {label}
    </Button>
  );
}
