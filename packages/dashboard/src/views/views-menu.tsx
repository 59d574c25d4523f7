/** Beside the filters of a list: the views of it that somebody has saved, and saving what is shown now as one. */
import { Box, Button, Menu, Tooltip } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ManageViews } from './manage-views.tsx';
import { SaveView } from './save-view.tsx';
import { queryOf, useViews, type ViewScreen, viewShown } from './use-views.ts';

interface ViewsMenuProps {
  readonly screen: ViewScreen;
  readonly search: Readonly<Record<string, unknown>>;
}

export function ViewsMenu({ screen, search }: ViewsMenuProps) {
  const { views, why } = useViews();
  const navigate = useNavigate();
  const [open, setOpen] = useState<'save' | 'manage'>();
  const mine = views.filter((view) => view.screen === screen);
  const query = queryOf(search);
  const shown = viewShown(views, screen, query);
  const { ns: _, ...filters } = query;
  const canSave = Object.keys(filters).length > 0 && shown === undefined;
  return (
    <>
      {mine.length > 0 && (
        <Box pos="relative">
          {/* Within the page, so that it belongs to its landmark. */}
          <Menu position="bottom-start" withinPortal={false} withInitialFocusPlaceholder={false}>
            <Menu.Target>
              <Button size="compact-sm" variant={shown ? 'light' : 'default'} maw={220} fullWidth>
                <span className="ellipsis">{shown ? `View: ${shown.name}` : 'Views'}</span>
              </Button>
            </Menu.Target>
            <Menu.Dropdown mah="60vh" style={{ overflow: 'auto' }}>
              {mine.map((view) => (
                <Menu.Item
                  key={view.view_id}
                  aria-current={view === shown || undefined}
                  fw={view === shown ? 600 : undefined}
                  maw={320}
                  className="ellipsis"
                  // A view of all namespaces is one of the namespace that is chosen.
                  onClick={() => void navigate({ to: '.', search: { ns: query.ns, ...view.query } } as never)}
                >
                  {view.name}
                </Menu.Item>
              ))}
              <Menu.Divider />
              <Menu.Item onClick={() => setOpen('manage')}>Rename or delete …</Menu.Item>
            </Menu.Dropdown>
          </Menu>
        </Box>
      )}
      {canSave && (
        <Tooltip
          label={why}
          disabled={why === undefined}
          multiline
          maw={280}
          events={{ hover: true, focus: true, touch: true }}
        >
          <Button
            size="compact-sm"
            variant="subtle"
            aria-disabled={why !== undefined}
            data-disabled={why !== undefined || undefined}
            onClick={() => why === undefined && setOpen('save')}
          >
            Save view
          </Button>
        </Tooltip>
      )}
      {open === 'save' && <SaveView screen={screen} query={query} onClose={() => setOpen(undefined)} />}
      {open === 'manage' && <ManageViews screen={screen} onClose={() => setOpen(undefined)} />}
    </>
  );
}
