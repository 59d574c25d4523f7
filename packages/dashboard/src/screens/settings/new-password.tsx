/** A password that is chosen, with the rule for it said beforehand. */
import { PASSWORD_LENGTH_MIN } from '@carillon/domain';
import { FieldPassword } from '../../ui/form-errors.tsx';

interface NewPasswordProps {
  readonly label: string;
  readonly note?: string | undefined;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

export function NewPassword({ label, note, value, onChange }: NewPasswordProps) {
  return (
    <FieldPassword
      field="password"
      label={label}
      description={[`At least ${PASSWORD_LENGTH_MIN} characters.`, note].filter(Boolean).join(' ')}
      required
      minLength={PASSWORD_LENGTH_MIN}
      autoComplete="new-password"
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}
